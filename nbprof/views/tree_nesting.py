"""Rows nested in each other: what is inside what, sums over subtrees, the order to show them in.

Rows are in visiting order: a parent before its children, a child's whole subtree before the next
child. So a subtree is a range of rows, and its sum the difference of two running sums. The root is
not a row; it is the parent of the rows at level 0.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nbprof.arrays import NONE, Floats, Rows


@dataclass(frozen=True, eq=False)
class Nesting:
    """The shape of a tree in visiting order."""

    parent: Rows
    """The row around each row, NONE at level 0."""
    level: Rows
    """The number of rows around each row."""
    end: Rows
    """The row after the last one of each row's subtree."""

    @classmethod
    def of_levels(cls, level: Rows) -> "Nesting":
        """Return the nesting that the levels alone determine."""
        count = len(level)
        key = level * count + np.arange(count)
        by_level = np.argsort(level, kind="stable")
        # The parent is the last row of the level above that comes before.
        above = by_level[np.searchsorted(key[by_level], key - count) - 1]
        parent = np.where(level > 0, above, NONE)
        return cls(parent, level, _ends(parent, by_level))

    def __len__(self) -> int:
        return len(self.level)

    def only(self, rows: Rows) -> "Nesting":
        """Keep some rows; those inside a dropped row move to the nearest kept one around it."""
        if len(rows) == len(self):
            return self
        return Nesting.of_levels(self.count_around(rows)[rows])

    def count_around(self, rows: Rows, or_at: bool = False) -> Rows:
        """Count for each row how many of `rows` it is inside of, or, with `or_at`, is itself."""
        change = np.zeros(len(self) + 1, dtype=np.intp)
        np.add.at(change, rows + (not or_at), 1)
        np.subtract.at(change, self.end[rows], 1)
        return np.cumsum(change)[:-1]

    def subtree_sums(self, values: Floats) -> Floats:
        """Add up the values of each row and all rows inside it."""
        before = np.append(0.0, np.cumsum(values))
        total: Floats = np.round(before[self.end] - before[:-1], 6)
        is_leaf = self.end == np.arange(1, len(self) + 1)
        # A leaf keeps its exact value: a difference of running sums may print differently.
        return np.where(is_leaf, values, total)

    def display_order(self, key: npt.NDArray[Any]) -> Rows:
        """Return the rows depth-first, siblings by ascending key, then in visiting order."""
        count = len(self)
        siblings = np.lexsort((key, self.parent))
        size = (self.end - np.arange(count))[siblings]
        rows_before = np.cumsum(size) - size
        is_first = np.diff(self.parent[siblings], prepend=NONE - 1) != 0
        before_family = np.maximum.accumulate(np.where(is_first, rows_before, 0))
        # A row's distance behind its parent; its place is the sum over the rows around it.
        distance = np.empty(count + 1, dtype=np.intp)
        distance[siblings] = 1 + rows_before - before_family
        distance[-1] = 0
        change = distance.copy()
        np.subtract.at(change, self.end, distance[:-1])
        order = np.empty(count, dtype=np.intp)
        order[np.cumsum(change[:-1]) - 1] = np.arange(count)
        return order


def _ends(parent: Rows, by_level: Rows) -> Rows:
    """Return the row after each subtree: the next sibling, or else where the parent's ends."""
    count = len(parent)
    row, following = by_level[:-1], by_level[1:]
    is_sibling = parent[row] == parent[following]
    next_sibling = np.full(count + 1, count, dtype=np.intp)  # the last entry is the root's
    next_sibling[row[is_sibling]] = following[is_sibling]
    ends_with = np.append(np.where(next_sibling[:-1] < count, np.arange(count), parent), NONE)
    while (ends_with != ends_with[ends_with]).any():
        ends_with = ends_with[ends_with]
    ends: Rows = next_sibling[ends_with[:-1]]
    return ends


def visiting_order(parent: Iterable[int]) -> tuple[Rows, Nesting]:
    """Bring rows into visiting order, siblings as they come; return the order and the nesting."""
    above = list(parent)
    first = [NONE] * (len(above) + 1)  # the last entry is the root's, whose number is NONE
    following = [NONE] * len(above)
    for row in range(len(above) - 1, -1, -1):
        following[row] = first[above[row]]
        first[above[row]] = row
    order: list[int] = []
    levels: list[int] = []
    row, level = first[NONE], 0
    while row != NONE:
        order.append(row)
        levels.append(level)
        if first[row] != NONE:
            row, level = first[row], level + 1
            continue
        while row != NONE and following[row] == NONE:
            row, level = above[row], level - 1
        row = NONE if row == NONE else following[row]
    nesting = Nesting.of_levels(np.array(levels, dtype=np.intp))
    return np.array(order, dtype=np.intp), nesting

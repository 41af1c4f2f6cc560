"""Rows of a tree with their own metrics and those of their subtrees."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import Floats, Mask, Names, Rows
from nbprof.views.measure import known

if TYPE_CHECKING:
    from nbprof.views.measure import Metrics
    from nbprof.views.tree_nesting import Nesting


@dataclass(frozen=True, eq=False)
class SummedRows:
    """Rows in visiting order; the root is kept apart."""

    names: Names
    source: Rows
    """The number of each row in the whole tree."""
    nesting: "Nesting"
    own: "Metrics"
    totals: "Metrics"
    """The sums over each row and all rows inside it."""
    root: Mapping[str, float]
    """The sum over all rows."""

    @classmethod
    def add_up(cls, names: Names, source: Rows, nesting: "Nesting", own: "Metrics") -> "SummedRows":
        """Add up each metric over every subtree and over all rows, leaving unknown values out.

        A sum is unknown where a part is unknown and no other part is known.
        """
        is_known = {name: known(own, name) for name in own}
        return cls(
            names=names,
            source=source,
            nesting=nesting,
            own=own,
            totals={name: _totals(nesting, own[name], is_known[name]) for name in own},
            root={name: _sum(own[name], is_known[name]) for name in own},
        )

    def only(self, rows: Rows) -> "SummedRows":
        """Keep some rows with the sums they have."""
        if len(rows) == len(self.source):
            return self
        return SummedRows(
            names=self.names[rows],
            source=self.source[rows],
            nesting=self.nesting.only(rows),
            own={name: values[rows] for name, values in self.own.items()},
            totals={name: values[rows] for name, values in self.totals.items()},
            root=self.root,
        )


def _totals(nesting: "Nesting", own: Floats, is_known: Mask) -> Floats:
    unknown = np.isnan(own)
    if not unknown.any():
        return nesting.subtree_sums(own)
    total = nesting.subtree_sums(np.where(unknown, 0.0, own))
    has_unknown = nesting.subtree_sums(unknown.astype(np.float64)) > 0
    has_known = nesting.subtree_sums(is_known.astype(np.float64)) > 0
    return np.where(has_unknown & ~has_known, np.nan, total)


def _sum(own: Floats, is_known: Mask) -> float:
    is_unknown = np.isnan(own).any() and not is_known.any()
    return float("nan") if is_unknown else float(np.nansum(own))

"""Types of arrays, copying spans of bytes, and numbering distinct values."""

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Rows = npt.NDArray[np.intp]
"""Row numbers of a table, NONE for no row."""
Words = npt.NDArray[np.uint64]
"""Unsigned 64-bit integers."""
Mask = npt.NDArray[np.bool_]
Letters = npt.NDArray[np.uint8]
"""Single bytes."""
Names = npt.NDArray[np.object_]
"""Texts, as objects."""
Positions = npt.NDArray[np.integer[Any]]
"""Positions or sizes in bytes, in any integer type."""

NONE = -1
"""The row number that stands for no row."""
GATHER_BYTES = 1 << 20
"""Approximate number of bytes that `gather` copies at once."""


def each_position(begin: Positions, size: Positions) -> Ints:
    """Return every position in all the spans, one span after the other."""
    begin, size = begin.astype(np.int64), size.astype(np.int64)
    before = np.cumsum(size) - size
    where: Ints = np.arange(int(size.sum())) + np.repeat(begin - before, size)
    return where


def gather(letters: Letters, begin: Positions, size: Positions) -> Letters:
    """Copy the bytes of all the spans, one span after the other."""
    until = np.append(0, np.cumsum(size.astype(np.int64)))
    if len(begin) and (begin == begin[0] + until[:-1]).all():
        return letters[begin[0] : begin[0] + until[-1]]
    copied = np.empty(until[-1], np.uint8)
    # In parts, because the position of a byte takes eight times its memory.
    borders = np.searchsorted(until, np.arange(0, int(until[-1]) + GATHER_BYTES, GATHER_BYTES))
    for first, last in pairwise(np.unique(np.minimum(borders, len(size))).tolist()):
        where = each_position(begin[first:last], size[first:last])
        copied[until[first] : until[last]] = letters[where]
    return copied


def distinct(values: npt.NDArray[np.integer], width: int) -> tuple[Rows, Rows]:
    """Return the distinct values, ascending, and the index of each value among them.

    Like `np.unique(values, return_inverse=True)`, but in linear time unless the range is wide. All
    values are in range(width).
    """
    if width > 16 * len(values) + 1024:
        found, which = np.unique(values, return_inverse=True)
        return found.astype(np.intp), which
    occurs = np.zeros(width, dtype=bool)
    occurs[values] = True
    found = np.flatnonzero(occurs)
    number = np.empty(width, dtype=np.intp)
    number[found] = np.arange(len(found))
    return found, number[values]


def count_distinct(group: npt.NDArray[np.integer], value: Ints, count: int) -> Rows:
    """Return how many distinct values each of `count` groups has."""
    low = value.min(initial=0)
    groups, _, _ = distinct_pairs(group, value - low, int(value.max(initial=0) - low) + 1)
    return np.bincount(groups, minlength=count)


def distinct_pairs(
    first: npt.NDArray[np.integer], second: npt.NDArray[np.integer], width: int
) -> tuple[Rows, Rows, Rows]:
    """Return the distinct pairs, sorted, and the index of each pair among them.

    Each side is numbered by itself first, because few values of a wide range occur.
    """
    low = int(first.min(initial=0))
    firsts, first_number = distinct(first - low, int(first.max(initial=0)) - low + 1)
    seconds, second_number = distinct(second, width)
    number = first_number * len(seconds) + second_number
    pairs, which = distinct(number, len(firsts) * len(seconds))
    count = max(len(seconds), 1)
    return firsts[pairs // count] + low, seconds[pairs % count], which

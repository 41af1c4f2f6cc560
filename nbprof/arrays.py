"""Columns of numbers, and of the bytes that texts and messages are made of."""

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Rows = npt.NDArray[np.intp]
"""Row numbers of a table, NONE where there is none."""
Words = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]
Letters = npt.NDArray[np.uint8]
Positions = npt.NDArray[np.integer[Any]]

NONE = -1
"""The row number that stands for no row."""
GATHERED = 1 << 20
"""About so many bytes are copied at once."""


def each_position(begin: Positions, size: Positions) -> Ints:
    """Give every position in all the spans, one span after the other."""
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
    # In parts, for the position of a byte takes eight times its room.
    borders = np.searchsorted(until, np.arange(0, int(until[-1]) + GATHERED, GATHERED))
    for first, last in pairwise(np.unique(np.minimum(borders, len(size))).tolist()):
        where = each_position(begin[first:last], size[first:last])
        copied[until[first] : until[last]] = letters[where]
    return copied

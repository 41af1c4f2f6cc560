"""Stacking: slices spread over as many lanes as it takes to draw them right.

A viewer takes slices of one lane that overlap for one inside the other, and drops one that ends
after the slice it is in. So what crosses another slice of its thread gets a further lane.
"""

import numpy as np

from nbprof.arrays import Ints, Rows

ROUNDING_NS = 1
"""By how much an inner op may seem to outlast the outer one, as both were cut to whole ns."""


def side_by_side(start: Ints, end: Ints) -> Rows:
    """Number the lanes so that no two slices of one overlap."""
    lane = np.zeros(len(start), dtype=np.intp)
    free_from: list[int] = []
    order = np.argsort(start, kind="stable")
    rows = zip(order.tolist(), start[order].tolist(), end[order].tolist(), strict=True)
    for row, begins, ends in rows:
        free = (number for number, moment in enumerate(free_from) if moment <= begins)
        number = next(free, len(free_from))
        free_from[number : number + 1] = [ends]
        lane[row] = number
    return lane


def stack(thread: Rows, start: Ints, end: Ints) -> tuple[Rows, Ints]:
    """Number the lanes of each thread so that the slices of one nest; give also their ends.

    An end is moved only where it would be an outer slice's but for rounding.
    """
    lane, fitted = np.zeros(len(start), dtype=np.intp), end.copy()
    order = np.lexsort((-end, start, thread))
    columns = (order, thread[order], start[order], end[order])
    now = -1
    lanes: list[list[int]] = []
    for row, on, begins, ends in zip(*(column.tolist() for column in columns), strict=True):
        if on != now:
            now, lanes = on, [[]]
        number = _place(lanes, begins, ends)
        open_ends = lanes[number]
        if open_ends and ends > open_ends[-1]:
            ends = fitted[row] = open_ends[-1]
        if number:
            lane[row] = number
        open_ends.append(ends)
    return lane, fitted


def _place(lanes: list[list[int]], begins: int, ends: int) -> int:
    """Find the first lane whose open slices, of which these are the ends, hold this one."""
    for number, open_ends in enumerate(lanes):
        while open_ends and open_ends[-1] <= begins:
            open_ends.pop()
        if not open_ends or ends <= open_ends[-1] + ROUNDING_NS:
            return number
    lanes.append([])
    return len(lanes) - 1

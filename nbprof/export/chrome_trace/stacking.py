"""Spread slices over as many lanes as it takes to draw them right.

A viewer treats overlapping slices of one lane as nested, and drops a slice that ends after the one
around it. So a slice that crosses another one of its thread moves to a further lane.
"""

import numpy as np

from nbprof.arrays import Ints, Rows

ROUNDING_NS = 1
"""How far an inner op may seem to outlast the outer one, since both were cut to whole ns."""


def side_by_side(start: Ints, end: Ints) -> Rows:
    """Return a lane for each slice such that no two slices of a lane overlap."""
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
    """Return a lane within its thread for each slice such that slices of a lane nest, and its end.

    An end moves only if rounding alone put it after the outer slice's.
    """
    lane, fitted = np.zeros(len(start), dtype=np.intp), end.copy()
    order = np.lexsort((-end, start, thread))
    columns = (order, thread[order], start[order], end[order])
    current = -1
    lanes: list[list[int]] = []
    for row, on, begins, ends in zip(*(column.tolist() for column in columns), strict=True):
        if on != current:
            current, lanes = on, [[]]
        number = _find_lane(lanes, begins, ends)
        open_ends = lanes[number]
        if open_ends and ends > open_ends[-1]:
            ends = fitted[row] = open_ends[-1]
        if number:
            lane[row] = number
        open_ends.append(ends)
    return lane, fitted


def _find_lane(lanes: list[list[int]], begins: int, ends: int) -> int:
    """Return the first lane in which the slice fits; each lane is the ends of its open slices."""
    for number, open_ends in enumerate(lanes):
        while open_ends and open_ends[-1] <= begins:
            open_ends.pop()
        if not open_ends or ends <= open_ends[-1] + ROUNDING_NS:
            return number
    lanes.append([])
    return len(lanes) - 1

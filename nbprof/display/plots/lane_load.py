"""Busy: how much of each column of a figure the op runs of a lane fill, by colour.

Millions of runs come to a few thousand columns, with no Python object per run. A run fills what it
lasts, times the share of that which is its own: ops inside it and waiting are not. So the filled
area is the time that the views count, but for what is cut where a column would be over-full.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from nbprof.arrays import Floats, Rows

if TYPE_CHECKING:
    from nbprof.display.plots.zoom import Range


TINY = 1e-9
"""Less of a column than this is what adding up left over."""


class Runs(NamedTuple):
    """Op runs, in µs; `lane` and `colour` are numbers from 0 on."""

    lane: Rows
    colour: Rows
    start: Floats
    end: Floats
    share: Floats


def fill(runs: Runs, lanes: int, colours: int, shown: "Range") -> Floats:
    """Give for each lane, colour and column the share that is filled, at most 1 in all."""
    group = runs.lane * colours + runs.colour
    shape = lanes * colours, shown.columns + 2
    begun = _reached(group, _columns(runs.start, shown), runs.share, shape)
    ended = _reached(group, _columns(runs.end, shown), runs.share, shape)
    filled = (begun - ended)[:, : shown.columns].reshape(lanes, colours, shown.columns)
    filled[filled < TINY] = 0
    crowded = np.maximum(filled.sum(axis=1, keepdims=True), 1)
    # The own share of an outer op is spread evenly over it, also where ops inside it are; and runs
    # of one stream may cross. A column that is over-full for that is shared out.
    shares: Floats = filled / crowded
    return shares


def _columns(micros: Floats, shown: "Range") -> Floats:
    return np.clip((micros - shown.start) / shown.column, 0, shown.columns)


def chosen(runs: Runs, wanted: "npt.NDArray[np.bool_]") -> Runs:
    """Keep some of the runs."""
    return Runs(
        *(runs.lane[wanted], runs.colour[wanted]),
        *(runs.start[wanted], runs.end[wanted], runs.share[wanted]),
    )


def _reached(
    group: Rows,
    moment: Floats,
    share: Floats,
    shape: tuple[int, int],
) -> Floats:
    """Fill for each moment the rest of its column and all columns after it."""
    column = moment.astype(np.intp)
    place, size = group * shape[1] + column, shape[0] * shape[1]
    own = np.bincount(place, share * (column + 1 - moment), size).astype(float)
    after = np.bincount(place + 1, share, size).astype(float)
    reached: Floats = own.reshape(shape) + np.cumsum(after.reshape(shape), axis=1)
    return reached


def outlines(filled: Floats, shown: "Range", bottom: float, height: float) -> list[list[Floats]]:
    """Stack the colours of one lane upon each other, and give the outlines of each."""
    top = bottom + height * np.cumsum(filled, axis=0)
    base = np.vstack((np.full((1, filled.shape[1]), bottom), top[:-1]))
    edges: Floats = shown.start + shown.column * np.arange(shown.columns + 1.0)
    return [
        [_outline(edges[a : b + 1], base[row, a:b], top[row, a:b]) for a, b in stretches(shares)]
        for row, shares in enumerate(filled)
    ]


def stretches(shares: Floats) -> list[list[int]]:
    """List from where to where something is filled."""
    inside = np.concatenate(([0], shares > 0, [0])).astype(np.int8)
    found: list[list[int]] = np.flatnonzero(np.diff(inside)).reshape(-1, 2).tolist()
    return found


def _outline(
    edges: Floats,
    base: Floats,
    top: Floats,
) -> Floats:
    across = np.repeat(edges, 2)[1:-1]
    there = np.column_stack((across, np.repeat(top, 2)))
    back = np.column_stack((across, np.repeat(base, 2)))[::-1]
    return np.concatenate((there, back))

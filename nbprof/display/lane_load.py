"""How much of each column of a drawing the op runs of a lane fill, by colour.

Millions of runs become a few thousand columns, without a Python object per run. A run fills a share
of its duration: its self time, without the ops inside it and without waiting. The filled area is
the time that the views count, except where a column would be more than full.
"""

from typing import NamedTuple

import numpy as np

from nbprof.arrays import Floats, Mask, Rows

TINY = 1e-9
"""Smallest share of a column that is not a rounding error."""


class Range(NamedTuple):
    """The part of a time axis that is shown, in µs, and its width in columns."""

    start: float
    end: float
    columns: int

    @property
    def column(self) -> float:
        """The width of one column in µs."""
        return (self.end - self.start) / self.columns


class Runs(NamedTuple):
    """Op runs, in µs; `lane` and `colour` count from 0, `share` is self time by duration."""

    lane: Rows
    colour: Rows
    start: Floats
    end: Floats
    share: Floats


def fill(runs: Runs, lanes: int, colours: int, shown: Range) -> Floats:
    """Return the share filled, by lane, colour and column; the colours add up to at most 1."""
    group = runs.lane * colours + runs.colour
    shape = lanes * colours, shown.columns + 2
    begun = _reached(group, _columns(runs.start, shown), runs.share, shape)
    ended = _reached(group, _columns(runs.end, shown), runs.share, shape)
    filled = (begun - ended)[:, : shown.columns].reshape(lanes, colours, shown.columns)
    filled[filled < TINY] = 0
    crowded = np.maximum(filled.sum(axis=1, keepdims=True), 1)
    # An outer op's self time is spread evenly over it, even where inner ops run, and runs of one
    # stream may overlap, so a column can be more than full; then its colours are scaled down.
    shares: Floats = filled / crowded
    return shares


def _columns(micros: Floats, shown: Range) -> Floats:
    return np.clip((micros - shown.start) / shown.column, 0, shown.columns)


def chosen(runs: Runs, wanted: "Mask") -> Runs:
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
    """Fill the rest of each moment's column and all columns after it."""
    column = moment.astype(np.intp)
    place, size = group * shape[1] + column, shape[0] * shape[1]
    own = np.bincount(place, share * (column + 1 - moment), size).astype(float)
    after = np.bincount(place + 1, share, size).astype(float)
    reached: Floats = own.reshape(shape) + np.cumsum(after.reshape(shape), axis=1)
    return reached


def outlines(filled: Floats, shown: Range, bottom: float, height: float) -> list[list[Floats]]:
    """Stack the colours of one lane and return the outlines of each."""
    top = bottom + height * np.cumsum(filled, axis=0)
    base = np.vstack((np.full((1, filled.shape[1]), bottom), top[:-1]))
    edges: Floats = shown.start + shown.column * np.arange(shown.columns + 1.0)
    return [
        [_outline(edges[a : b + 1], base[row, a:b], top[row, a:b]) for a, b in stretches(shares)]
        for row, shares in enumerate(filled)
    ]


def stretches(shares: Floats) -> list[list[int]]:
    """List the first column and the one after the last of each filled stretch."""
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

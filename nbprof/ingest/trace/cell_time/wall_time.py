"""Find where the wall time of a cell went, on the thread that ran it.

While the cell is traced, every moment belongs to the innermost open event that has a category.
Samples of the Python stack tell whose Python runs where no event is open, and whether Python runs
inside an event that is open for long. Where nothing is traced, samples alone decide. The categories
exclude each other and add up to the wall time.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from nbprof.arrays import Ints, Mask, Rows
from nbprof.categories import Category
from nbprof.ingest.trace.cell_time.pieces import Pieces
from nbprof.ingest.trace.cell_time.sampled_stacks import Activity
from nbprof.ingest.trace.cell_time.traced_time import (
    OF_FUNCTION,
    OF_OP,
    TracedTime,
    find_traced_time,
)

if TYPE_CHECKING:
    from nbprof.ingest.trace.cell_time.input_waits import InputWaits
    from nbprof.ingest.trace.cell_time.sampled_stacks import Samples
    from nbprof.ingest.trace.stages import RecordedTrace
    from nbprof.ingest.trace.work.op_runs import Runs

WRAPPER_NS = 100_000
"""The most time that TensorFlow's Python around an eager op takes, in ns."""
ROUNDING_NS = 1000
"""Rounding shares of time loses less than this, in ns."""

BETWEEN_EVENTS = {
    Activity.USER: Category.YOUR_PYTHON,
    Activity.LIBRARY: Category.LIBRARY_PYTHON,
    Activity.TENSORFLOW: Category.LIBRARY_PYTHON,
    Activity.EAGER_OP: Category.DISPATCH,
    Activity.FUNCTION: Category.DISPATCH,
    Activity.INPUT: Category.INPUT,
    Activity.THREADS: Category.THREADS,
    Activity.BUILDING: Category.BUILDING,
    Activity.TEARDOWN: Category.TEARDOWN,
}
"""Category of a sample taken while no event was open."""
INSIDE_DISPATCH = {
    **dict.fromkeys(Activity, Category.DISPATCH),
    Activity.USER: Category.YOUR_PYTHON,
    Activity.LIBRARY: Category.LIBRARY_PYTHON,
    Activity.THREADS: Category.THREADS,
}
"""Category of a sample taken while Python dispatched to TensorFlow."""
WITHOUT_TRACE = {**BETWEEN_EVENTS, Activity.FUNCTION: Category.GRAPH}
"""Category of a sample taken outside the trace."""


def spent(trace: "RecordedTrace", runs: "Runs", waits: "InputWaits") -> pd.DataFrame:
    """Return the time spent in each category in ns, without categories that took none."""
    wall_ns, samples = trace.capture.wall_ns, trace.samples
    traced = find_traced_time(trace, runs)
    total = _by_category(traced, waits, np.ones(len(traced.category), dtype=bool))
    total[[Category.PYTHON, Category.DISPATCH]] = 0
    total += _between_events(traced.of(Category.PYTHON), samples)
    total += _inside_dispatch(traced.of(Category.DISPATCH), samples)
    total += _without_trace(traced, samples, waits, wall_ns)
    lost_ns = wall_ns - total.sum()
    total[total.argmax() if lost_ns < ROUNDING_NS else Category.NOT_WATCHED] += lost_ns
    times = sorted((number, ns) for number, ns in enumerate(total.tolist()) if ns > 0)
    names = pd.Series([Category(number).title for number, _ in times], dtype="str")
    return pd.DataFrame({"category": names, "ns": np.array([ns for _, ns in times], np.int64)})


def _by_category(traced: TracedTime, waits: "InputWaits", chosen: Mask) -> Ints:
    """Add up pieces by category; what a graph waits for input is no execution of it."""
    total = _add_up(traced.category[chosen], traced.pieces.length[chosen])
    graph = traced.pieces.only(chosen & (traced.category == Category.GRAPH))
    waited = waits.within(graph.start, graph.end).sum()
    total[Category.GRAPH] -= waited
    total[Category.INPUT] += waited
    return total


def _between_events(gaps: Pieces, samples: "Samples") -> Ints:
    """Share out the time in which no event was open.

    A short gap without a sample is TensorFlow's Python around the next call. A longer one, for
    which the code did not let go of the interpreter, is the Python that makes the next call.
    """
    if not len(samples.time):
        return _add_up(np.full(len(gaps.start), Category.PYTHON), gaps.length)
    piece, sample, ns = split(gaps, samples.time)
    total = _add_up(_meaning(BETWEEN_EVENTS, samples.activity[sample]), ns)
    alone = gaps.only(_others(piece, len(gaps.start)))
    python = _meaning(BETWEEN_EVENTS, samples.python[_next(samples, alone)])
    category = np.where(alone.length < WRAPPER_NS, Category.LIBRARY_PYTHON, python)
    return total + _add_up(category, alone.length)


def _inside_dispatch(pieces: Pieces, samples: "Samples") -> Ints:
    """Divide the time in which Python dispatched to TensorFlow."""
    piece, sample, ns = split(pieces, samples.time)
    total = _add_up(_meaning(INSIDE_DISPATCH, samples.activity[sample]), ns)
    alone = pieces.only(_others(piece, len(pieces.start)))
    total[Category.DISPATCH] += alone.length.sum()
    return total


def _without_trace(
    traced: TracedTime, samples: "Samples", waits: "InputWaits", wall_ns: int
) -> Ints:
    """Share out the time outside of all windows by the samples taken there.

    A sample does not show what goes on inside a call of an op or a function, so that time is
    shared out as it was in the traced calls.
    """
    bare = _outside(traced, wall_ns)
    if not len(samples.time):
        return _add_up(np.full(len(bare.start), Category.NOT_WATCHED), bare.length)
    piece, sample, ns = split(bare, samples.time)
    alone = bare.only(_others(piece, len(bare.start)))
    activity = np.append(samples.activity[sample], samples.activity[_next(samples, alone)])
    ns = np.append(ns, alone.length)
    total = np.zeros(len(Category), dtype=np.int64)
    for inside, call in ((Activity.EAGER_OP, OF_OP), (Activity.FUNCTION, OF_FUNCTION)):
        seen = _by_category(traced, waits, traced.call == call)
        here = activity == inside
        if seen.any() and here.any():
            total += (ns[here].sum() * (seen / seen.sum())).astype(np.int64)
            ns, activity = ns[~here], activity[~here]
    return total + _add_up(_meaning(WITHOUT_TRACE, activity), ns)


def _outside(traced: TracedTime, wall_ns: int) -> Pieces:
    """Return the stretches of the cell that lie in no window."""
    start, end = np.append(0, traced.window_end), np.append(traced.window_start, wall_ns)
    lasts = end > start
    return Pieces(start=start[lasts], end=end[lasts], event=np.zeros(int(lasts.sum()), np.intp))


def split(pieces: Pieces, time: Ints) -> tuple[Rows, Rows, Ints]:
    """Divide each piece among the samples taken within it; `time` is when they were taken.

    A sample gets the time since the one before, and the last in a piece also the rest of it. Return
    the piece, the sample and its time in ns, for each sample that lies in a piece.
    """
    piece = np.searchsorted(pieces.start, time, side="left") - 1
    sample = np.flatnonzero((piece >= 0) & (time <= np.append(pieces.end, 0)[piece]))
    piece, time = piece[sample], time[sample]
    first = np.append(True, piece[1:] != piece[:-1])[: len(piece)]
    last = np.append(first[1:], True)[: len(piece)]
    start = np.where(first, pieces.start[piece], np.append(0, time)[: len(time)])
    end = np.where(last, pieces.end[piece], time)
    return piece, sample, end - start


def _others(piece: Rows, count: int) -> Mask:
    others = np.ones(count, dtype=bool)
    others[piece] = False
    return others


def _next(samples: "Samples", pieces: Pieces) -> Rows:
    """Return the sample after each piece, the last one if there is none."""
    return np.minimum(np.searchsorted(samples.time, pieces.end), len(samples.time) - 1)


def _meaning(categories: Mapping[Activity, Category], activity: Rows) -> Rows:
    return np.array([categories[each] for each in Activity], dtype=np.intp)[activity]


def _add_up(category: Rows, ns: Ints) -> Ints:
    return np.bincount(category, weights=ns, minlength=len(Category)).astype(np.int64)

"""Find where the wall time of a cell went, on the thread that ran it.

While the cell is traced, every moment belongs to the innermost open event that has a category.
Samples of the Python stack tell whose Python runs where no event is open, and whether Python runs
inside an event that is open for long. Where nothing is traced, samples alone decide. The categories
exclude each other and add up to the wall time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
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
    from nbprof.ingest.trace.cell_time.long_steps import LongSteps
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


def spent(
    trace: "RecordedTrace", runs: "Runs", waits: "InputWaits", long_steps: "LongSteps"
) -> pd.DataFrame:
    """Return the time spent in each category in ns, without categories that took none."""
    wall_ns, samples = trace.capture.wall_ns, trace.samples
    traced = find_traced_time(trace, runs)
    total = _by_category(traced, waits, np.ones(len(traced.category), dtype=bool))
    total[[Category.PYTHON, Category.DISPATCH]] = 0
    total += _between_events(traced.of(Category.PYTHON), samples)
    total += _inside_dispatch(traced.of(Category.DISPATCH), samples)
    total += _without_trace(traced, samples, waits, long_steps, wall_ns)
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
    shares = split(gaps, samples.time)
    total = _add_up(_meaning(BETWEEN_EVENTS, samples.activity[shares.sample]), shares.length)
    alone = gaps.only(shares.other_pieces(len(gaps.start)))
    python = _meaning(BETWEEN_EVENTS, samples.python[_next(samples, alone)])
    category = np.where(alone.length < WRAPPER_NS, Category.LIBRARY_PYTHON, python)
    return total + _add_up(category, alone.length)


def _inside_dispatch(pieces: Pieces, samples: "Samples") -> Ints:
    """Divide the time in which Python dispatched to TensorFlow."""
    shares = split(pieces, samples.time)
    total = _add_up(_meaning(INSIDE_DISPATCH, samples.activity[shares.sample]), shares.length)
    alone = pieces.only(shares.other_pieces(len(pieces.start)))
    total[Category.DISPATCH] += alone.length.sum()
    return total


def _without_trace(
    traced: TracedTime,
    samples: "Samples",
    waits: "InputWaits",
    long_steps: "LongSteps",
    wall_ns: int,
) -> Ints:
    """Share out the time outside of all windows by the samples taken there.

    A sample does not show what goes on inside a call of an op or a function, so that time is
    shared out as it was in the traced calls, as far as those were like it.
    """
    bare = _outside(traced, wall_ns)
    if not len(samples.time):
        return _add_up(np.full(len(bare.start), Category.NOT_WATCHED), bare.length)
    shares = split(bare, samples.time)
    alone = bare.only(shares.other_pieces(len(bare.start)))
    sample = np.append(shares.sample, _next(samples, alone))
    start, end = np.append(shares.start, alone.start), np.append(shares.end, alone.end)
    activity, ns = samples.activity[sample], end - start
    total = np.zeros(len(Category), dtype=np.int64)
    of_op, of_function = activity == Activity.EAGER_OP, activity == Activity.FUNCTION
    seen = _by_category(traced, waits, traced.call == OF_OP)
    if seen.any():
        total += _like(seen, ns[of_op].sum())
        ns[of_op] = 0
    seen = _by_category(traced, waits, traced.call == OF_FUNCTION)
    if seen.any():
        unknown = long_steps.unknown.within(start[of_function], end[of_function])
        prepares = long_steps.prepares.within(start[of_function], end[of_function])
        total += _like(seen, ns[of_function].sum() - unknown - prepares)
        total[[Category.NOT_WATCHED, Category.BUILDING]] += unknown, prepares
        ns[of_function] = 0
    return total + _add_up(_meaning(WITHOUT_TRACE, activity), ns)


def _like(seen: Ints, ns: int) -> Ints:
    """Share out time among the categories as that which was seen."""
    shared: Ints = (ns * (seen / seen.sum())).astype(np.int64)
    return shared


def _outside(traced: TracedTime, wall_ns: int) -> Pieces:
    """Return the stretches of the cell that lie in no window."""
    start, end = np.append(0, traced.window_end), np.append(traced.window_start, wall_ns)
    lasts = end > start
    return Pieces(start=start[lasts], end=end[lasts], event=np.zeros(int(lasts.sum()), np.intp))


@dataclass(frozen=True, eq=False, kw_only=True)
class Shares:
    """What each sample has of the piece it was taken in; times in ns since the cell's start."""

    piece: Rows
    sample: Rows
    start: Ints
    end: Ints

    @property
    def length(self) -> Ints:
        """How long each share is."""
        return self.end - self.start

    def other_pieces(self, count: int) -> Mask:
        """Mark the pieces, of `count`, in which no sample was taken."""
        others = np.ones(count, dtype=bool)
        others[self.piece] = False
        return others


def split(pieces: Pieces, time: Ints) -> Shares:
    """Divide each piece among the samples taken within it; `time` is when they were taken.

    A sample gets the time since the one before, and the last in a piece also the rest of it.
    """
    piece = np.searchsorted(pieces.start, time, side="left") - 1
    sample = np.flatnonzero((piece >= 0) & (time <= np.append(pieces.end, 0)[piece]))
    piece, time = piece[sample], time[sample]
    first = np.append(True, piece[1:] != piece[:-1])[: len(piece)]
    last = np.append(first[1:], True)[: len(piece)]
    start = np.where(first, pieces.start[piece], np.append(0, time)[: len(time)])
    end = np.where(last, pieces.end[piece], time)
    return Shares(piece=piece, sample=sample, start=start, end=end)


def _next(samples: "Samples", pieces: Pieces) -> Rows:
    """Return the sample after each piece, the last one if there is none."""
    return np.minimum(np.searchsorted(samples.time, pieces.end), len(samples.time) - 1)


def _meaning(categories: Mapping[Activity, Category], activity: Rows) -> Rows:
    return np.array([categories[each] for each in Activity], dtype=np.intp)[activity]


def _add_up(category: Rows, ns: Ints) -> Ints:
    return np.bincount(category, weights=ns, minlength=len(Category)).astype(np.int64)

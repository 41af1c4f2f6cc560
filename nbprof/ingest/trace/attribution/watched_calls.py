"""Find the watched call from Python that each eager op ran in, by their times."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import NONE, Ints, Rows
from nbprof.ingest.trace.work.event_kinds import Kind
from nbprof.ingest.trace.work.nesting import Nesting, sort_order

if TYPE_CHECKING:
    from nbprof.capture.capture import DispatchLog
    from nbprof.ingest.trace.stages import RecordedTrace
    from nbprof.ingest.trace.work.op_runs import Runs


@dataclass(frozen=True, eq=False)
class WatchedCalls:
    """The watched calls, and the runs that were made in one of them."""

    log: "DispatchLog"
    run: Rows
    """The runs that a watched call made."""
    call: Rows
    """The call of each of those runs, as a row of `log`."""


def match_calls(trace: "RecordedTrace", runs: "Runs") -> WatchedCalls:
    """Find the watched call in which each run was made; runs on executors have none."""
    host, log = trace.host, trace.capture.dispatches
    dispatch = np.append(host.inside_of(Kind.EAGER), NONE)[runs.event]
    # A function called from Python may run some of its ops on the caller's thread.
    eager = np.array([not node.function for node in runs.nodes], dtype=bool)[runs.node]
    run = np.flatnonzero((runs.event != NONE) & ~runs.accelerator & eager & (dispatch != NONE))
    start = host.start[dispatch[run]] // 1000 + trace.began_ns
    end = host.end[dispatch[run]] // 1000 + trace.began_ns
    call = np.full(len(run), NONE, dtype=np.intp)
    for line in np.unique(runs.line[run]).tolist():
        here = runs.line[run] == line
        call[here] = _best_thread(start[here], end[here], log)
    matched = call != NONE
    return WatchedCalls(log, run[matched], call[matched])


def _best_thread(start: Ints, end: Ints, log: "DispatchLog") -> Rows:
    """Match the ops on one line of the trace with the Python thread that fits most of them."""
    best = np.full(len(start), NONE, dtype=np.intp)
    best_fit = (0, 0)
    length = np.append(log.end_ns - log.start_ns, 0)
    for thread in np.unique(log.thread).tolist():
        calls = np.flatnonzero(log.thread == thread)
        matched = _innermost_calls(start, end, calls, log)
        # Prefer the tighter of two equal fits: one long call may span the ops of all threads.
        fit = (int(np.count_nonzero(matched != NONE)), -int(length[matched].sum()))
        if fit > best_fit:
            best, best_fit = matched, fit
    return best


def _innermost_calls(start: Ints, end: Ints, calls: Rows, log: "DispatchLog") -> Rows:
    """Return the innermost of a thread's calls that spans each op, or NONE."""
    line = np.zeros(len(calls), dtype=np.int32)
    opened, closed = log.start_ns[calls], log.end_ns[calls]
    order = sort_order(line, opened, closed - opened)
    opened, closed = opened[order], closed[order]
    outer = np.append(Nesting(line, opened, closed).parent, NONE)
    place = np.searchsorted(opened, start, side="right") - 1
    while True:
        outside = (place != NONE) & (closed[place] < end)
        if not outside.any():
            break
        place[outside] = outer[place[outside]]
    return np.append(calls[order], NONE)[place]

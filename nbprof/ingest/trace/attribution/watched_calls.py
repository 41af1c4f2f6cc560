"""Find the watched call from Python that each op ran in or for, by their times."""

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
    """The eager runs that a watched call made."""
    call: Rows
    """The call of each of those runs, as a row of `log`."""
    dispatch: Rows
    """The host event of each run in which the runtime does what Python asked for, or NONE."""
    site_of_dispatch: Rows
    """For each host event of that kind, where Python asked: index into the log's `sites`, NONE for
    other events and if it was not watched. Gradients of eager ops have the site of the op itself.
    The last entry is for NONE."""
    call_of_dispatch: Rows
    """For each of them, the call that it is, as a row of `log`; the last entry is for NONE."""


def match_calls(trace: "RecordedTrace", runs: "Runs") -> WatchedCalls:
    """Find the watched call in which each run was made, and where the work of functions began."""
    host, log = trace.host, trace.capture.dispatches
    if not log.sites:  # nothing was watched, as in traces from files
        nothing, no_run = np.full(len(runs.node), NONE), np.zeros(0, dtype=np.intp)
        return WatchedCalls(log, no_run, no_run, nothing, np.array([NONE]), np.array([NONE]))
    dispatch = _with_work_elsewhere(host.start, runs)
    is_asked = np.zeros(len(host.row) + 1, dtype=bool)  # the last entry is for NONE
    is_asked[dispatch] = True
    asked = np.flatnonzero(is_asked[:-1])
    start = host.start[asked] // 1000 + trace.began_ns
    end = host.end[asked] // 1000 + trace.began_ns
    call_of = np.full(len(host.row) + 1, NONE, dtype=np.intp)
    for line in np.unique(host.line[asked]).tolist():
        here = host.line[asked] == line
        call_of[asked[here]] = _best_thread(start[here], end[here], log)
    site = np.append(log.site, NONE)[call_of]
    # A gradient belongs to the line of the op whose gradient it is.
    forward = np.array([*log.forward, NONE], dtype=np.intp)[site]
    site = np.where(forward != NONE, forward, site)
    in_session = host.kind[asked] == Kind.SESSION_RUN
    site[asked[in_session]] = _sites_of_sessions(trace, start[in_session])
    eager = np.array([not node.function for node in runs.nodes], dtype=bool)[runs.node]
    eager &= (runs.event != NONE) & ~runs.accelerator
    run = np.flatnonzero(eager & (call_of[dispatch] != NONE))
    return WatchedCalls(log, run, call_of[dispatch[run]], dispatch, site, call_of)


def _sites_of_sessions(trace: "RecordedTrace", start_ns: Ints) -> Rows:
    """Return the sites of `Session.run`s: each is noted right before it starts."""
    log = trace.capture.sessions
    noted = np.searchsorted(log.start_ns, start_ns, side="right") - 1
    return np.append(log.site, NONE)[noted]


def _with_work_elsewhere(started: Ints, runs: "Runs") -> Rows:
    """Return the dispatch of each run, also of work on accelerators and on the threads of XLA.

    Such work belongs to the last dispatch of its function in its step that had begun.
    """
    functions: dict[str, int] = {}
    of_node = [functions.setdefault(node.function, len(functions)) for node in runs.nodes]
    function = np.array(of_node, dtype=np.int64)[runs.node]
    wants = np.array([bool(node.function) for node in runs.nodes], dtype=bool)[runs.node]
    missing = np.flatnonzero((runs.dispatch == NONE) & wants)
    known = np.flatnonzero((runs.dispatch != NONE) & wants)
    if not len(missing) or not len(known):
        return runs.dispatch
    group = function * (int(runs.step.max()) + 2) + runs.step + 1
    times = np.unique(started[runs.dispatch[known]])
    width = len(times) + 1
    key = group[known] * width + np.searchsorted(times, started[runs.dispatch[known]])
    order = np.argsort(key, kind="stable")
    wanted = group[missing] * width + np.searchsorted(times, runs.start[missing], side="right")
    place = np.searchsorted(key[order], wanted, side="left") - 1
    last = known[order][place]
    found = (place >= 0) & (group[last] == group[missing])
    dispatch = runs.dispatch.copy()
    dispatch[missing] = np.where(found, runs.dispatch[last], NONE)
    return dispatch


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

"""The calls from Python into TensorFlow, and the call that each op run belongs to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from nbprof.arrays import NONE, Ints, Rows
from nbprof.ingest.trace.function_names import short_name
from nbprof.ingest.trace.program.python_stacks import below_runners, in_cells
from nbprof.ingest.trace.work.event_kinds import Kind

if TYPE_CHECKING:
    from nbprof.capture.capture import Capture, DispatchLog, Stack
    from nbprof.ingest.trace.attribution.watched_calls import WatchedCalls
    from nbprof.ingest.trace.stages import RecordedTrace
    from nbprof.ingest.trace.work.op_runs import Runs

SESSION_RUN = "Session.run"
"""What the calls that run a v1 session are listed as."""
OTHER_THREAD = "a thread of TensorFlow's"
"""The name of a thread that Python does not know."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PythonCalls:
    """Calls into TensorFlow; times in ns since the cell's start."""

    start: Ints
    end: Ints
    watch: Ints
    """How long recording the call took, right after its end."""
    thread: Rows
    """Index into `threads`; 0 is the cell's."""
    what: list[str]
    """The op or function of each."""
    path: Rows
    """Index into `paths`, NONE if it is not known."""
    of_run: Rows
    """The call that each op run belongs to, NONE if there are no calls."""
    paths: "list[Stack]"
    threads: list[str]


def find_python_calls(
    trace: "RecordedTrace", runs: "Runs", calls: "WatchedCalls", cells: Mapping[str, str]
) -> PythonCalls:
    """Find the calls; those of sessions come after those that were watched one by one."""
    capture, log, host = trace.capture, calls.log, trace.host
    is_session = host.kind[calls.dispatch] == Kind.SESSION_RUN if len(host.kind) else False
    session = np.unique(calls.dispatch[is_session & (calls.dispatch != NONE)])
    threads, thread = _threads(capture)
    elsewhere = host.line[session] != trace.cell_line
    if elsewhere.any():
        threads = [*threads, OTHER_THREAD]
    call_of = calls.call_of_dispatch.copy()
    call_of[session] = len(log.start_ns) + np.arange(len(session))
    start = np.append(log.start_ns - capture.start_ns, host.start[session] // 1000)
    end = np.append(log.end_ns - capture.start_ns, host.end[session] // 1000)
    start[len(log.start_ns) :] += trace.origin_ns
    end[len(log.start_ns) :] += trace.origin_ns
    thread = np.append(thread, np.where(elsewhere, len(threads) - 1, 0))
    of_run = _with_others(call_of[calls.dispatch], runs, trace.origin_ns, (start, end, thread))
    return PythonCalls(
        start=start,
        end=end,
        watch=np.append(_watch_ns(log), np.zeros(len(session), dtype=np.int64)),
        thread=thread,
        what=_what(log) + [SESSION_RUN] * len(session),
        path=np.append(log.site, calls.site_of_dispatch[session]),
        of_run=of_run,
        paths=[in_cells(below_runners(path), cells) for path in log.paths],
        threads=threads,
    )


def _threads(capture: "Capture") -> tuple[list[str], Rows]:
    """Return the names of the threads of Python, and the thread of each watched call."""
    names, log = list(capture.samples.names), capture.dispatches
    identities, which = np.unique(log.thread, return_inverse=True)
    numbers = []
    for identity in identities.tolist():
        name = log.threads.get(identity, "") or OTHER_THREAD
        if identity == capture.thread:
            numbers.append(0)
            continue
        if name not in names:
            names.append(name)
        numbers.append(names.index(name))
    return names, np.array(numbers, dtype=np.intp)[which]


def _what(log: "DispatchLog") -> list[str]:
    names = [short_name(name if isinstance(name, str) else name.decode()) for name in log.ops]
    return [names[number] for number in log.op.tolist()] or [""] * len(log.start_ns)


def _watch_ns(log: "DispatchLog") -> Ints:
    if len(log.recorded_ns) != len(log.end_ns):
        return np.zeros(len(log.end_ns), dtype=np.int64)
    watched: Ints = np.maximum(log.recorded_ns - log.end_ns, 0)
    return watched


def _with_others(call: Rows, runs: "Runs", origin_ns: int, calls: tuple[Ints, Ints, Rows]) -> Rows:
    """Match runs that no call asked for, such as those of input pipelines, to calls by time.

    That is the cell's call that was open when they began, else the next one. `calls` are the start,
    end and thread of each.
    """
    start, end, thread = calls
    lost = np.flatnonzero(call == NONE)
    own = np.flatnonzero(thread == 0)
    own = own[np.argsort(start[own], kind="stable")]
    if not len(lost) or not len(own):
        return call
    time = runs.start[lost] // 1000 + origin_ns
    last = np.searchsorted(start[own], time, side="right") - 1
    is_over = (last < 0) | (end[own[last]] < time)
    found = call.copy()
    found[lost] = own[np.minimum(last + is_over, len(own) - 1)]
    return found


def dispatch_table(calls: PythonCalls, first: int) -> pd.DataFrame:
    """List the calls; the numbers of their stacks begin with `first`."""
    return pd.DataFrame(
        {
            "start_ns": calls.start,
            "end_ns": calls.end,
            "watch_ns": calls.watch,
            "thread": calls.thread.astype(np.int64),
            "what": pd.Series(calls.what, dtype=object),
            "stack": np.where(calls.path == NONE, NONE, calls.path + first).astype(np.int64),
        }
    )

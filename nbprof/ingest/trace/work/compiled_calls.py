"""Calls of functions that XLA compiled: which part of each is compiling, and which is running.

TensorFlow 2.21 and later mark the execution inside such a call. Before, it is what follows the
compiler's work, if the call compiled at all. Before 2.18, nothing inside a call is recorded; a call
that traced its function is then known to have compiled it.

Where an event is missing, `add_executions` adds it, so that all traces look alike from there on.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import NONE, Ints, Mask, Rows
from nbprof.ingest.trace.work.event_kinds import Kind, split
from nbprof.ingest.trace.work.host_events import HostEvents, sorted_events

if TYPE_CHECKING:
    import numpy.typing as npt

LAUNCHERS = (b"PartitionedCall", b"StatefulPartitionedCall", b"XlaLaunch", b"_XlaRun")
"""Types of ops that launch a compiled function inside a graph; some also call other functions."""

OPAQUE = (
    "TensorFlow before 2.18 does not record what happens inside functions that XLA compiled: calls "
    "that traced their function count as compiling, with no op time or memory, and any other call "
    "counts as one op, even if it compiled for new shapes"
)
"""Note on a trace that does not tell compiling from running."""


@dataclass(frozen=True, eq=False)
class _Calls:
    """Calls of compiled functions; times in ps."""

    event: Rows
    """The event that launched each."""
    compiled_until: Ints
    """When compiling ended; the start of the call if it did not compile."""
    unmarked: Mask
    """Whether the trace does not mark the execution."""


def add_executions(host: HostEvents) -> tuple[HostEvents, tuple[str, ...]]:
    """Add an EXECUTABLE to every call without one, and a COMPILING to every call that compiled.

    Also return a note if the trace does not tell the two apart.
    """
    opaque = not host.of(Kind.EXECUTABLE, Kind.COMPILING, Kind.THUNK).any()
    event = _launchers(host)
    if not len(event):
        return host, ()
    calls = _compiled_during_tracing(host, event) if opaque else _compiled_by_events(host, event)
    compiling = calls.compiled_until > host.start[event]
    run = event[calls.unmarked]
    until = calls.compiled_until
    host = sorted_events(
        host.space,
        row=_join(host.row, host.row[event[compiling]], host.row[run]),
        kind=_kinds(host.kind, int(compiling.sum()), len(run)),
        start=_join(host.start, host.start[event[compiling]], until[calls.unmarked]),
        end=_join(host.end, until[compiling], host.end[run]),
    )
    return host, (OPAQUE,) if opaque else ()


def _launchers(host: HostEvents) -> Rows:
    """Return the events that launch compiled functions."""
    launches = host.of(Kind.COMPILED).copy()
    marked = np.flatnonzero(host.of(Kind.EXECUTABLE, Kind.COMPILING))
    around = host.inside_of(Kind.OP, Kind.COMPILED, event=marked)
    launches[around[around != NONE]] = True
    if not host.of(Kind.EXECUTABLE).any():
        launches |= _launching_ops(host)
    return np.flatnonzero(launches)


def _launching_ops(host: HostEvents) -> Mask:
    """Mark the ops that launch a compiled function: those that could call one, but call none."""
    likely = (pair for pair in enumerate(host.space.strings) if pair[1].endswith(LAUNCHERS))
    names = [row for row, name in likely if split(name)[1] in LAUNCHERS]
    marked = np.zeros(len(host.row) + 1, dtype=bool)  # the last entry is for NONE
    if names:
        marked[:-1] = host.of(Kind.OP) & np.isin(host.space.name[host.row], names)
        calls = np.flatnonzero(host.of(Kind.FUNCTION_RUN))
        marked[host.inside_of(Kind.OP, event=calls)] = False
    return marked[:-1]


def _compiled_by_events(host: HostEvents, event: Rows) -> _Calls:
    """Tell compiling from running by the events inside each call."""
    place = np.full(len(host.row) + 1, NONE)  # the last entry is for NONE
    place[event] = np.arange(len(event))

    def inside(kind: Kind) -> tuple[Rows, Rows]:
        rows = np.flatnonzero(host.of(kind))
        call = place[host.inside_of(Kind.OP, Kind.COMPILED, event=rows)]
        return rows[call != NONE], call[call != NONE]

    until = host.start[event].copy()
    compiler, compiling = inside(Kind.COMPILING)
    np.maximum.at(until, compiling, host.end[compiler])
    execution, running = inside(Kind.EXECUTABLE)
    first = np.full(len(event), np.iinfo(np.int64).max)
    np.minimum.at(first, running, host.start[execution])
    unmarked = first == np.iinfo(np.int64).max
    compiled = until > host.start[event]
    until = np.where(compiled & ~unmarked, first, np.minimum(until, host.end[event]))
    return _Calls(event, until, unmarked)


def _compiled_during_tracing(host: HostEvents, event: Rows) -> _Calls:
    """Count calls within a call that traced its function as compiling, up to the last moment."""
    call = np.flatnonzero(host.of(Kind.CALL))
    texts = host.space.strings
    traced = [texts[row].startswith(b"traced") for row in host.text("tf_function_call")[call]]
    call = call[np.array(traced, dtype=bool)]
    call = call[np.argsort(host.start[call], kind="stable")]
    last = np.searchsorted(host.start[call], host.start[event], side="right") - 1
    ends = np.append(np.maximum.accumulate(host.end[call]), 0)  # the last entry is for NONE
    compiling = ends[last] > host.start[event]
    until = np.where(compiling, host.end[event] - 1, host.start[event])
    return _Calls(event, until, np.ones(len(event), dtype=bool))


def _kinds(kind: "npt.NDArray[np.int8]", compiling: int, running: int) -> "npt.NDArray[np.int8]":
    added = np.repeat(np.array([Kind.COMPILING, Kind.EXECUTABLE], np.int8), (compiling, running))
    return np.append(kind, added)


def _join(*columns: Ints | Rows) -> Ints:
    return np.concatenate(columns)

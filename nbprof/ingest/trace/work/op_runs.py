"""Op runs: which events are executions of ops, which nodes they ran, and how long they took.

An op is charged for its own time only, without the ops it ran and without waiting for other
threads, so that a sum never counts a moment of a thread twice.
"""

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nbprof.arrays import NONE, Ints, Mask, Rows, distinct_pairs
from nbprof.capture.capture import session_group
from nbprof.ingest.trace.function_names import INPUT_PIPELINE, NOT_KNOWN, function_of_module
from nbprof.ingest.trace.work import callers
from nbprof.ingest.trace.work.covered_time import CoveredTime
from nbprof.ingest.trace.work.event_kinds import Kind, split

if TYPE_CHECKING:
    from nbprof.ingest.trace.work.host_events import HostEvents
    from nbprof.ingest.trace.work.steps import Steps


_HLO_NUMBER = re.compile(r"([._]\d+)+$")

ITERATOR = "Iterator::"

XLA_CLUSTER = "XlaLaunch"
"""Op type for the run of a compiled function as a whole; its HLO ops are listed as well."""


class Executed(NamedTuple):
    """A node as the runtime names it."""

    function: str
    """The function it ran for."""
    name: str
    op_type: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Runs:
    """Executions of ops, one entry each; times in ps."""

    nodes: list[Executed]
    """The distinct nodes."""
    event: Rows
    """The host event, NONE for work on an accelerator."""
    node: Rows
    """Index into `nodes`."""
    step: Rows
    dispatch: Rows
    """The host event of the eager op, function call or `Session.run` that Python asked for and
    that it ran in or for; NONE if unknown."""
    line: npt.NDArray[np.int32]
    start: Ints
    duration: Ints
    own: Ints
    """The duration without the ops and waits inside."""
    is_run: Mask
    """False for further work of a run that is counted elsewhere."""
    accelerator: Mask

    def with_accelerator_work(self, nodes: list[Executed], **columns: Any) -> "Runs":
        """Return these runs followed by work on an accelerator, given as columns."""
        count = len(columns["node"])
        nothing = np.full(count, NONE)
        columns |= {"event": nothing, "dispatch": nothing}
        columns["accelerator"] = np.ones(count, dtype=bool)
        joined: dict[str, Any] = {
            name: np.concatenate((getattr(self, name), column)) for name, column in columns.items()
        }
        return replace(self, nodes=nodes, **joined)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Marks:
    """Which host events are op runs, by kind."""

    eager: Rows
    """The kernels of eager ops."""
    dispatch: Rows
    """The eager dispatch that each of those kernels is inside."""
    executable: Rows
    """The executions of compiled functions."""
    launcher: Rows
    """The event that launched each of those executions."""
    is_op: Mask
    waiting: Mask


def find_runs(
    host: "HostEvents", steps: "Steps", sessions: Rows, *, keeps_threads: bool = True
) -> Runs:
    """Find the op runs on the host's threads; `sessions` is what `session_groups` returns.

    Unless the trace keeps the events of threads that ended, the starts of functions may be missing.
    """
    marks = _mark(host)
    event = np.flatnonzero(marks.is_op)
    found = callers.find_callers(host, steps, event, sessions)
    if not keeps_threads:
        found = found.with_lost_functions(host, event)
    group, name = _identify(host, event, marks, found.group)
    path = np.where(group == found.group, found.path, 0)
    node, nodes = _distinct(host.space.strings, group, name, path, found.paths)
    dispatch = found.dispatch
    dispatch[np.searchsorted(event, marks.eager)] = marks.dispatch
    step = np.where(found.step != NONE, found.step, steps.step_of_event[event])
    outside = np.flatnonzero(step == NONE)
    step[outside] = steps.at(host.start[event[outside]])
    return Runs(
        nodes=nodes,
        event=event,
        node=node,
        step=step,
        dispatch=dispatch,
        line=host.line[event],
        start=host.start[event],
        duration=host.duration[event],
        own=_own_time(host, marks, event),
        is_run=_counted(host, marks, event),
        accelerator=np.zeros(len(event), dtype=bool),
    )


def _mark(host: "HostEvents") -> _Marks:
    kernel = np.flatnonzero(host.of(Kind.KERNEL))
    dispatch = host.inside_of(Kind.EAGER, event=kernel)
    kernel, dispatch = kernel[dispatch != NONE], dispatch[dispatch != NONE]
    of_function = (host.number("is_func", 0) == 1)[dispatch]
    eager, dispatch = kernel[~of_function], dispatch[~of_function]

    executable = np.flatnonzero(host.of(Kind.EXECUTABLE))
    launcher = host.inside_of(Kind.OP, Kind.COMPILED, event=executable)
    executable, launcher = executable[launcher != NONE], launcher[launcher != NONE]
    is_op = host.of(Kind.OP, Kind.THUNK, Kind.ITERATOR).copy()
    # A launcher may compile the function first, so only the execution counts as the run.
    is_op[launcher] = False
    is_op[eager] = is_op[executable] = True
    waiting = host.of(Kind.WAIT, Kind.CAPTURED).copy()
    waiting[kernel[of_function]] = True
    return _Marks(
        eager=eager,
        dispatch=dispatch,
        executable=executable,
        launcher=launcher,
        is_op=is_op,
        waiting=waiting,
    )


def _counted(host: "HostEvents", marks: _Marks, event: Rows) -> Mask:
    """Mark the runs, but not further work of a run: a collective's or a second execution's."""
    with_id = np.flatnonzero(host.of(Kind.OP) & (host.number("step_id") != NONE))
    further = with_id[host.inside_of(Kind.PROCESS, event=with_id) == NONE]
    _, first = np.unique(marks.launcher, return_index=True)
    counted = np.ones(len(host.row), dtype=bool)
    counted[further] = counted[np.delete(marks.executable, first)] = False
    return counted[event]


def _own_time(host: "HostEvents", marks: _Marks, event: Rows) -> Ints:
    """Return each op's time without the ops and waits inside it."""
    charged = marks.is_op | marks.waiting
    child = np.flatnonzero(charged)
    above = host.inside(charged, child)
    child, above = child[above != NONE], above[above != NONE]
    covered = np.minimum(host.end[child], host.end[above]) - host.start[child]
    taken = np.zeros(len(host.row), dtype=np.int64)
    np.add.at(taken, above, covered)
    # A compiled function runs its ops on a pool of threads and waits for all of them.
    thunk, rows = host.of(Kind.THUNK), marks.executable
    pooled = CoveredTime(host.start[thunk], host.end[thunk])
    taken[rows] = pooled.within(host.start[rows], host.end[rows])
    own: Ints = np.maximum(host.duration[event] - taken[event], 0)
    return own


def _identify(
    host: "HostEvents", event: Rows, marks: _Marks, group: Rows
) -> tuple[Rows, npt.NDArray[np.int32]]:
    """Return the group and name of each op as rows of `strings`, or a group from `callers`."""
    name, group = host.space.name[host.row[event]], group.copy()
    eager, executable = (np.searchsorted(event, rows) for rows in (marks.eager, marks.executable))
    name[eager] = host.text("eager_op")[marks.dispatch]
    group[eager] = callers.NO_FUNCTION
    name[executable] = host.space.name[host.row[marks.launcher]]
    group[executable[host.kind[marks.launcher] == Kind.COMPILED]] = callers.NO_FUNCTION
    kind = host.kind[event]
    thunk = np.flatnonzero(kind == Kind.THUNK)
    name[thunk] = host.text("hlo_op")[event[thunk]]
    group[thunk] = host.text("hlo_module")[event[thunk]]
    group[kind == Kind.ITERATOR] = callers.PIPELINE
    return group, name


def _distinct(
    strings: list[bytes],
    group: Rows,
    name: npt.NDArray[np.int32],
    path: Rows,
    paths: list[bytes],
) -> tuple[Rows, list[Executed]]:
    """Number the distinct nodes and spell them out; a name is preceded by its path."""
    path_of, name_of, full_name = distinct_pairs(path, name, len(strings))
    groups, names, node = distinct_pairs(group, full_name, len(name_of) + 1)
    functions = {group: _function_of(strings, group) for group in set(groups.tolist())}
    spelled = [
        _spell(group > 0, functions[group], paths[path_of[name]] + strings[name_of[name]])
        for group, name in zip(groups.tolist(), names.tolist(), strict=True)
    ]
    return node, spelled


_GROUPS = {
    callers.PIPELINE: INPUT_PIPELINE,
    callers.UNKNOWN: NOT_KNOWN,
}


def _function_of(strings: list[bytes], group: int) -> str:
    return _GROUPS.get(group) or _numbered(group) or _decode(strings[max(group, 0)])


def _spell(in_function: bool, function: str, name: bytes) -> Executed:
    """Spell out a node; a name from XLA begins with `/`, to be shown under its function."""
    node, op_type = map(_decode, split(name))
    if node:
        return Executed(function, node, op_type)
    whole = _decode(name)
    if whole.startswith(ITERATOR):
        stages = whole.partition("#")[0].split("::")
        return Executed(function, "/".join(stages), f"{ITERATOR}{stages[-1]}")
    if in_function:
        return Executed(function_of_module(function), f"/{whole}", hlo_type(whole))
    compiled, _, again = whole.partition(":")
    if again:
        return Executed(function_of_module(compiled), "/", XLA_CLUSTER)
    return Executed(function, whole, whole)


def hlo_type(op: str) -> str:
    """Return the op type of an HLO op: its name without the trailing number."""
    return _HLO_NUMBER.sub("", op)


def _numbered(group: int) -> str:
    """Return the name of a group that is counted down from a first one, else an empty text."""
    graph = callers.number_below(group, callers.SESSION)
    if graph is not None:
        return session_group(graph)
    for first, name in ((callers.CAPTURED, INPUT_PIPELINE), (callers.LOST, NOT_KNOWN)):
        number = callers.number_below(group, first)
        if number is not None:
            return f"{name}:{number}"
    return ""


def _decode(text: bytes) -> str:
    return text.decode("utf-8", "replace")

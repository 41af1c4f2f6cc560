"""Op runs: which events are executions of ops, of which node, for how long.

An op is charged for its own time only: what the ops it ran inside it took, and what it spent
waiting for other threads, is taken off, so that a sum never counts a moment of a thread twice.
"""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from nbprof.ingest.kinds import Kind, split
from nbprof.ingest.names import INPUT_PIPELINE, SESSION, short_name
from nbprof.ingest.nesting import NONE, Rows

if TYPE_CHECKING:
    from nbprof.ingest.host import HostEvents
    from nbprof.ingest.steps import Steps

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_HLO_NUMBER = re.compile(r"\.\d+$")

XLA_CLUSTER = "XlaLaunch"
"""The op type under which the run of a compiled function stands, besides its HLO ops."""


@dataclass(frozen=True, eq=False)
class Runs:
    """Executions of ops, one entry each; times in ps."""

    nodes: list[tuple[str, str, str]]
    """(function it was run for, executed name, op type), each once."""
    event: Rows
    """The host event it was, NONE for work on an accelerator."""
    node: Rows
    """Which of `nodes` ran."""
    step: Rows
    line: npt.NDArray[np.int32]
    start: Ints
    duration: Ints
    own: Ints
    """The duration without what other ops or waits inside took."""
    is_run: Mask
    """False for further work of a run that is counted elsewhere."""
    accelerator: Mask


def find_runs(host: "HostEvents", steps: "Steps") -> Runs:
    """Read the op runs off the host's threads."""
    dispatch = host.inside(host.of(Kind.EAGER))
    of_function = (host.number("is_func", 0) == 1)[dispatch] & (dispatch != NONE)
    kernel = host.of(Kind.KERNEL)
    eager = kernel & ~of_function & (dispatch != NONE)
    compiled = host.inside(host.of(Kind.COMPILED))
    executable = host.of(Kind.EXECUTABLE) & (compiled != NONE)
    is_op = eager | executable | host.of(Kind.OP, Kind.THUNK)
    waiting = host.of(Kind.WAIT) | (kernel & of_function)

    event = np.flatnonzero(is_op)
    executor = host.inside(host.of(Kind.PROCESS))
    # Without a Python call around it, work belongs to an input pipeline; inside one, to the
    # function called, such as the constants that are folded when it is first prepared.
    around = np.where(of_function, host.text("eager_op")[dispatch], PIPELINE)
    function, step = _callers(host, steps, around, executor[event])
    function = np.where(function == NOWHERE, around[event], function)
    # An op event outside an executor is further work of a run that was counted inside one.
    is_run = ~host.of(Kind.OP) | (executor != NONE)

    group, name = _identify(host, event, eager, dispatch, compiled, function)
    node, nodes = _distinct(host, group, name)
    step = np.where(step != NONE, step, steps.step_of_event[event])
    step = np.where(step != NONE, step, steps.at(host.start[event]))
    return Runs(
        nodes,
        event,
        node,
        step,
        host.line[event],
        host.start[event],
        host.duration[event],
        _own_time(host, is_op, waiting)[event],
        is_run[event],
        np.zeros(len(event), dtype=bool),
    )


def _own_time(host: "HostEvents", is_op: Mask, waiting: Mask) -> Ints:
    """Take off each op's time what ops and waits directly inside it took."""
    charged = is_op | waiting
    above = host.inside(charged)
    child = np.flatnonzero(charged & (above != NONE))
    covered = np.minimum(host.end[child], host.end[above[child]]) - host.start[child]
    taken = np.zeros(len(host.row), dtype=np.int64)
    np.add.at(taken, above[child], covered)
    own: Ints = np.maximum(host.duration - taken, 0)
    return own


def _callers(host: "HostEvents", steps: "Steps", around: Rows, executor: Rows) -> tuple[Rows, Rows]:
    """Find for which function and step each executor works, by its id.

    Functions are rows of `strings` or the groups below; both are unknown (NOWHERE, NONE) where no
    function or session run has that id.
    """
    ids = host.number("id")
    caller = np.flatnonzero(host.of(Kind.FUNCTION_RUN, Kind.SESSION_RUN))
    caller = caller[np.argsort(ids[caller], kind="stable")]
    if not len(caller):
        return np.full(len(executor), NOWHERE), np.full(len(executor), NONE)
    function = np.where(host.kind[caller] == Kind.SESSION_RUN, IN_SESSION, around[caller])
    wanted = ids[executor]
    place = np.minimum(np.searchsorted(ids[caller], wanted), len(caller) - 1)
    found = (ids[caller][place] == wanted) & (executor != NONE) & (wanted != NONE)
    return (
        np.where(found, function[place], NOWHERE),
        np.where(found, steps.step_of_event[caller][place], NONE),
    )


NOWHERE, PIPELINE, IN_SESSION = 0, -1, -2
"""Beside rows of `strings`: the groups of eager ops, input pipelines and session graphs."""


def _identify(
    host: "HostEvents", event: Rows, eager: Mask, dispatch: Rows, compiled: Rows, function: Rows
) -> tuple[Rows, Rows]:
    """Give group and name of each op, both as rows of `strings` (groups also as above)."""
    kind = host.kind[event]
    eager, thunk, executable = eager[event], kind == Kind.THUNK, kind == Kind.EXECUTABLE
    names = host.space.name[host.row].astype(np.intp)
    name = names[np.where(executable, compiled[event], event)]
    name = np.where(eager, host.text("eager_op")[dispatch[event]], name)
    name = np.where(thunk, host.text("hlo_op")[event], name)
    group = np.where(eager | executable, NOWHERE, function)
    group = np.where(thunk, host.text("hlo_module")[event], group)
    return group, name


def _distinct(
    host: "HostEvents", group: Rows, name: Rows
) -> tuple[Rows, list[tuple[str, str, str]]]:
    """Number the distinct (group, name) pairs and spell them out."""
    width = len(host.space.strings)
    pairs, node = np.unique((group + 2) * width + name, return_inverse=True)
    return node, [_spell(host, pair // width - 2, pair % width) for pair in pairs.tolist()]


def _spell(host: "HostEvents", group: int, name: int) -> tuple[str, str, str]:
    function = {NOWHERE: "", PIPELINE: INPUT_PIPELINE, IN_SESSION: SESSION}.get(group)
    if function is None:
        function = _decode(host.space.strings[group])
    text = host.space.strings[name]
    node, op_type = map(_decode, split(text))
    if node.startswith("__") and node == op_type:
        return "", short_name(node), XLA_CLUSTER
    if node:
        return function, node, op_type
    whole = _decode(text)
    if group == NOWHERE:
        return "", whole, whole
    return "", f"{short_name(function)}/{whole}", _HLO_NUMBER.sub("", whole)


def _decode(text: bytes) -> str:
    return text.decode("utf-8", "replace")

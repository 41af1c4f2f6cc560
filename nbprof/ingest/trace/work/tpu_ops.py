"""HLO ops on a TPU: every event on the line `XLA Ops` of a core is a run.

The other lines (modules, steps, name scopes, framework ops, source code) show the same time under
other names. What all runs of an op share, such as its name in the program and its float operations,
is in the metadata.
"""

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from nbprof.arrays import NONE, Floats, Ints, Rows
from nbprof.ingest.trace.work.nesting import Nesting, sort_order
from nbprof.ingest.trace.work.op_runs import Executed, Runs, hlo_type
from nbprof.ingest.trace.work.steps import DeviceSteps, lines_named

if TYPE_CHECKING:
    from nbprof.ingest.xspace.metadata_stats import EventName, Stats
    from nbprof.ingest.xspace.xspace import XSpace


PLANE = "/device:TPU:"
OPS, MODULES = "XLA Ops", "XLA Modules"
_HLO = re.compile(r"%?([^\s=]+)")
_PROGRAM = re.compile(r"\(\d+\)$")


def has_tpu(space: "XSpace") -> bool:
    """Return whether the trace has a TPU."""
    return any(map(is_tpu, space.plane_names))


def is_tpu(plane: str) -> bool:
    """Return whether a plane with this name belongs to a TPU."""
    return plane.startswith(PLANE)


def add_hlo_ops(
    space: "XSpace", steps: DeviceSteps, runs: Runs, metadata: "dict[EventName, Stats]"
) -> tuple[Runs, Floats]:
    """Return the runs with those of HLO ops added, and the float operations of the added ones."""
    event = np.flatnonzero(np.isin(space.line, lines_named(space, PLANE, OPS)))
    duration, own = _times(space, event)
    nodes, node, flops = _nodes(space, event, runs, metadata)
    plane = space.line_plane[space.line[event]].astype(np.intp)
    start = space.start_ps[event]
    added = runs.with_accelerator_work(
        nodes,
        node=node,
        step=steps.at(plane, start),
        line=space.line[event],
        start=start,
        duration=duration,
        own=own,
        is_run=np.ones(len(event), dtype=bool),
    )
    return added, flops


def _times(space: "XSpace", event: Rows) -> tuple[Ints, Ints]:
    """Return the time of each op in ps, with and without the ops inside it."""
    start, duration = _device_clock(space, event)
    end, line = start + duration, space.line[event]
    order = sort_order(line, start, duration)
    parent = Nesting(line[order], start[order], end[order]).parent
    has_parent = np.flatnonzero(parent != NONE)
    outer, inner = order[parent[has_parent]], order[has_parent]
    taken = np.zeros(len(event), dtype=np.int64)
    np.add.at(taken, outer, np.minimum(end[inner], end[outer]) - start[inner])
    return duration, np.maximum(duration - taken, 0)


def _device_clock(space: "XSpace", event: Rows) -> tuple[Ints, Ints]:
    """Return start and duration in ps, by the device's own clock if every event states them."""
    offsets, durations = (space.stat(f"device_{name}_ps") for name in ("offset", "duration"))
    both = np.intersect1d(offsets.event, durations.event)
    if not len(both) or not np.isin(event, both).all():
        return space.start_ps[event], space.duration_ps[event]
    start = offsets.value[np.searchsorted(offsets.event, event)].astype(np.int64)
    return start, durations.value[np.searchsorted(durations.event, event)].astype(np.int64)


def _nodes(
    space: "XSpace", event: Rows, runs: Runs, metadata: "dict[EventName, Stats]"
) -> tuple[list[Executed], Rows, Floats]:
    """Return the nodes, new ones added, and each event's node and float operations."""
    kinds, which = _distinct_kinds(space, event)
    stats = [metadata.get(kind[:3], {}) for kind in kinds]
    spelled = [_spell(*kind[1:], known) for kind, known in zip(kinds, stats, strict=True)]
    nodes = list(runs.nodes)
    row_of_node = {node: row for row, node in enumerate(nodes)}
    for node in spelled:
        if node not in row_of_node:
            row_of_node[node] = len(nodes)
            nodes.append(node)
    number = np.array([row_of_node[node] for node in spelled], dtype=np.intp)
    flops = np.array([_float_ops(known) for known in stats], dtype=float)
    return nodes, number[which], flops[which]


def _float_ops(stats: "Stats") -> float:
    known = stats.get(b"flops")
    return float(round(known)) if isinstance(known, int | float) else np.nan


def _distinct_kinds(
    space: "XSpace", event: Rows
) -> tuple[list[tuple[str, bytes, bytes, bytes]], Rows]:
    """Return the distinct (plane, name, display name, module), and which of them each event is."""
    keys = np.stack(
        (
            space.line_plane[space.line[event]],
            space.name[event],
            space.display_name[event],
            _modules(space, event),
        )
    )
    distinct, which = np.unique(keys, axis=1, return_inverse=True)
    spelled = [
        (space.plane_names[plane], *(space.strings[text] for text in texts))
        for plane, *texts in distinct.T.tolist()
    ]
    return spelled, which.reshape(-1)


def _modules(space: "XSpace", event: Rows) -> Rows:
    """Return the name of the module that each op ran in as a row of `strings`, 0 if unknown."""
    found = np.zeros(len(event), dtype=np.intp)
    plane = space.line_plane[space.line]
    row = np.flatnonzero(np.isin(space.line, lines_named(space, PLANE, MODULES)))
    for own in np.unique(plane[row]):
        modules = row[plane[row] == own]
        modules = modules[np.argsort(space.start_ps[modules], kind="stable")]
        here = np.flatnonzero(plane[event] == own)
        last = np.searchsorted(space.start_ps[modules], space.start_ps[event[here]], "right") - 1
        found[here] = np.where(last >= 0, space.name[modules[np.maximum(last, 0)]], 0)
    return found


def _spell(name: bytes, display_name: bytes, module: bytes, stats: "Stats") -> Executed:
    """EventName a node by the place in the program that made it, then by the HLO op itself."""
    found = _HLO.match(_text(display_name or name))
    hlo = found[1] if found else "unknown"
    op_type = _text(stats.get(b"hlo_category", b"")) or hlo_type(hlo)
    tf_op = _text(stats.get(b"tf_op", b""))
    path = tf_op.rpartition(":")[0] if ":" in tf_op else tf_op
    if path:
        return Executed("", f"{path.strip('/')}/{hlo}", op_type)
    return Executed(_PROGRAM.sub("", _text(module)), f"/{hlo}", op_type)


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""

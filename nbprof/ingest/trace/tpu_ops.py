"""HLO ops on a TPU: the line `XLA Ops` of each core, every event a run.

Its other lines (modules, steps, name scopes, framework ops, source code) say the same time again by
other names. What is the same at each run of an op, such as its name in the program and its float
operations, stands in the metadata.
"""

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nbprof.arrays import NONE, Floats, Ints, Rows
from nbprof.ingest.trace.device_steps import DeviceSteps, lines_named
from nbprof.ingest.trace.nesting import Nesting, sort_order
from nbprof.ingest.trace.op_runs import Runs, hlo_type

if TYPE_CHECKING:
    from nbprof.ingest.trace.steps import Steps
    from nbprof.ingest.xspace.metadata_stats import Name, Stats
    from nbprof.ingest.xspace.xspace import XSpace


PLANE = "/device:TPU:"
OPS, MODULES = "XLA Ops", "XLA Modules"
_HLO = re.compile(r"%?([^\s=]+)")
_PROGRAM = re.compile(r"\(\d+\)$")


def has_tpu(space: "XSpace") -> bool:
    """Tell whether a TPU is in the trace."""
    return any(map(is_tpu, space.plane_names))


def is_tpu(plane: str) -> bool:
    """Tell a TPU's plane by its name."""
    return plane.startswith(PLANE)


def add_hlo_ops(
    space: "XSpace",
    steps: "Steps",
    marked: DeviceSteps,
    runs: Runs,
    metadata: "dict[Name, Stats]",
) -> tuple[Runs, Floats]:
    """Add the runs of HLO ops; give them, and the float operations of those that were added."""
    event = np.flatnonzero(np.isin(space.line, lines_named(space, PLANE, OPS)))
    duration, own = _times(space, event)
    nodes, node, flops = _nodes(space, event, runs, metadata)
    plane = space.line_plane[space.line[event]].astype(np.intp)
    start = space.start_ps[event]
    added = {
        "event": np.full(len(event), NONE),
        "node": node,
        "step": marked.of(plane, start, steps),
        "line": space.line[event],
        "start": start,
        "duration": duration,
        "own": own,
        "is_run": np.ones(len(event), dtype=bool),
        "accelerator": np.ones(len(event), dtype=bool),
    }
    whole: dict[str, Any] = {
        name: np.concatenate((getattr(runs, name), column)) for name, column in added.items()
    }
    return replace(runs, nodes=nodes, **whole), flops


def _times(space: "XSpace", event: Rows) -> tuple[Ints, Ints]:
    """Give how long each op took, by the device's clock if it says so, and that without others."""
    start, duration = space.start_ps[event], space.duration_ps[event]
    offsets, durations = (space.stat(f"device_{name}_ps") for name in ("offset", "duration"))
    both = np.intersect1d(offsets.event, durations.event)
    if len(both) and np.isin(event, both).all():
        place = np.searchsorted(offsets.event, event), np.searchsorted(durations.event, event)
        start = offsets.value[place[0]].astype(np.int64)
        duration = durations.value[place[1]].astype(np.int64)
    line = space.line[event]
    order = sort_order(line, start, duration)
    end = start + duration
    parent = Nesting(line[order], start[order], end[order]).parent
    child = np.flatnonzero(parent != NONE)
    above = order[parent[child]]
    inside = order[child]
    taken = np.zeros(len(event), dtype=np.int64)
    np.add.at(taken, above, np.minimum(end[inside], end[above]) - start[inside])
    return duration, np.maximum(duration - taken, 0)


def _nodes(
    space: "XSpace", event: Rows, runs: Runs, metadata: "dict[Name, Stats]"
) -> tuple[list[tuple[str, str, str]], Rows, Floats]:
    """Name the ops; only distinct kinds of events are looked at."""
    keys = np.stack(
        (
            space.line_plane[space.line[event]],
            space.name[event],
            space.display_name[event],
            _modules(space, event),
        )
    )
    distinct, which = np.unique(keys, axis=1, return_inverse=True)
    nodes = list(runs.nodes)
    place = {node: row for row, node in enumerate(nodes)}
    number, flops = [], []
    for plane, name, shown, module in distinct.T.tolist():
        texts = space.strings[name], space.strings[shown]
        stats = metadata.get((space.plane_names[plane], *texts), {})
        node = _spell(*texts, space.strings[module], stats)
        if node not in place:
            place[node] = len(nodes)
            nodes.append(node)
        number.append(place[node])
        known = stats.get(b"flops")
        flops.append(float(round(known)) if isinstance(known, int | float) else np.nan)
    which = which.reshape(-1)
    return nodes, np.array(number, dtype=np.intp)[which], np.array(flops, dtype=float)[which]


def _modules(space: "XSpace", event: Rows) -> Rows:
    """Give the name of the module that each op ran in, as a row of `strings`; 0: none."""
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


def _spell(name: bytes, shown: bytes, module: bytes, stats: "Stats") -> tuple[str, str, str]:
    """Give function, node and op type: where the program made the op, then the op itself."""
    found = _HLO.match(_text(shown or name))
    hlo = found[1] if found else "unknown"
    op_type = _text(stats.get(b"hlo_category", b"")) or hlo_type(hlo)
    made, colon, _ = _text(stats.get(b"tf_op", b"")).rpartition(":")
    made = made if colon else _text(stats.get(b"tf_op", b""))
    if made:
        return "", f"{made.strip('/')}/{hlo}", op_type
    return _PROGRAM.sub("", _text(module)), f"/{hlo}", op_type


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""

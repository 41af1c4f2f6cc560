"""Work on GPUs: kernels on their streams, charged to the ops that launched them.

Runs are counted on the host, where they were launched. If the host's part is missing from the
trace, consecutive kernels of an op count as one run.
"""

from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import NONE
from nbprof.ingest.trace.program.function_names import function_of_module
from nbprof.ingest.trace.work.event_kinds import split
from nbprof.ingest.trace.work.op_runs import Executed, hlo_type
from nbprof.ingest.xspace.stat_columns import StatsOf
from nbprof.units import format_seconds

if TYPE_CHECKING:
    from nbprof.arrays import Ints, Mask, Rows
    from nbprof.ingest.trace.work.op_runs import Runs
    from nbprof.ingest.trace.work.steps import DeviceSteps
    from nbprof.ingest.xspace.xspace import XSpace

SEPARATOR = "::"
"""Separates the names of nested HLO ops, outermost first."""


def add_kernels(
    space: "XSpace", steps: "DeviceSteps", runs: "Runs"
) -> tuple["Runs", tuple[str, ...]]:
    """Return the runs with the kernels added, and a note on kernels without a known op."""
    event = _stream_events(space)
    if not len(event):
        return runs, ()
    nodes, node = _nodes_of(space, event, runs)
    unnamed_ns = int(space.duration_ps[event[node < 0]].sum()) // 1000
    event, node = event[node >= 0], node[node >= 0]
    step = _steps_of(space, event, steps)
    line, start = space.line[event], space.start_ps[event]
    begins = _begins_run(np.stack((line, node, step)), start)
    added = runs.with_accelerator_work(
        nodes,
        node=node,
        step=step,
        line=line,
        start=start,
        duration=space.duration_ps[event],
        own=space.duration_ps[event],
        is_run=begins & ~np.isin(node, runs.node),
    )
    return added, (_note(unnamed_ns),) if unnamed_ns else ()


def _stream_events(space: "XSpace") -> "Rows":
    """Find the events on GPU streams; a GPU's other lines show the same time again."""
    is_stream = [
        space.plane_names[plane].startswith("/device:") and name.startswith("Stream")
        for plane, name in zip(space.line_plane, space.line_name, strict=True)
    ]
    return np.flatnonzero(np.array(is_stream, dtype=bool)[space.line])


def _nodes_of(space: "XSpace", event: "Rows", runs: "Runs") -> tuple[list[Executed], "Rows"]:
    """Return the nodes, new ones added, and the node that each kernel works for, -1 if unknown.

    A kernel that XLA compiled belongs to its HLO op; its `tf_op` launched the whole function.
    """
    stats = StatsOf(space, event)
    texts = np.stack([stats.text(name) for name in ("tf_op", "hlo_op", "hlo_module")])
    distinct, which = np.unique(texts, axis=1, return_inverse=True)
    nodes = list(runs.nodes)
    exact = {node: row for row, node in enumerate(nodes)}
    by_name = {node[1:]: row for row, node in enumerate(nodes)}
    found = []
    for tf_op, hlo_op, module in (map(space.strings.__getitem__, rows) for rows in distinct.T):
        node = _of_hlo(hlo_op, module) if hlo_op else _of_tensorflow(tf_op)
        row = exact.get(node) if hlo_op else by_name.get(node[1:])
        if row is None and node[1]:
            row = exact[node] = by_name[node[1:]] = len(nodes)
            nodes.append(node)
        found.append(-1 if row is None else row)
    return nodes, np.array(found, dtype=np.intp)[which.reshape(-1)]


def _of_tensorflow(tf_op: bytes) -> Executed:
    name, op_type = (part.decode("utf-8", "replace") for part in split(tf_op))
    return Executed("", name, op_type)


def _of_hlo(hlo_op: bytes, module: bytes) -> Executed:
    op = hlo_op.decode("utf-8", "replace").rpartition(SEPARATOR)[2]
    function = function_of_module(module.decode("utf-8", "replace"))
    return Executed(function, f"/{op}", hlo_type(op))


def _steps_of(space: "XSpace", event: "Rows", steps: "DeviceSteps") -> "Rows":
    """Return the step that launched each kernel, which may run long after that step."""
    plane = space.line_plane[space.line[event]].astype(np.intp)
    step = steps.at(plane, space.start_ps[event])
    if not len(steps.steps.event):
        return step
    launch = _launches(space, event)
    launched = launch != NONE
    step[launched] = steps.steps.at(space.start_ps[launch[launched]])
    return step


def _launches(space: "XSpace", event: "Rows") -> "Rows":
    """Find the host event that launched each kernel, by correlation id, or NONE."""
    found = space.stat("correlation_id")
    if found.is_text or found.value.dtype.kind != "i" or not len(found.event):
        return np.full(len(event), NONE)
    of_event = np.full(len(space.line), NONE, dtype=np.int64)
    of_event[found.event] = found.value
    on_device = np.array([name.startswith("/device:") for name in space.plane_names], dtype=bool)
    host = found.event[~on_device[space.line_plane[space.line[found.event]]]]
    host = host[np.argsort(of_event[host], kind="stable")]
    number = of_event[event]
    place = np.searchsorted(of_event[host], number)
    launch = np.append(host, NONE)[np.minimum(place, len(host))]
    same = (launch != NONE) & (number != NONE) & (of_event[launch] == number)
    return np.where(same, launch, NONE)


def _begins_run(key: "Ints", start: "Ints") -> "Mask":
    """Mark kernels that differ from the one before on their line; the first key is the line."""
    order = np.lexsort((start, key[0]))
    changes = (key[:, order][:, 1:] != key[:, order][:, :-1]).any(axis=0)
    begins = np.zeros(len(start), dtype=bool)
    begins[order] = np.append(True, changes)[: len(start)]
    return begins


def _note(unnamed_ns: int) -> str:
    return (
        f"{format_seconds(unnamed_ns)} of accelerator work belongs to no known op and is not listed"
    )

"""Work on GPUs: kernels on their streams, charged to the ops that launched them.

The runs of those ops are counted on the host, where they were launched. An op of which the host's
part is not in the trace is counted by its kernels: those in a row are one run.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from nbprof.arrays import NONE
from nbprof.ingest.trace.event_kinds import split
from nbprof.ingest.trace.node_names import function_of_module
from nbprof.ingest.trace.op_runs import hlo_type
from nbprof.units import format_seconds

if TYPE_CHECKING:
    from nbprof.arrays import Rows
    from nbprof.ingest.trace.device_steps import DeviceSteps
    from nbprof.ingest.trace.op_runs import Runs
    from nbprof.ingest.trace.steps import Steps
    from nbprof.ingest.xspace.xspace import XSpace

Node = tuple[str, str, str]

INNERMOST = "::"
"""Stands between the names of HLO ops that run inside each other."""


def add_kernels(
    space: "XSpace", steps: "Steps", marked: "DeviceSteps", runs: "Runs"
) -> tuple["Runs", tuple[str, ...]]:
    """Add the kernels to the runs; give them and a note on work that no op can be named for."""
    event = _stream_events(space)
    if not len(event):
        return runs, ()
    nodes, node = _nodes_of(space, event, runs)
    unnamed = int(space.duration_ps[event[node < 0]].sum()) // 1000
    event, node = event[node >= 0], node[node >= 0]
    own = space.duration_ps[event]
    step = _steps_of(space, event, steps, marked)
    added = replace(
        runs,
        nodes=nodes,
        event=np.concatenate((runs.event, np.full(len(event), NONE))),
        node=np.concatenate((runs.node, node)),
        step=np.concatenate((runs.step, step)),
        line=np.concatenate((runs.line, space.line[event])),
        start=np.concatenate((runs.start, space.start_ps[event])),
        duration=np.concatenate((runs.duration, own)),
        own=np.concatenate((runs.own, own)),
        is_run=np.concatenate((runs.is_run, _begins_run(space, event, node, step, runs))),
        accelerator=np.concatenate((runs.accelerator, np.ones(len(event), dtype=bool))),
    )
    return added, (_note(unnamed),) if unnamed else ()


def _stream_events(space: "XSpace") -> "Rows":
    """Find the events on GPU streams; a GPU's other lines repeat the same time by other names."""
    is_stream = [
        space.plane_names[plane].startswith("/device:") and name.startswith("Stream")
        for plane, name in zip(space.line_plane, space.line_name, strict=True)
    ]
    return np.flatnonzero(np.array(is_stream, dtype=bool)[space.line])


def _nodes_of(space: "XSpace", event: "Rows", runs: "Runs") -> tuple[list[Node], "Rows"]:
    """Find the node that each kernel works for, -1 where that is not known.

    What XLA compiled is known by its HLO op; its `tf_op` is only the launch of the whole.
    """
    texts = np.stack([_texts(space, stat, event) for stat in ("tf_op", "hlo_op", "hlo_module")])
    distinct, which = np.unique(texts, axis=1, return_inverse=True)
    nodes = list(runs.nodes)
    exact = {node: row for row, node in enumerate(nodes)}
    by_name = {node[1:]: row for row, node in enumerate(nodes)}
    found = []
    for tf_op, hlo_op, module in (map(space.strings.__getitem__, one) for one in distinct.T):
        node = _of_hlo(hlo_op, module) if hlo_op else _of_tensorflow(tf_op)
        row = exact.get(node) if hlo_op else by_name.get(node[1:])
        if row is None and node[1]:
            row = exact[node] = by_name[node[1:]] = len(nodes)
            nodes.append(node)
        found.append(-1 if row is None else row)
    return nodes, np.array(found, dtype=np.intp)[which.reshape(-1)]


def _of_tensorflow(tf_op: bytes) -> Node:
    name, op_type = (part.decode("utf-8", "replace") for part in split(tf_op))
    return "", name, op_type


def _of_hlo(hlo_op: bytes, module: bytes) -> Node:
    op = hlo_op.decode("utf-8", "replace").rpartition(INNERMOST)[2]
    return function_of_module(module.decode("utf-8", "replace")), f"/{op}", hlo_type(op)


def _texts(space: "XSpace", stat: str, event: "Rows") -> "Rows":
    """Give a text stat of some events as rows of `strings`, 0 where they have none."""
    found = space.stat(stat)
    column = np.zeros(len(space.line), dtype=np.intp)
    if found.is_text:
        column[found.event] = found.value
    return column[event]


def _steps_of(space: "XSpace", event: "Rows", steps: "Steps", marked: "DeviceSteps") -> "Rows":
    """Give the step in which each kernel was launched: it may run when that is long over."""
    plane = space.line_plane[space.line[event]].astype(np.intp)
    step = marked.of(plane, space.start_ps[event], steps)
    if not len(steps.event):
        return step
    launch = _launches(space, event)
    launched = launch != NONE
    step[launched] = steps.at(space.start_ps[launch[launched]])
    return step


def _launches(space: "XSpace", event: "Rows") -> "Rows":
    """Find the host event that launched each kernel, by their common number, or NONE."""
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


def _begins_run(
    space: "XSpace", event: "Rows", node: "Rows", step: "Rows", runs: "Runs"
) -> npt.NDArray[np.bool_]:
    """Mark the first kernels of runs whose host's part is not in the trace."""
    on_host = np.zeros(int(node.max(initial=-1)) + 1, dtype=bool)
    on_host[runs.node[runs.node < len(on_host)]] = True
    order = np.lexsort((space.start_ps[event], space.line[event]))
    same = np.ones(max(len(event) - 1, 0), dtype=bool)
    for column in (node, step, space.line[event]):
        same &= column[order][1:] == column[order][:-1]
    begins = np.zeros(len(event), dtype=bool)
    begins[order] = np.append(True, ~same)[: len(event)]
    marked: npt.NDArray[np.bool_] = begins & ~on_host[node]
    return marked


def _note(unnamed_ns: int) -> str:
    return f"{format_seconds(unnamed_ns)} of accelerator work carry no op's name and are in no row"

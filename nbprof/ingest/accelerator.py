"""Work on accelerators: kernels on the streams of a GPU, charged to the ops that launched them.

The runs of those ops are counted on the host, where they were launched; here only time is added.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from nbprof.ingest.kinds import split
from nbprof.ingest.nesting import NONE
from nbprof.units import format_seconds

if TYPE_CHECKING:
    from nbprof.ingest.nesting import Rows
    from nbprof.ingest.runs import Runs
    from nbprof.ingest.steps import Steps
    from nbprof.ingest.xspace import XSpace


def add_kernels(space: "XSpace", steps: "Steps", runs: "Runs") -> tuple["Runs", tuple[str, ...]]:
    """Add the kernels to the runs; give them and a note on work that no op can be named for."""
    event = _stream_events(space)
    if not len(event):
        return runs, ()
    launched_by = space.stat("tf_op")
    text = np.zeros(len(space.line), dtype=np.intp)
    if launched_by.is_text:
        text[launched_by.event] = launched_by.value
    nodes, node_of_text = _nodes_of(space, np.unique(text[event]), runs)
    node = node_of_text[text[event]]
    unnamed = int(space.duration_ps[event[node < 0]].sum()) // 1000
    event, node = event[node >= 0], node[node >= 0]
    own = space.duration_ps[event]
    added = replace(
        runs,
        nodes=nodes,
        event=np.concatenate((runs.event, np.full(len(event), NONE))),
        node=np.concatenate((runs.node, node)),
        step=np.concatenate((runs.step, steps.at(space.start_ps[event]))),
        line=np.concatenate((runs.line, space.line[event])),
        start=np.concatenate((runs.start, space.start_ps[event])),
        duration=np.concatenate((runs.duration, own)),
        own=np.concatenate((runs.own, own)),
        is_run=np.concatenate((runs.is_run, np.zeros(len(event), dtype=bool))),
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


def _nodes_of(
    space: "XSpace", texts: "Rows", runs: "Runs"
) -> tuple[list[tuple[str, str, str]], "Rows"]:
    """Find the node that each `node:Type` text names, -1 where it names none."""
    nodes = list(runs.nodes)
    place = {(name, op_type): row for row, (_, name, op_type) in enumerate(nodes)}
    found = np.full(len(space.strings), -1, dtype=np.intp)
    for text in texts.tolist():
        name, op_type = (part.decode("utf-8", "replace") for part in split(space.strings[text]))
        if not name:
            continue
        if (name, op_type) not in place:
            place[name, op_type] = len(nodes)
            nodes.append(("", name, op_type))
        found[text] = place[name, op_type]
    return nodes, found


def _note(unnamed_ns: int) -> str:
    return f"{format_seconds(unnamed_ns)} of accelerator work carry no op's name and are in no row"

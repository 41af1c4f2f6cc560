"""The devices that nodes ran on."""

from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import NONE, distinct_pairs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbprof.ingest.trace.stages import Program
    from nbprof.ingest.trace.work.op_runs import Runs
    from nbprof.ingest.xspace.xspace import XSpace

CPU = "/device:CPU:0"
SEPARATOR = "|"
"""Separates the devices of a node that ran on several."""


def find_devices(space: "XSpace", runs: "Runs", program: "Program") -> list[str]:
    """Return the device of every node: that of its kernels, else the one its graph assigns."""
    functions = program.functions
    assigned = (functions.node(place.function, place.origin).device for place in program.nodes)
    devices = [_short(device) or CPU for device in assigned]
    on_device = np.flatnonzero(runs.accelerator)
    nodes, lines, _ = distinct_pairs(
        runs.node[on_device], runs.line[on_device], len(space.line_plane)
    )
    ran_on: dict[int, set[str]] = {}
    for node, line in zip(nodes.tolist(), lines.tolist(), strict=True):
        ran_on.setdefault(node, set()).add(space.plane_names[space.line_plane[line]])
    for node, planes in ran_on.items():
        devices[node] = join_devices(planes)
    for node, place in enumerate(program.nodes):
        if place.inside != NONE:
            devices[node] = devices[place.inside]
    return devices


def join_devices(texts: "Iterable[str]") -> str:
    """Join device names, some of which may already be joined."""
    return SEPARATOR.join(sorted({part for text in texts for part in text.split(SEPARATOR)}))


def _short(device: str) -> str:
    """Strip the job and the task of a program that runs on a single machine."""
    return device.removeprefix("/job:localhost/replica:0/task:0")

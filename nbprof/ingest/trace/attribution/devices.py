"""The devices that nodes ran on."""

import re
from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import NONE, distinct_pairs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbprof.arrays import Mask
    from nbprof.ingest.trace.stages import Program
    from nbprof.ingest.trace.work.op_runs import Runs
    from nbprof.ingest.xspace.xspace import XSpace

CPU = "/device:CPU:0"
SEPARATOR = "|"
"""Separates the devices of a node that ran on several."""

_GPU_THREAD = re.compile(r"tf_gpu_private_(\d+)(/.*)?")
"""Threads that launch the ops of one GPU and nothing else (TF_GPU_THREAD_MODE=gpu_private)."""


def find_devices(space: "XSpace", runs: "Runs", program: "Program") -> list[str]:
    """Return the device of every node.

    It is that of its kernels, else the one its graph assigns, else that of the threads it ran on.
    """
    functions = program.functions
    assigned = (functions.node(place.function, place.origin).device for place in program.nodes)
    devices = [_short(device) for device in assigned]
    of_line = [
        plane if plane.startswith("/device:") else _device_of_thread(line)
        for line, plane in zip(
            space.line_name, (space.plane_names[row] for row in space.line_plane), strict=True
        )
    ]
    for node, ran_on in _devices_by_node(runs, ~runs.accelerator, of_line).items():
        devices[node] = devices[node] or join_devices(ran_on)
    for node, ran_on in _devices_by_node(runs, runs.accelerator, of_line).items():
        devices[node] = join_devices(ran_on)
    for node, place in enumerate(program.nodes):
        if place.inside != NONE:
            devices[node] = devices[place.inside]
    return [device or CPU for device in devices]


def _devices_by_node(runs: "Runs", chosen: "Mask", of_line: list[str]) -> dict[int, set[str]]:
    """Return the devices on which the chosen runs of each node ran."""
    if not any(of_line):
        return {}
    row = np.flatnonzero(chosen)
    nodes, lines, _ = distinct_pairs(runs.node[row], runs.line[row], len(of_line))
    found: dict[int, set[str]] = {}
    for node, line in zip(nodes.tolist(), lines.tolist(), strict=True):
        found.setdefault(node, set()).add(of_line[line] or CPU)
    return found


def _device_of_thread(name: str) -> str:
    """Return the device whose ops a host thread launches, an empty text if it is not known."""
    found = _GPU_THREAD.fullmatch(name)
    return f"/device:GPU:{found[1]}" if found else ""


def join_devices(texts: "Iterable[str]") -> str:
    """Join device names, some of which may already be joined."""
    return SEPARATOR.join(sorted({part for text in texts for part in text.split(SEPARATOR)}))


def _short(device: str) -> str:
    """Strip the job and the task of a program that runs on a single machine."""
    return device.removeprefix("/job:localhost/replica:0/task:0")

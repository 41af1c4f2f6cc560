"""Where nodes ran."""

from typing import TYPE_CHECKING

import numpy as np

from nbprof.distinct_values import distinct_pairs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbprof.ingest.trace.node_names import Functions, Resolved
    from nbprof.ingest.trace.op_runs import Runs
    from nbprof.ingest.xspace.xspace import XSpace

CPU = "/device:CPU:0"
APART = "|"
"""Stands between the devices of a node that ran on several."""


def find_devices(
    space: "XSpace", runs: "Runs", resolved: list["Resolved"], functions: "Functions"
) -> list[str]:
    """Give the device of every node: that of its kernels, else the one its graph asks for."""
    asked = [functions.device(place.function, place.origin) for place in resolved]
    devices = [_short(device) or CPU for device in asked]
    on_device = np.flatnonzero(runs.accelerator)
    ran_on: dict[int, set[str]] = {}
    nodes, lines, _ = distinct_pairs(
        runs.node[on_device], runs.line[on_device], len(space.line_plane)
    )
    for node, line in zip(nodes.tolist(), lines.tolist(), strict=True):
        ran_on.setdefault(node, set()).add(space.plane_names[space.line_plane[line]])
    for node, planes in ran_on.items():
        devices[node] = join_devices(planes)
    return devices


def join_devices(texts: "Iterable[str]") -> str:
    """Spell several devices, each of which may be several, as one text."""
    return APART.join(sorted({part for text in texts for part in text.split(APART)}))


def _short(device: str) -> str:
    """Leave the job and the task away where it is this machine's only one."""
    return device.removeprefix("/job:localhost/replica:0/task:0")

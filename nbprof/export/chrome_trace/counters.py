"""Counters: the live memory of each device over time."""

import json
from typing import TYPE_CHECKING

import numpy as np

from nbprof.export.chrome_trace.times import split_micros

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbprof._profile import Profile
    from nbprof.export.chrome_trace.trace_lanes import Layout

COUNTER = '%s,"ts":%d.%s,"args":{"bytes":%d}}'


def counter_lines(profile: "Profile", layout: "Layout") -> "Iterator[str]":
    """Describe the curve of live bytes."""
    if not len(profile.allocations):
        return
    curve = profile.memory()
    ns = np.rint(curve["micros"].to_numpy(float) * 1e3).astype(np.int64) - layout.zero_ns
    heads = {device: _head(device, layout) for device in curve["device"].unique()}
    columns = (
        curve["device"].map(heads),
        *split_micros(ns),
        curve["live_bytes"].to_numpy(np.int64),
    )
    yield from map(COUNTER.__mod__, zip(*(column.tolist() for column in columns), strict=True))


def _head(device: str, layout: "Layout") -> str:
    """Begin the events of a device's counter, which stands with the cell's own threads."""
    pid = layout.lanes[layout.ops.lane.min()].pid if len(layout.ops.lane) else 1
    return f'{{"ph":"C","name":{json.dumps(f"live memory of {device}")},"pid":{pid},"tid":{pid}'

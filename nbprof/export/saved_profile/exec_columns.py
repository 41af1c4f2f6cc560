"""The events of a Profile as what tfprof saves: the execs, one for each node and step."""

from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import Ints, Mask
from nbprof.protos.saved_profile import (
    DeviceTimes,
    ExecAllocations,
    ExecMemory,
    Execs,
    Labels,
    OutputMemory,
    Times,
)
from nbprof.protos.texts import Texts

if TYPE_CHECKING:
    import pandas as pd

    from nbprof._profile import Profile

STREAMS = "/stream:all"
"""What tfprof adds to the name of a device for the time of its kernels."""


def save_execs(profile: "Profile") -> Execs:
    """Put the events of a node in a step together."""
    events = profile.events.sort_values(["node", "step"], kind="stable")
    node, step = (events[name].to_numpy(np.int64) for name in ("node", "step"))
    begins = np.append(True, (node[1:] != node[:-1]) | (step[1:] != step[:-1]))[: len(node)]
    row = np.cumsum(begins) - 1
    first = np.flatnonzero(begins)
    count = len(first)
    start, end = _extent(profile, events)
    earliest = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(earliest, row[start > 0], start[start > 0])
    latest = np.zeros(count, dtype=np.int64)
    np.maximum.at(latest, row[start > 0], end[start > 0])
    names, device = _devices(profile, events)
    return Execs(
        owner=node[first],
        step=step[first],
        run_count=np.bincount(row, weights=events["is_run"].to_numpy(), minlength=count).astype(
            np.int64
        ),
        all_start_micros=np.where(earliest == np.iinfo(np.int64).max, 0, earliest),
        latest_end_micros=latest,
        times=_times(events, row, start, names, device),
        memory=_memory(events, row, end),
        allocations=ExecAllocations(*(np.zeros(0, np.int64) for _ in range(3))),
        devices=_seen(row, names, device),
    )


def _extent(profile: "Profile", events: "pd.DataFrame") -> tuple[Ints, Ints]:
    """Give start and end in whole µs; in tfprof's files a time of 0 is none."""
    start_ns, ns = (events[name].to_numpy(np.int64) for name in ("start_ns", "duration_ns"))
    if profile.recording.tfprof:
        return start_ns // 1000, (start_ns + ns) // 1000
    start = np.maximum(np.rint(start_ns / 1e3), 1).astype(np.int64)
    return start, np.maximum(np.rint((start_ns + ns) / 1e3).astype(np.int64), start)


def _devices(profile: "Profile", events: "pd.DataFrame") -> tuple[list[str], Ints]:
    """Name the device of each event; in a cell it is the node's, and kernels have its streams."""
    if profile.recording.tfprof:
        return profile.threads["device"].tolist(), events["thread"].to_numpy(np.int64)
    own = [device.lower() for device in profile.nodes["device"]]
    streams = [device.removesuffix(STREAMS) + STREAMS for device in own]
    number = {name: place for place, name in enumerate(dict.fromkeys((*own, *streams)))}
    of_node = np.array([[number[name] for name in names] for names in (own, streams)], np.int64)
    accelerator = events["accelerator"].to_numpy().astype(np.int64)
    return list(number), of_node.reshape(2, -1)[accelerator, events["node"].to_numpy()]


def _whole_micros(group: Ints, ns: Ints) -> Ints:
    """Round so that the sum of each group, whose rows are together, is right to half a µs."""
    until = np.append(0, np.cumsum(ns))
    first = np.append(True, group[1:] != group[:-1])[: len(group)]
    before = np.repeat(until[:-1][first], np.diff(np.append(np.flatnonzero(first), len(group))))
    end, begin = (np.rint((moment - before) / 1e3) for moment in (until[1:], until[:-1]))
    return np.asarray(end - begin, dtype=np.int64)


def _times(
    events: "pd.DataFrame", row: Ints, start: Ints, names: list[str], device: Ints
) -> DeviceTimes:
    """List what counts as time, by exec, the cpu's first, and device."""
    accelerator = events["accelerator"].to_numpy()
    ns = events["self_ns"].to_numpy(np.int64)
    counted = np.flatnonzero(accelerator | events["is_run"].to_numpy(bool) | (ns != 0))
    width = max(len(names), 1)
    key = (2 * row + accelerator)[counted] * width + device[counted]
    keys, group = np.unique(key, return_inverse=True)
    order = np.argsort(group, kind="stable")
    taken = counted[order]
    kind = keys // width
    return DeviceTimes(
        owner=kind // 2,
        is_accelerator=kind % 2 == 1,
        device=Texts.of([names[number] for number in (keys % width).tolist()]),
        times=Times(group[order], start[taken], _whole_micros(group[order], ns[taken])),
    )


def _seen(row: Ints, names: list[str], device: Ints) -> Labels:
    """List the devices on which each exec was seen."""
    width = max(len(names), 1)
    pairs = np.unique(row * width + device)
    return Labels(pairs // width, Texts.of([names[number] for number in (pairs % width).tolist()]))


def _memory(events: "pd.DataFrame", row: Ints, end: Ints) -> ExecMemory:
    """Keep what each run asked for and held; what is not known is 0, as in tfprof."""
    held = {
        name: np.nan_to_num(events[name].to_numpy(np.float64)).astype(np.int64)
        for name in ("bytes", "peak_bytes", "residual_bytes", "output_bytes")
    }
    has_any: Mask = np.any([values != 0 for values in held.values()], axis=0)
    chosen = np.flatnonzero(events["is_run"].to_numpy(bool) | has_any)
    nothing = np.zeros(len(chosen), dtype=np.int64)
    none = np.zeros(0, dtype=np.int64)
    return ExecMemory(
        owner=row[chosen],
        memory_micros=end[chosen],
        host_temp_bytes=nothing,
        host_persistent_bytes=nothing,
        accelerator_temp_bytes=nothing,
        accelerator_persistent_bytes=nothing,
        requested_bytes=held["bytes"][chosen],
        peak_bytes=held["peak_bytes"][chosen],
        residual_bytes=held["residual_bytes"][chosen],
        output_bytes=held["output_bytes"][chosen],
        allocator_bytes_in_use=nothing,
        output_memory=OutputMemory(none, none, none, none.astype(np.uint64)),
    )

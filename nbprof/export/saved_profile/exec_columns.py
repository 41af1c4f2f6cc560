"""The events of a Profile as tfprof saves them: execs, one for each node and step."""

from dataclasses import dataclass
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
"""Suffix of a device's name under which tfprof counts the time of its kernels."""

NEVER = np.iinfo(np.int64).max
"""Earliest start of an exec before any event of it is seen."""


@dataclass(frozen=True, eq=False)
class _Events:
    """The events sorted by node and step, and the exec that each belongs to."""

    table: "pd.DataFrame"
    row: Ints
    """Exec of each event."""
    first: Ints
    """First event of each exec."""
    start: Ints
    """Start in whole µs; in tfprof's files, 0 means that it is unknown."""
    end: Ints
    """End in whole µs."""
    device: Ints
    """Device of each event, an index into `devices`."""
    devices: list[str]

    def column(self, name: str) -> Ints:
        """Return a column as integers."""
        return self.table[name].to_numpy(np.int64)


def save_execs(profile: "Profile") -> Execs:
    """Combine the events of each node and step."""
    events = _sorted_events(profile)
    row, count = events.row, len(events.first)
    is_timed = events.start > 0
    earliest = np.full(count, NEVER)
    np.minimum.at(earliest, row[is_timed], events.start[is_timed])
    latest = np.zeros(count, dtype=np.int64)
    np.maximum.at(latest, row[is_timed], events.end[is_timed])
    is_run = events.table["is_run"].to_numpy()
    return Execs(
        owner=events.column("node")[events.first],
        step=events.column("step")[events.first],
        run_count=np.bincount(row, weights=is_run, minlength=count).astype(np.int64),
        all_start_micros=np.where(earliest == NEVER, 0, earliest),
        latest_end_micros=latest,
        times=_times(events),
        memory=_memory(events),
        allocations=ExecAllocations(*(np.zeros(0, np.int64) for _ in range(3))),
        devices=_seen_devices(events),
    )


def _sorted_events(profile: "Profile") -> _Events:
    table = profile.events.sort_values(["node", "step"], kind="stable")
    node, step = (table[name].to_numpy(np.int64) for name in ("node", "step"))
    begins = np.append(True, (node[1:] != node[:-1]) | (step[1:] != step[:-1]))[: len(node)]
    start, end = _extent(profile, table)
    devices, device = _devices(profile, table)
    return _Events(
        table=table,
        row=np.cumsum(begins) - 1,
        first=np.flatnonzero(begins),
        start=start,
        end=end,
        device=device,
        devices=devices,
    )


def _extent(profile: "Profile", events: "pd.DataFrame") -> tuple[Ints, Ints]:
    """Return start and end in whole µs; a cell's start at 1 or later, since 0 means no time."""
    start_ns, ns = (events[name].to_numpy(np.int64) for name in ("start_ns", "duration_ns"))
    if profile.recording.tfprof:
        return start_ns // 1000, (start_ns + ns) // 1000
    start = np.maximum(np.rint(start_ns / 1e3), 1).astype(np.int64)
    return start, np.maximum(np.rint((start_ns + ns) / 1e3).astype(np.int64), start)


def _devices(profile: "Profile", events: "pd.DataFrame") -> tuple[list[str], Ints]:
    """Return all device names and the device of each event.

    In a cell, that is the device of its node; kernels ran on that device's streams.
    """
    if profile.recording.tfprof:
        return profile.threads["device"].tolist(), events["thread"].to_numpy(np.int64)
    own = [device.lower() for device in profile.nodes["device"]]
    streams = [device.removesuffix(STREAMS) + STREAMS for device in own]
    number = {name: place for place, name in enumerate(dict.fromkeys((*own, *streams)))}
    of_node = np.array([[number[name] for name in names] for names in (own, streams)], np.int64)
    accelerator = events["accelerator"].to_numpy().astype(np.int64)
    return list(number), of_node.reshape(2, -1)[accelerator, events["node"].to_numpy()]


def _whole_micros(group: Ints, ns: Ints) -> Ints:
    """Round to µs such that the sum of each group is off by at most half a µs."""
    until = np.append(0, np.cumsum(ns))
    first = np.append(True, group[1:] != group[:-1])[: len(group)]
    before = np.repeat(until[:-1][first], np.diff(np.append(np.flatnonzero(first), len(group))))
    end, begin = (np.rint((moment - before) / 1e3) for moment in (until[1:], until[:-1]))
    return np.asarray(end - begin, dtype=np.int64)


def _times(events: _Events) -> DeviceTimes:
    """Return the times of each exec by device, those of the CPU before the accelerator's."""
    accelerator, ns = events.table["accelerator"].to_numpy(), events.column("self_ns")
    counted = np.flatnonzero(accelerator | events.table["is_run"].to_numpy(bool) | (ns != 0))
    width = max(len(events.devices), 1)
    key = (2 * events.row + accelerator)[counted] * width + events.device[counted]
    keys, group = np.unique(key, return_inverse=True)
    order = np.argsort(group, kind="stable")
    taken = counted[order]
    kind = keys // width
    return DeviceTimes(
        owner=kind // 2,
        is_accelerator=kind % 2 == 1,
        device=Texts.of([events.devices[number] for number in (keys % width).tolist()]),
        times=Times(group[order], events.start[taken], _whole_micros(group[order], ns[taken])),
    )


def _seen_devices(events: _Events) -> Labels:
    """Return the devices on which each exec was seen."""
    width = max(len(events.devices), 1)
    pairs = np.unique(events.row * width + events.device)
    names = [events.devices[number] for number in (pairs % width).tolist()]
    return Labels(pairs // width, Texts.of(names))


def _memory(events: _Events) -> ExecMemory:
    """Return the memory of each run; unknown is 0, as in tfprof."""
    held = {
        name: np.nan_to_num(events.table[name].to_numpy(np.float64)).astype(np.int64)
        for name in ("bytes", "peak_bytes", "residual_bytes", "output_bytes")
    }
    has_any: Mask = np.any([values != 0 for values in held.values()], axis=0)
    chosen = np.flatnonzero(events.table["is_run"].to_numpy(bool) | has_any)
    zeros = np.zeros(len(chosen), dtype=np.int64)
    empty = np.zeros(0, dtype=np.int64)
    return ExecMemory(
        owner=events.row[chosen],
        memory_micros=events.end[chosen],
        host_temp_bytes=zeros,
        host_persistent_bytes=zeros,
        accelerator_temp_bytes=zeros,
        accelerator_persistent_bytes=zeros,
        requested_bytes=held["bytes"][chosen],
        peak_bytes=held["peak_bytes"][chosen],
        residual_bytes=held["residual_bytes"][chosen],
        output_bytes=held["output_bytes"][chosen],
        allocator_bytes_in_use=zeros,
        output_memory=OutputMemory(empty, empty, empty, empty.astype(np.uint64)),
    )

"""Lanes: which process and thread of the trace each step and op run is drawn on, and when."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import Ints, Rows
from nbprof.export.chrome_trace.stacking import side_by_side, stack

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy.typing as npt

    from nbprof._profile import Profile

STEPS = "steps"
CELL = "the cell's thread"
OVERLAPPING = "overlapping"


@dataclass(frozen=True)
class Lane:
    """One lane; `tid` is unique in the whole trace, as Perfetto names threads by it alone."""

    pid: int
    tid: int
    name: str

    @property
    def fields(self) -> str:
        """The lane as an event names it."""
        return f'"pid":{self.pid},"tid":{self.tid}'


@dataclass(frozen=True, eq=False)
class Slices:
    """Slices, in ns since the trace's zero; `lane` is a row of the layout's lanes."""

    start: Ints
    end: Ints
    lane: Rows

    @property
    def duration(self) -> Ints:
        """How long each slice is."""
        return self.end - self.start

    @property
    def inside(self) -> Ints:
        """A moment at which the slice is open, in whichever order a viewer reads equal times."""
        return self.start + (self.duration > 1)


@dataclass(frozen=True, eq=False)
class Layout:
    """All lanes, in the order in which they are to be shown, and what is drawn on them."""

    processes: tuple[str, ...]
    """Their names; the first one has pid 1."""
    lanes: tuple[Lane, ...]
    steps: Slices
    ops: Slices
    zero_ns: int
    """The trace's zero, since the cell's start: 0, or negative where something began before."""

    def metadata(self) -> "Iterator[str]":
        """Name the processes and lanes and give their order."""
        for pid, name in enumerate(self.processes, 1):
            yield from _named("process", f'"pid":{pid},"tid":{pid}', name, pid)
        for number, lane in enumerate(self.lanes, 1):
            yield from _named("thread", lane.fields, lane.name, number)


def lay_out(profile: "Profile") -> Layout:
    """Make the lanes: those of the steps first, then the threads of each device."""
    step_start, step_end = _step_times(profile)
    events = profile.events
    start = events["start_ns"].to_numpy(np.int64)
    end = start + events["duration_ns"].to_numpy(np.int64)
    allocated = profile.allocations["start_ns"].to_numpy(np.int64)
    zero = min(int(times.min(initial=0)) for times in (step_start, start, allocated))

    # Steps at the same time were made by two threads: neither is inside the other.
    step_lane = side_by_side(step_start, step_end)
    thread = events["thread"].to_numpy(np.intp)
    storey, end = stack(thread, start, end)
    storeys = np.zeros(len(profile.threads), dtype=np.intp)
    np.maximum.at(storeys, thread, storey + 1)
    step_lanes = int(step_lane.max(initial=-1)) + 1
    order = _order(profile)
    processes, lanes = _number(
        (*([(STEPS, STEPS)] * step_lanes), *_wanted(profile, order, storeys))
    )
    first = np.zeros(len(storeys), dtype=np.intp)
    first[order] = step_lanes + np.cumsum(storeys[order]) - storeys[order]
    return Layout(
        processes,
        lanes,
        Slices(step_start - zero, step_end - zero, step_lane),
        Slices(start - zero, end - zero, first[thread] + storey),
        zero,
    )


def _step_times(profile: "Profile") -> tuple[Ints, Ints]:
    start, micros = (profile.steps[name].to_numpy(float) for name in ("start_micros", "micros"))
    return np.rint(start * 1e3).astype(np.int64), np.rint((start + micros) * 1e3).astype(np.int64)


def _order(profile: "Profile") -> Rows:
    """Order the threads by device; the cell's device and its thread come first."""
    devices = _processes(profile)
    own = is_cell(profile)
    of_cell = {devices[thread] for thread in np.flatnonzero(own)}
    places = {device: (device not in of_cell, devices.index(device)) for device in devices}
    rows = range(len(devices))
    order = sorted(rows, key=lambda row: (places[devices[row]], not own[row]))
    return np.array(order, dtype=np.intp)


def _processes(profile: "Profile") -> list[str]:
    """Name the process of each thread: its device, and of many hosts the host, too."""
    threads = profile.threads
    devices: list[str] = threads["device"].tolist()
    if len(profile.machines) < 2:
        return devices
    return [f"{host} {device}" for host, device in zip(threads["host"], devices, strict=True)]


def is_cell(profile: "Profile") -> "npt.NDArray[np.bool_]":
    """Tell which thread ran the cell; a profile that is not of a cell does not say."""
    threads = profile.threads
    if "is_cell" in threads:
        return threads["is_cell"].to_numpy(bool)
    return np.zeros(len(threads), dtype=bool)


def _wanted(profile: "Profile", order: Rows, storeys: Rows) -> "Iterator[tuple[str, str]]":
    """Name device and lane, for each lane of each thread."""
    names, devices = profile.threads["name"].tolist(), _processes(profile)
    own = is_cell(profile)
    for thread in order.tolist():
        name = f"{names[thread]} ({CELL})" if own[thread] else names[thread]
        for storey in range(storeys[thread]):
            yield devices[thread], f"{name} ({OVERLAPPING})" if storey else name


def _number(wanted: "Iterable[tuple[str, str]]") -> tuple[tuple[str, ...], tuple[Lane, ...]]:
    """Number processes and lanes.

    The first lane of a process has its pid as tid: that makes it the main thread, which Perfetto
    shows first whatever the sort indices say.
    """
    wanted = tuple(wanted)
    pids: dict[str, int] = {}
    for process, _ in wanted:
        pids.setdefault(process, len(pids) + 1)
    fresh = iter(range(len(pids) + 1, len(pids) + len(wanted) + 1))
    begun: set[str] = set()
    lanes = []
    for process, name in wanted:
        tid = next(fresh) if process in begun else pids[process]
        begun.add(process)
        lanes.append(Lane(pids[process], tid, name))
    return tuple(pids), tuple(lanes)


def _named(kind: str, place: str, name: str, sort_index: int) -> "Iterator[str]":
    yield f'{{"ph":"M","name":"{kind}_name",{place},"args":{{"name":{json.dumps(name)}}}}}'
    yield f'{{"ph":"M","name":"{kind}_sort_index",{place},"args":{{"sort_index":{sort_index}}}}}'

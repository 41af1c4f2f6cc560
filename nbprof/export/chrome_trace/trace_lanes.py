"""Where a trace draws each step and op run: its process, its lane and its times."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import Ints, Rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbprof._profile import Profile
    from nbprof.arrays import Mask

STEPS = "steps"
SPANS = "spans"
CELL = "the cell's thread"
OVERLAPPING = "overlapping"


@dataclass(frozen=True)
class Lane:
    """One lane; `tid` is unique in the trace because Perfetto names threads by it alone."""

    pid: int
    tid: int
    name: str

    @property
    def fields(self) -> str:
        """The lane as the fields of an event."""
        return f'"pid":{self.pid},"tid":{self.tid}'


@dataclass(frozen=True, eq=False)
class Slices:
    """Slices, in ns; `lane` indexes the layout's lanes."""

    start: Ints
    end: Ints
    lane: Rows

    @property
    def duration(self) -> Ints:
        """Length of each slice in ns."""
        return self.end - self.start

    @property
    def inside(self) -> Ints:
        """A moment when the slice is open, whatever order a viewer reads equal times in."""
        return self.start + (self.duration > 1)


@dataclass(frozen=True, eq=False)
class Layout:
    """All lanes in display order, and the slices drawn on them."""

    processes: tuple[str, ...]
    """Names of the processes; the first has pid 1."""
    lanes: tuple[Lane, ...]
    steps: Slices
    """In ns since the trace's zero, like the others."""
    spans: Slices
    ops: Slices
    zero_ns: int
    """Zero of the trace in ns since the cell's start; negative if anything began earlier."""

    def metadata(self) -> "Iterator[str]":
        """Yield the events that name and order processes and lanes."""
        for pid, name in enumerate(self.processes, 1):
            yield from _named("process", f'"pid":{pid},"tid":{pid}', name, pid)
        for number, lane in enumerate(self.lanes, 1):
            yield from _named("thread", lane.fields, lane.name, number)


def lay_out(profile: "Profile") -> Layout:
    """Lay out the lanes: the steps first, then the spans, then the threads of each device."""
    steps = _step_slices(profile)
    step_lanes = int(steps.lane.max(initial=-1)) + 1
    spans, span_titles = _span_slices(profile, step_lanes)
    order = _order(profile)
    ops, lane_counts = _op_slices(profile, order, step_lanes + len(span_titles))
    thread_titles = _thread_titles(profile, order, lane_counts)
    titles = (*([(STEPS, STEPS)] * step_lanes), *span_titles, *thread_titles)
    processes, lanes = _number(titles)
    allocated = profile.allocations["start_ns"].to_numpy(np.int64)
    zero = min(int(times.min(initial=0)) for times in (steps.start, ops.start, allocated))
    return Layout(
        processes=processes,
        lanes=lanes,
        steps=Slices(steps.start - zero, steps.end - zero, steps.lane),
        spans=Slices(spans.start - zero, spans.end - zero, spans.lane),
        ops=Slices(ops.start - zero, ops.end - zero, ops.lane),
        zero_ns=zero,
    )


def _step_slices(profile: "Profile") -> Slices:
    start, micros = (profile.steps[name].to_numpy(float) for name in ("start_micros", "micros"))
    micros = np.nan_to_num(micros)  # the end of a step need not have been seen
    begin, end = (np.rint(times * 1e3).astype(np.int64) for times in (start, start + micros))
    # Steps that overlap come from two threads, and neither is inside the other.
    return Slices(begin, end, side_by_side(begin, end))


def _span_slices(profile: "Profile", first_lane: int) -> tuple[Slices, list[tuple[str, str]]]:
    """Return the user's spans, and process and name of each of their lanes, by thread."""
    spans = profile.spans
    threads, first, thread = np.unique(
        spans["thread"].to_numpy(np.int64), return_index=True, return_inverse=True
    )
    start = spans["start_ns"].to_numpy(np.int64)
    sublane, end = stack(thread, start, start + spans["duration_ns"].to_numpy(np.int64))
    counts = np.zeros(len(threads), dtype=np.intp)
    np.maximum.at(counts, thread, sublane + 1)
    names = spans["thread_name"].to_numpy()[first].tolist()
    titles = [
        (SPANS, f"{name} ({OVERLAPPING})" if number else name)
        for name, count in zip(names, counts.tolist(), strict=True)
        for number in range(count)
    ]
    before = first_lane + np.cumsum(counts) - counts
    return Slices(start, end, before[thread] + sublane), titles


def _op_slices(profile: "Profile", order: Rows, first_lane: int) -> tuple[Slices, Rows]:
    """Return the op runs, and how many lanes each thread needs from `first_lane` on."""
    events = profile.events
    thread = events["thread"].to_numpy(np.intp)
    start = events["start_ns"].to_numpy(np.int64)
    sublane, end = stack(thread, start, start + events["duration_ns"].to_numpy(np.int64))
    counts = np.zeros(len(profile.threads), dtype=np.intp)
    np.maximum.at(counts, thread, sublane + 1)
    first = np.zeros(len(counts), dtype=np.intp)
    first[order] = first_lane + np.cumsum(counts[order]) - counts[order]
    return Slices(start, end, first[thread] + sublane), counts


def _order(profile: "Profile") -> Rows:
    """Return the threads ordered by device, the cell's device and its thread first."""
    devices = _processes(profile)
    own = is_cell(profile)
    of_cell = {devices[thread] for thread in np.flatnonzero(own)}
    places = {device: (device not in of_cell, devices.index(device)) for device in devices}
    rows = range(len(devices))
    order = sorted(rows, key=lambda row: (places[devices[row]], not own[row]))
    return np.array(order, dtype=np.intp)


def _processes(profile: "Profile") -> list[str]:
    """Return the process name of each thread: its device, after its host if there are several."""
    threads = profile.threads
    devices: list[str] = threads["device"].tolist()
    if len(profile.machines) < 2:
        return devices
    return [f"{host} {device}" for host, device in zip(threads["host"], devices, strict=True)]


def is_cell(profile: "Profile") -> "Mask":
    """Return which thread ran the cell; none for a profile that is not of a cell."""
    threads = profile.threads
    if "is_cell" in threads:
        return threads["is_cell"].to_numpy(bool)
    return np.zeros(len(threads), dtype=bool)


def _thread_titles(profile: "Profile", order: Rows, counts: Rows) -> "Iterator[tuple[str, str]]":
    """Yield process and lane name for each lane of each thread."""
    names, processes = profile.threads["name"].tolist(), _processes(profile)
    own = is_cell(profile)
    for thread in order.tolist():
        name = f"{names[thread]} ({CELL})" if own[thread] else names[thread]
        for sublane in range(counts[thread]):
            yield processes[thread], f"{name} ({OVERLAPPING})" if sublane else name


def _number(
    titles: "Sequence[tuple[str, str]]",
) -> tuple[tuple[str, ...], tuple[Lane, ...]]:
    """Number processes and lanes, given the process and name of each lane.

    The first lane of a process has its pid as tid: that makes it the main thread, which Perfetto
    shows first whatever the sort indices say.
    """
    pids: dict[str, int] = {}
    for process, _ in titles:
        pids.setdefault(process, len(pids) + 1)
    fresh = iter(range(len(pids) + 1, len(pids) + len(titles) + 1))
    begun: set[str] = set()
    lanes = []
    for process, name in titles:
        tid = next(fresh) if process in begun else pids[process]
        begun.add(process)
        lanes.append(Lane(pids[process], tid, name))
    return tuple(pids), tuple(lanes)


def _named(kind: str, place: str, name: str, sort_index: int) -> "Iterator[str]":
    yield f'{{"ph":"M","name":"{kind}_name",{place},"args":{{"name":{json.dumps(name)}}}}}'
    yield f'{{"ph":"M","name":"{kind}_sort_index",{place},"args":{{"sort_index":{sort_index}}}}}'


ROUNDING_NS = 1
"""Longest time by which rounding alone lets an inner op outlast the outer one."""


def side_by_side(start: Ints, end: Ints) -> Rows:
    """Return a lane for each slice such that no two slices of a lane overlap."""
    lane = np.zeros(len(start), dtype=np.intp)
    free_from: list[int] = []
    order = np.argsort(start, kind="stable")
    rows = zip(order.tolist(), start[order].tolist(), end[order].tolist(), strict=True)
    for row, begins, ends in rows:
        free = (number for number, moment in enumerate(free_from) if moment <= begins)
        number = next(free, len(free_from))
        free_from[number : number + 1] = [ends]
        lane[row] = number
    return lane


def stack(thread: Rows, start: Ints, end: Ints) -> tuple[Rows, Ints]:
    """Return for each slice a lane of its thread, such that the slices of a lane nest, and its end.

    An end moves only if rounding alone put it after the outer slice's.
    """
    lane, fitted = np.zeros(len(start), dtype=np.intp), end.copy()
    order = np.lexsort((-end, start, thread))
    columns = (order, thread[order], start[order], end[order])
    current = -1
    lanes: list[list[int]] = []
    for row, on_thread, begins, ends in zip(*(column.tolist() for column in columns), strict=True):
        if on_thread != current:
            current, lanes = on_thread, [[]]
        number = _find_lane(lanes, begins, ends)
        open_ends = lanes[number]
        if open_ends and ends > open_ends[-1]:
            ends = fitted[row] = open_ends[-1]
        if number:
            lane[row] = number
        open_ends.append(ends)
    return lane, fitted


def _find_lane(lanes: list[list[int]], begins: int, ends: int) -> int:
    """Return the first lane in which the slice fits; each lane is the ends of its open slices."""
    for number, open_ends in enumerate(lanes):
        while open_ends and open_ends[-1] <= begins:
            open_ends.pop()
        if not open_ends or ends <= open_ends[-1] + ROUNDING_NS:
            return number
    lanes.append([])
    return len(lanes) - 1

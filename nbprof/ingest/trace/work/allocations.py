"""Allocations: which run asked for memory, how much, and how long it was held.

An allocation and the release of its address are two events, often on different threads; they are
paired by address in order of time. A release without an allocation in the trace is left out: the
memory was allocated before the trace began.
"""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from nbprof.arrays import NONE, Floats, Ints, Mask, Rows
from nbprof.ingest.trace.work.event_kinds import Kind
from nbprof.ingest.trace.work.host_events import NEVER, memory_events
from nbprof.ingest.xspace.stat_columns import StatsOf

if TYPE_CHECKING:
    from nbprof.ingest.trace.work.host_events import HostEvents
    from nbprof.ingest.trace.work.op_runs import Runs


CPU_ALLOCATOR = b"cpu"
ONEDNN_ALLOCATOR = b"mklcpu"
"""oneDNN's allocator, which hands out the CPU's memory too."""

UNNAMED_ALLOCATOR = "unnamed allocator"
PINNED = "pinned host memory"
_CPU_ALLOCATOR = re.compile(r"(mkl)?cpu")
_GPU_ALLOCATOR = re.compile(r"(?i:(?:gpu|cuda|rocm)_(?:async_)?)(\d+)(_bfc)?")
_HOST_ALLOCATOR = re.compile(r"(?i:.*(gpu|cuda|rocm)_host(_bfc)?)")

MEMORY_METRICS = ("bytes", "peak_bytes", "residual_bytes")
"""Columns of `memory_of_runs`: bytes requested, most bytes held at once, bytes left behind."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Allocations:
    """One entry per allocation in order of time; times in ps, texts as rows of `strings`."""

    run: Rows
    """The run that asked for it, NONE if unknown."""
    start: Ints
    end: Ints
    size: Ints
    """In bytes."""
    allocator: Rows
    region: Rows
    shape: Rows
    dtype: Ints
    """TensorFlow's number for the element type."""
    only_large: bool = False
    """Whether small allocations were not recorded."""


def find_allocations(
    host: "HostEvents", runs: "Runs", window_ends: Ints, *, only_large: bool = False
) -> Allocations:
    """Pair allocations with their releases and with the runs that made them.

    `window_ends` is when each window of the trace ended, in ps: an address that is handed out again
    in a later window was released between the two.
    """
    space = host.space
    row = memory_events(space)
    row = row[np.argsort(space.start_ps[row], kind="stable")]
    is_allocation = space.kind[row] == Kind.ALLOCATION
    stats = StatsOf(space, row)
    allocator = stats.text("allocator_name")
    time, address = space.start_ps[row], stats.number("addr")
    end = _ends(time, address, allocator)
    if len(window_ends) > 1:
        again = _ends(np.where(is_allocation, time, NEVER), address, allocator) == end
        end = _until_window_ends(time, end, window_ends, again & (end != NEVER))
    end = end[is_allocation]
    row = row[is_allocation]
    start = space.start_ps[row]
    stats = StatsOf(space, row)
    return Allocations(
        run=runs_at(host, runs, space.line[row], start),
        start=start,
        end=end,
        size=stats.number("requested_bytes", 0).astype(np.int64),
        allocator=allocator[is_allocation],
        region=stats.text("region_type"),
        shape=stats.text("shape"),
        dtype=stats.number("data_type", 0),
        only_large=only_large,
    )


def _ends(time: Ints, address: Ints, allocator: Rows) -> Ints:
    """Return when each event's address is next released or handed out again, or NEVER."""
    order = np.lexsort((address, allocator))  # stable: by time
    same = (address[order][1:] == address[order][:-1]) & (
        allocator[order][1:] == allocator[order][:-1]
    )
    following = np.full(len(time), NEVER)
    following[:-1][same] = time[order][1:][same]
    end = np.empty(len(time), dtype=np.int64)
    end[order] = following
    return end


def _until_window_ends(time: Ints, end: Ints, window_ends: Ints, unseen: Mask) -> Ints:
    """Where the release was not seen, end with the window unless it lasts that long."""
    window = np.minimum(np.searchsorted(window_ends, time), len(window_ends) - 1)
    last = window_ends[window]
    return np.where(unseen & (end > last), last, end)


def runs_at(host: "HostEvents", runs: "Runs", line: npt.NDArray[np.int32], time: Ints) -> Rows:
    """Return the run that was at work at each moment on a line, or NONE."""
    run_of_event = np.full(len(host.row) + 1, NONE, dtype=np.intp)  # the last entry is for NONE
    on_host = runs.event != NONE
    run_of_event[runs.event[on_host]] = np.flatnonzero(on_host)
    is_run = run_of_event != NONE
    event = host.around(line, time)
    inner = np.flatnonzero(~is_run[event] & (event != NONE))
    event[inner] = host.inside(is_run[:-1], event[inner])
    return run_of_event[event]


def memory_of_runs(
    allocations: Allocations | None, runs: "Runs", unseen: Mask
) -> dict[str, Floats]:
    """Return the MEMORY_METRICS of each run in bytes, NaN where they were not recorded."""
    if allocations is None:
        return dict.fromkeys(MEMORY_METRICS, np.full(len(runs.node), np.nan))
    sums = _sums(allocations, runs)
    columns = (np.where(unseen, np.nan, column.astype(np.float64)) for column in sums)
    return dict(zip(MEMORY_METRICS, columns, strict=True))


def may_have_small(allocations: Allocations | None, runs: "Runs", on_cpu: Mask) -> Mask:
    """Mask of runs that may have allocated something, although nothing was recorded of them.

    That is so on the CPU if only large allocations are recorded. `on_cpu` marks the nodes that ran
    there.
    """
    if allocations is None or not allocations.only_large:
        return np.zeros(len(runs.node), dtype=bool)
    unseen = on_cpu[runs.node]
    unseen[allocations.run[allocations.run != NONE]] = False
    return unseen


def _sums(allocations: Allocations, runs: "Runs") -> tuple[Ints, Ints, Ints]:
    """Return the bytes that each run requested, held at most, and left behind."""
    known = allocations.run != NONE
    run, start = allocations.run[known], allocations.start[known]
    size, end = allocations.size[known], allocations.end[known]
    count = len(runs.node)
    left = end >= (runs.start + runs.duration)[run]
    peaks = _peaks(
        np.concatenate((run, run[~left])),
        np.concatenate((start, end[~left])),
        np.concatenate((size, -size[~left])),
        count,
    )
    return _sum(run, size, count), peaks, _sum(run[left], size[left], count)


def _sum(run: Rows, size: Ints, count: int) -> Ints:
    total = np.zeros(count, dtype=np.int64)
    np.add.at(total, run, size)
    return total


def _peaks(run: Rows, time: Ints, change: Ints, count: int) -> Ints:
    """Return the largest running sum of each run's changes."""
    peaks = np.zeros(count, dtype=np.int64)
    if not len(run):
        return peaks
    order = np.lexsort((time, run))
    run, held = run[order], np.cumsum(change[order])
    first = np.flatnonzero(np.append(True, run[1:] != run[:-1]))
    before = np.append(0, held[first[1:] - 1])
    peaks[run[first]] = np.maximum.reduceat(held, first) - before
    return peaks


def device_of_allocator(name: str) -> str:
    """Name the memory that an allocator hands out: `cpu`, `GPU:0`, or what it calls itself."""
    if _CPU_ALLOCATOR.fullmatch(name):
        return "cpu"
    if _HOST_ALLOCATOR.fullmatch(name):
        return PINNED
    found = _GPU_ALLOCATOR.fullmatch(name)
    return f"GPU:{found[1]}" if found else name or UNNAMED_ALLOCATOR

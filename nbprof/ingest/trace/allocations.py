"""Allocations: who asked for memory, how much, from when to when.

An allocation and the release of its address are two events, often on different threads; they are
paired by address in the order of time. What was allocated before the trace began shows only as a
release of an unknown address and is left out.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from nbprof.arrays import NONE, Ints, Rows
from nbprof.ingest.trace.event_kinds import Kind
from nbprof.ingest.trace.host_events import NEVER, memory_events
from nbprof.ingest.xspace.stat_columns import StatsOf

if TYPE_CHECKING:
    from nbprof.ingest.trace.host_events import HostEvents
    from nbprof.ingest.trace.op_runs import Runs


CPU_ALLOCATOR, ONEDNN_ALLOCATOR = b"cpu", b"mklcpu"
"""Both are of the CPU's memory."""


@dataclass(frozen=True, eq=False)
class Allocations:
    """One entry per allocation, in order of time; times in ps, texts as rows of `strings`."""

    run: Rows
    """Which run asked for it, NONE where none is known."""
    start: Ints
    end: Ints
    size: Ints
    allocator: Rows
    region: Rows
    shape: Rows
    dtype: Ints
    """TensorFlow's number of the element type."""
    only_large: bool = False
    """Whether small ones were not recorded."""


def find_allocations(host: "HostEvents", runs: "Runs", only_large: bool = False) -> Allocations:
    """Pair allocations with releases and with the runs that made them."""
    space = host.space
    row = memory_events(space)
    row = row[np.argsort(space.start_ps[row], kind="stable")]
    made = space.kind[row] == Kind.ALLOCATION
    stats = StatsOf(space, row)
    allocator = stats.text("allocator_name")
    end = _ends(made, space.start_ps[row], stats.number("addr"), allocator)[made]
    row = row[made]
    start = space.start_ps[row]
    stats = StatsOf(space, row)
    return Allocations(
        run=_runs_at(host, runs, space.line[row], start),
        start=start,
        end=end,
        size=stats.number("requested_bytes", 0).astype(np.int64),
        allocator=allocator[made],
        region=stats.text("region_type"),
        shape=stats.text("shape"),
        dtype=stats.number("data_type", 0),
        only_large=only_large,
    )


def _ends(is_allocation: npt.NDArray[np.bool_], time: Ints, address: Ints, allocator: Rows) -> Ints:
    """Find when each allocation's address is next released, or handed out again."""
    order = np.lexsort((address, allocator))  # stable: by time
    same = (address[order][1:] == address[order][:-1]) & (
        allocator[order][1:] == allocator[order][:-1]
    )
    following = np.full(len(time), NEVER)
    following[:-1][same] = time[order][1:][same]
    end = np.empty(len(time), dtype=np.int64)
    end[order] = following
    return np.where(is_allocation, end, NEVER)


def _runs_at(host: "HostEvents", runs: "Runs", line: npt.NDArray[np.int32], time: Ints) -> Rows:
    """Find the run that was at work at each moment of a line."""
    run_of_event = np.full(len(host.row) + 1, NONE, dtype=np.intp)  # the last entry is NONE's own
    on_host = runs.event != NONE
    run_of_event[runs.event[on_host]] = np.flatnonzero(on_host)
    is_run = run_of_event != NONE
    event = host.around(line, time)
    inner = np.flatnonzero(~is_run[event] & (event != NONE))
    event[inner] = host.inside(is_run[:-1], event[inner])
    return run_of_event[event]


MEMORY = ("bytes", "peak_bytes", "residual_bytes")
"""The columns of `events` that `per_run` fills."""


def per_run(allocations: Allocations, runs: "Runs") -> dict[str, Ints]:
    """Add up what each run requested, the most it held at once, and what it left behind."""
    known = allocations.run != NONE
    run, start = allocations.run[known], allocations.start[known]
    size, end = allocations.size[known], allocations.end[known]
    count = len(runs.node)
    left = end >= (runs.start + runs.duration)[run]
    return {
        "bytes": _sum(run, size, count),
        "peak_bytes": _peaks(
            np.concatenate((run, run[~left])),
            np.concatenate((start, end[~left])),
            np.concatenate((size, -size[~left])),
            count,
        ),
        "residual_bytes": _sum(run[left], size[left], count),
    }


def _sum(run: Rows, size: Ints, count: int) -> Ints:
    total = np.zeros(count, dtype=np.int64)
    np.add.at(total, run, size)
    return total


def _peaks(run: Rows, time: Ints, change: Ints, count: int) -> Ints:
    """Find the largest running sum of each run's changes."""
    peaks = np.zeros(count, dtype=np.int64)
    if not len(run):
        return peaks
    order = np.lexsort((time, run))
    run, held = run[order], np.cumsum(change[order])
    first = np.flatnonzero(np.append(True, run[1:] != run[:-1]))
    before = np.append(0, held[first[1:] - 1])
    peaks[run[first]] = np.maximum.reduceat(held, first) - before
    return peaks

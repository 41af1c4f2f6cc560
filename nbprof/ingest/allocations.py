"""Allocations: who asked for memory, how much, from when to when.

An allocation and the release of its address are two events, often on different threads; they are
paired by address in the order of time. What was allocated before the trace began shows only as a
release of an unknown address and is left out.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from nbprof.ingest.kinds import Kind
from nbprof.ingest.nesting import NONE, Rows

if TYPE_CHECKING:
    from nbprof.ingest.host import HostEvents
    from nbprof.ingest.runs import Runs

Ints = npt.NDArray[np.int64]

NEVER = np.iinfo(np.int64).max
"""The end of an allocation that was not given back in the trace."""


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


def find_allocations(host: "HostEvents", runs: "Runs") -> Allocations:
    """Pair allocations with releases and with the runs that made them."""
    event = np.flatnonzero(host.of(Kind.ALLOCATION, Kind.DEALLOCATION))
    event = event[np.argsort(host.start[event], kind="stable")]
    allocator = host.text("allocator_name")[event]
    end = _ends(
        host.kind[event] == Kind.ALLOCATION,
        host.start[event],
        host.number("addr")[event],
        allocator,
    )
    made = host.kind[event] == Kind.ALLOCATION
    event, allocator, end = event[made], allocator[made], end[made]
    return Allocations(
        run=_runs_of(host, runs, event),
        start=host.start[event],
        end=end,
        size=host.number("requested_bytes", 0)[event],
        allocator=allocator,
        region=host.text("region_type")[event],
        shape=host.text("shape")[event],
        dtype=host.number("data_type", 0)[event],
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


def _runs_of(host: "HostEvents", runs: "Runs", event: Rows) -> Rows:
    """Find the run inside which each allocation was made."""
    run_of_event = np.full(len(host.row) + 1, NONE, dtype=np.intp)  # the last entry is NONE's own
    on_host = runs.event != NONE
    run_of_event[runs.event[on_host]] = np.flatnonzero(on_host)
    is_run = run_of_event[:-1] != NONE
    return run_of_event[host.inside(is_run)[event]]


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

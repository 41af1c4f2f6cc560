"""When graphs wait for input: a batch was asked for on another thread, and nothing else runs."""

from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import Ints, Mask
from nbprof.ingest.trace.attribution.layers import PIPELINE
from nbprof.ingest.trace.work.covered_time import CoveredTime
from nbprof.ingest.trace.work.event_kinds import Kind

if TYPE_CHECKING:
    from nbprof.ingest.trace.attribution.layers import Placed
    from nbprof.ingest.trace.stages import RecordedTrace
    from nbprof.ingest.trace.work.op_runs import Runs

REQUESTS = (b"IteratorGetNextOp::DoCompute", b"IteratorGetNextAsOptionalOp::DoCompute")
"""Events that last from when a graph asks for a batch until it has it."""


class InputWaits:
    """The time in which a graph waits for a batch, in ns since the cell's start."""

    def __init__(self, trace: "RecordedTrace", runs: "Runs", placed: "Placed") -> None:
        host = trace.host
        asked = _requests(trace)
        works = _works(runs, placed)
        start = np.append(host.start[asked], runs.start[works]) // 1000 + trace.origin_ns
        duration = np.append(host.duration[asked], runs.duration[works]) // 1000
        requests = np.arange(len(start)) < np.count_nonzero(asked)
        self._either = CoveredTime(start, start + duration)
        self._working = CoveredTime(start[~requests], (start + duration)[~requests])

    def within(self, start: Ints, end: Ints) -> Ints:
        """Return how long a graph waited for input in each stretch of time."""
        return self._either.within(start, end) - self._working.within(start, end)


def _requests(trace: "RecordedTrace") -> Mask:
    """Mark the requests for batches on threads other than the cell's."""
    host = trace.host
    space = host.space
    names = [row for row, text in enumerate(space.strings) if text in REQUESTS]
    waits = np.flatnonzero(host.of(Kind.WAIT) & (host.line != trace.cell_line))
    asked = np.zeros(len(host.row), dtype=bool)
    asked[waits[np.isin(space.name[host.row[waits]], names)]] = True
    return asked


def _works(runs: "Runs", placed: "Placed") -> Mask:
    """Mark the runs that compute: not those of the input pipeline, nor those that only wait."""
    is_pipeline = np.array([name == PIPELINE for name, _, _ in placed.rows], dtype=bool)
    works: Mask = ~is_pipeline[placed.row] & (2 * runs.own >= runs.duration) & (runs.duration > 0)
    return works

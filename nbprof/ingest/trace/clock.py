"""Find out when a trace began, on the clock that Python reads."""

from typing import TYPE_CHECKING

import numpy as np

from nbprof.ingest.trace.work.event_kinds import Kind

if TYPE_CHECKING:
    from nbprof.capture.capture import Capture
    from nbprof.ingest.trace.work.host_events import HostEvents
    from nbprof.ingest.xspace.xspace import XSpace

LATEST_NS = 2**62
"""Latest plausible start of a trace in ns since 1970, in the year 2116."""

NO_CLOCK = (
    "this trace does not say when it began: its first event counts as the start of the cell, and "
    "ops cannot be matched with the lines that called them"
)
"""Note on a trace without a clock and without marks, of a cell whose calls were watched."""


def stated_start_ns(space: "XSpace") -> int:
    """Return when the trace began, as `time.time_ns` reports it; 0 if the trace does not say."""
    starts = (stats.get("profile_start_time") for stats in space.plane_stats)
    return next((start for start in starts if isinstance(start, int) and start < LATEST_NS), 0)


def cell_start_ns(host: "HostEvents", capture: "Capture") -> tuple[int, tuple[str, ...]]:
    """Return when the trace of a cell began, and a note if not knowing that loses something.

    Traces made before TensorFlow 2.17 do not state it, but the clock was read around the marks.
    """
    stated = stated_start_ns(host.space) or _start_by_marks(host, capture.marks)
    if stated or not len(host.start):
        return stated, ()
    notes = (NO_CLOCK,) if len(capture.dispatches.start_ns) else ()
    return capture.start_ns - int(host.start.min()) // 1000, notes


def _start_by_marks(host: "HostEvents", marks: tuple[tuple[int, int], ...]) -> int:
    """Return the start that puts every mark between the readings around it; 0 without marks."""
    event = np.flatnonzero(host.of(Kind.CELL))
    if not len(event) or len(event) != len(marks):
        return 0
    before, after = np.array(marks, dtype=np.int64).T
    earliest = (before - host.start[event] // 1000).max()
    latest = (after - host.end[event] // 1000).min()
    return int(earliest + latest) // 2

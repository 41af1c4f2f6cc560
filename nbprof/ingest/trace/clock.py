"""Find out when a trace began, on the clock that Python reads."""

from typing import TYPE_CHECKING, Any

import numpy as np

from nbprof.ingest.trace.work.event_kinds import Kind

if TYPE_CHECKING:
    from nbprof.arrays import Rows
    from nbprof.capture.capture import TraceWindow
    from nbprof.ingest.xspace.xspace import XSpace

LATEST_NS = 2**62
"""Latest plausible start of a trace in ns since 1970, in the year 2116."""

NO_CLOCK = (
    "this trace does not say when it began: its first event counts as the start of the cell, and "
    "ops cannot be matched with the lines that called them"
)
"""Note on a trace without a clock and without marks, of a cell whose calls were watched."""


def stated_start_ns(plane_stats: list[dict[str, Any]]) -> int:
    """Return when the trace began, as `time.time_ns` reports it; 0 if its planes do not say."""
    starts = (stats.get("profile_start_time") for stats in plane_stats)
    return next((start for start in starts if isinstance(start, int) and start < LATEST_NS), 0)


def start_of_window(
    space: "XSpace", planes: list[int], event: "Rows", window: "TraceWindow"
) -> tuple[int, tuple[str, ...]]:
    """Return when a window's trace began, and a note if that is not known but needed.

    `planes` and `event` are those of the window. Traces made before TensorFlow 2.17 do not state
    when they began, but the clock was read around the marks.
    """
    stated = stated_start_ns([space.plane_stats[plane] for plane in planes])
    stated = stated or _start_by_marks(space, event, window.marks)
    if stated or not len(event):
        return stated, ()
    first_ns = int(space.start_ps[event].min()) // 1000
    return window.began_ns + window.paused_ns - first_ns, (NO_CLOCK,)


def _start_by_marks(space: "XSpace", event: "Rows", marks: tuple[tuple[int, int], ...]) -> int:
    """Return the start that puts every mark between the readings around it; 0 without marks."""
    event = event[np.isin(space.kind[event], (Kind.CELL, Kind.MARK))]
    if not len(event) or len(event) != len(marks):
        return 0
    event = event[np.argsort(space.start_ps[event], kind="stable")]
    before, after = np.array(marks, dtype=np.int64).T
    start, duration = space.start_ps[event], space.duration_ps[event]
    earliest = (before - start // 1000).max()
    latest = (after - (start + duration) // 1000).min()
    return int(earliest + latest) // 2

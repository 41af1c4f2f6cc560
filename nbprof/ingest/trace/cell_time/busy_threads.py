"""Explain op time that is longer than the time in which the ops ran."""

from typing import TYPE_CHECKING

import numpy as np

from nbprof.columns import op_times
from nbprof.note import Note
from nbprof.units import format_seconds

if TYPE_CHECKING:
    from nbprof.capture.capture import Capture
    from nbprof.ingest.trace.work.op_runs import Runs

BUSY = 0.1
"""Smallest share of the busiest thread's op time that makes a thread one of those that ran ops."""

AT_ONCE = (
    "op time ({spent}) exceeds the {traced} {that}: {threads} threads ran ops at once, and the "
    "time of each counts"
)
"""Note on op time above the wall time."""


def notes_on_threads(capture: "Capture", runs: "Runs") -> tuple[str, ...]:
    """Return a note if the ops of the host took longer together than the time they ran in."""
    own_ns = np.where(runs.accelerator, 0, runs.own) // 1000
    of_thread = np.bincount(runs.line, weights=own_ns)
    traced_ns, spent_ns = capture.traced_ns, int(of_thread.sum())
    threads = int(np.count_nonzero(of_thread >= BUSY * of_thread.max(initial=0)))
    if spent_ns <= traced_ns or threads < 2:
        return ()
    that = "of wall time" if traced_ns >= 0.99 * capture.wall_ns else "that were traced"
    note = AT_ONCE.format(
        spent=format_seconds(spent_ns),
        traced=format_seconds(traced_ns),
        that=that,
        threads=threads,
    )
    return (Note(note, tuple(sorted(op_times()))),)

"""All steps of a cell: those in its trace, and those that only the clock of steps has seen."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import NONE, Ints, Mask, Rows
from nbprof.capture.capture import NO_END

if TYPE_CHECKING:
    from nbprof.capture.capture import StepLog
    from nbprof.ingest.trace.stages import RecordedTrace
    from nbprof.ingest.trace.work.steps import Steps

SLACK_NS = 50_000
"""How far the clocks of trace and Python may differ, in ns."""


def add_clocked(trace: "RecordedTrace", steps: "Steps") -> "Steps":
    """Add the steps that are not in the trace; those that are keep their times."""
    log = trace.capture.steps
    if not len(log.start_ns):
        return steps
    clock = _rows_of_log(trace, steps)
    rest = np.setdiff1d(np.arange(len(log.start_ns)), clock)
    start, end = (_in_trace(trace, column[rest]) for column in (log.start_ns, log.end_ns))
    start, end = (np.concatenate(pair) for pair in ((steps.start, start), (steps.end, end)))
    order = np.argsort(start, kind="stable")
    number = np.full(len(order) + 1, NONE, dtype=np.int32)  # the last entry is for NONE
    number[order] = np.arange(len(order))
    return replace(
        steps,
        event=np.append(steps.event, np.full(len(rest), NONE))[order],
        start=start[order],
        end=np.maximum(start, end)[order],
        step_of_event=number[steps.step_of_event],
        clock=np.append(clock, rest)[order],
    )


def _in_trace(trace: "RecordedTrace", time_ns: Ints) -> Ints:
    return (time_ns - trace.began_ns) * 1000


def _rows_of_log(trace: "RecordedTrace", steps: "Steps") -> Rows:
    """Return the row of the log that each step of the trace is in, or NONE."""
    log, started_ns = trace.capture.steps, steps.start // 1000 + trace.began_ns
    on_cell = trace.host.line[steps.event] == trace.cell_line
    by_cell = log.thread == trace.capture.thread
    row = np.full(len(steps.event), NONE)
    for here, there in ((on_cell, by_cell), (~on_cell, ~by_cell)):
        row[here] = _latest_around(started_ns[here], np.flatnonzero(there), log)
    first = np.zeros(len(row), dtype=bool)
    first[np.unique(row, return_index=True)[1]] = True
    return np.where(first, row, NONE)


def _latest_around(time_ns: Ints, rows: Rows, log: "StepLog") -> Rows:
    """Return the row of the log that is under way at each moment, the latest if several are."""
    if not len(rows):
        return np.full(len(time_ns), NONE)
    place = np.searchsorted(log.start_ns[rows], time_ns + SLACK_NS, side="right") - 1
    found = rows[place]
    lasts: Mask = (log.end_ns[found] == NO_END) | (log.end_ns[found] + SLACK_NS >= time_ns)
    return np.where(lasts & (place >= 0), found, NONE)

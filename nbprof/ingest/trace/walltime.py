"""Find where the wall time of a cell went, on the thread that ran it.

Every moment of that thread belongs to the innermost open event that has a category; moments that no
event covers are Python. The categories exclude each other and add up to the wall time.
"""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from nbprof.arrays import NONE, Ints, Rows
from nbprof.ingest.trace.work.event_kinds import Kind
from nbprof.ingest.trace.work.nesting import Nesting

if TYPE_CHECKING:
    from nbprof.ingest.trace.stages import RecordedTrace
    from nbprof.ingest.trace.work.host_events import HostEvents
    from nbprof.ingest.trace.work.op_runs import Runs

PYTHON, TRACING, DISPATCH, OPS, GRAPH, INPUT, COMPILING = range(7)
CATEGORIES = (
    "Python",
    "tf.function tracing",
    "dispatch",
    "ops",
    "waiting for graph execution",
    "waiting for input",
    "compiling",
)
NOT_TRACED = "not traced"

CATEGORY_OF = {
    Kind.BUILDING: TRACING,
    Kind.EAGER: DISPATCH,
    Kind.HANDOVER: DISPATCH,
    Kind.CALL: DISPATCH,
    Kind.KERNEL: GRAPH,
    Kind.FUNCTION_RUN: GRAPH,
    Kind.SESSION_RUN: GRAPH,
    Kind.WAIT: INPUT,
    Kind.COMPILED: DISPATCH,
    Kind.COMPILING: COMPILING,
    Kind.AWAITING: GRAPH,
}


def spent(trace: "RecordedTrace", runs: "Runs") -> pd.DataFrame:
    """Return the time spent in each category in ns, without categories that took none."""
    wall_ns, traced_ns = trace.capture.wall_ns, trace.capture.traced_ns
    total = _time_by_category(trace, runs)
    total[PYTHON] += traced_ns - total.sum()
    times = [*zip(CATEGORIES, total.tolist(), strict=True), (NOT_TRACED, wall_ns - traced_ns)]
    spent = {category: ns for category, ns in times if ns > 0}
    ns = np.array(list(spent.values()), dtype=np.int64)
    return pd.DataFrame({"category": pd.Series(list(spent), dtype="str"), "ns": ns})


def _time_by_category(trace: "RecordedTrace", runs: "Runs") -> Ints:
    """Add up the events on the cell's thread, in ns per category."""
    host, traced_ns = trace.host, trace.capture.traced_ns
    rows = np.flatnonzero((host.line == trace.cell_line) & (host.duration > 0))
    start = np.clip(host.start[rows] // 1000 + trace.origin_ns, 0, traced_ns)
    end = np.clip(start + host.duration[rows] // 1000, 0, traced_ns)
    nesting = Nesting(host.line[rows], start, end)
    category = _categories(host, runs, rows)
    known = category != NONE
    innermost = np.where(known, np.arange(len(rows)), nesting.nearest(known))
    category = np.append(category, PYTHON)[innermost]
    own = _own_time(nesting.parent, start, end)
    return np.bincount(category, weights=own, minlength=len(CATEGORIES)).astype(np.int64)


def line_of_cell(host: "HostEvents") -> int:
    """Return the line of the thread that ran the cell, NONE if the trace does not mark it."""
    marked = np.flatnonzero(host.kind == Kind.CELL)
    return int(host.line[marked[0]]) if len(marked) else NONE


def _categories(host: "HostEvents", runs: "Runs", rows: Rows) -> Rows:
    """Return the category of each of these events, NONE if it has none."""
    of_kind = np.full(max(Kind) + 1, NONE)
    of_kind[list(CATEGORY_OF)] = list(CATEGORY_OF.values())
    is_run = np.zeros(len(host.row) + 1, dtype=bool)  # the last entry is for NONE
    is_run[runs.event] = True
    return np.where(is_run[rows], OPS, of_kind[host.kind[rows]])


def _own_time(parent: Rows, start: Ints, end: Ints) -> Ints:
    """Return the part of each event's time that no event inside it covers."""
    own: Ints = end - start
    child = np.flatnonzero(parent != NONE)
    above = parent[child]
    np.subtract.at(own, above, np.minimum(end[child], end[above]) - start[child])
    return own.clip(min=0)

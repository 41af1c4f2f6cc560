"""Where the wall time of a cell went, on the thread that ran it.

Every moment of that thread belongs to the innermost event open then that says what was being done;
what no event covers is Python. The categories exclude each other and add up to the wall time.
"""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from nbprof.arrays import NONE, Rows
from nbprof.ingest.trace.event_kinds import Kind
from nbprof.ingest.trace.nesting import Nesting

if TYPE_CHECKING:
    from nbprof.capture.capture import Capture
    from nbprof.ingest.trace.host_events import HostEvents
    from nbprof.ingest.trace.op_runs import Runs

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

OF_KIND = {
    Kind.BUILDING: TRACING,
    Kind.EAGER: DISPATCH,
    Kind.HANDING: DISPATCH,
    Kind.CALL: DISPATCH,
    Kind.KERNEL: GRAPH,
    Kind.FUNCTION_RUN: GRAPH,
    Kind.SESSION_RUN: GRAPH,
    Kind.WAIT: INPUT,
    Kind.COMPILED: COMPILING,
    Kind.COMPILING: COMPILING,
    Kind.AWAITING: GRAPH,
}


def spent(
    host: "HostEvents", runs: "Runs", capture: "Capture", line: int, origin_ns: int
) -> pd.DataFrame:
    """Add up the categories in ns; none where the cell's thread is not in the trace."""
    wall_ns, traced_ns = capture.wall_ns, capture.traced_ns
    rows = np.flatnonzero((host.line == line) & (host.duration > 0))
    start = np.clip(host.start[rows] // 1000 + origin_ns, 0, traced_ns)
    end = np.clip(start + host.duration[rows] // 1000, 0, traced_ns)
    nesting = Nesting(host.line[rows], start, end)
    category = _categories(host, runs, rows)
    known = category != NONE
    innermost = np.where(known, np.arange(len(rows)), nesting.nearest(known))
    category = np.append(category, PYTHON)[innermost]

    own = _own(nesting.parent, start, end)
    total = np.bincount(category, weights=own, minlength=len(CATEGORIES)).astype(np.int64)
    total[PYTHON] += traced_ns - total.sum()
    times = [*zip(CATEGORIES, total.tolist(), strict=True), (NOT_TRACED, wall_ns - traced_ns)]
    spent = {category: ns for category, ns in times if ns > 0}
    ns = np.array(list(spent.values()), dtype=np.int64)
    return pd.DataFrame({"category": pd.Series(list(spent), dtype="str"), "ns": ns})


def line_of_cell(host: "HostEvents") -> int:
    """Find the line of the thread that ran the cell, NONE where the trace does not say."""
    marked = np.flatnonzero(host.kind == Kind.CELL)
    return int(host.line[marked[0]]) if len(marked) else NONE


def _categories(host: "HostEvents", runs: "Runs", rows: Rows) -> npt.NDArray[np.intp]:
    """Give the category that each of these events says, NONE where it says none."""
    of_kind = np.full(max(Kind) + 1, NONE)
    of_kind[list(OF_KIND)] = list(OF_KIND.values())
    is_run = np.zeros(len(host.row) + 1, dtype=bool)  # the last entry is NONE's own
    is_run[runs.event] = True
    return np.where(is_run[rows], OPS, of_kind[host.kind[rows]])


def _own(
    parent: Rows, start: npt.NDArray[np.int64], end: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Give the time of each event that no event inside it covers."""
    own: npt.NDArray[np.int64] = end - start
    child = np.flatnonzero(parent != NONE)
    above = parent[child]
    np.subtract.at(own, above, np.minimum(end[child], end[above]) - start[child])
    return own.clip(min=0)

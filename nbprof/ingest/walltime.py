"""Where the wall time of a cell went, on the thread that ran it.

Every moment of that thread belongs to the innermost event open then that says what was being done;
what no event covers is Python. The categories exclude each other and add up to the wall time.
"""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from nbprof.capture.capture import CALLING_THREAD
from nbprof.ingest import nesting
from nbprof.ingest.kinds import Kind
from nbprof.ingest.nesting import NONE

if TYPE_CHECKING:
    from nbprof.capture.capture import Capture
    from nbprof.ingest.host import HostEvents
    from nbprof.ingest.runs import Runs
    from nbprof.ingest.xspace import XSpace

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
    Kind.CALL: DISPATCH,
    Kind.KERNEL: GRAPH,
    Kind.FUNCTION_RUN: GRAPH,
    Kind.SESSION_RUN: GRAPH,
    Kind.WAIT: INPUT,
    Kind.COMPILED: COMPILING,
}
OF_PREFIX = (
    ((b"TFE_", b"tf.constant", b"convert_to_tensor", b"PjitFunction"), DISPATCH),
    ((b"lower_sharding_computation", b"backend_compile", b"PjRtCpuClient::Compile"), COMPILING),
    ((b"CommonPjRtBuffer::Await", b"PjRtBuffer::Await", b"BlockUntilReady"), GRAPH),
)
"""Names that say the category by how they begin; the last ones are JAX'."""


def spent(
    host: "HostEvents", runs: "Runs", capture: "Capture", line: int, origin_ns: int
) -> pd.DataFrame:
    """Add up the categories in ns; none where the cell's thread is not in the trace."""
    space, wall_ns, traced_ns = host.space, capture.wall_ns, capture.traced_ns
    rows = np.flatnonzero((space.line == line) & (space.duration_ps > 0))
    order = nesting.sort_order(space.line[rows], space.start_ps[rows], space.duration_ps[rows])
    rows = rows[order]
    start = np.clip(space.start_ps[rows] // 1000 + origin_ns, 0, traced_ns)
    end = np.clip(start + space.duration_ps[rows] // 1000, 0, traced_ns)
    parent = nesting.parents(space.line[rows], start, end)
    category = _categories(host, runs, rows)
    known = category != NONE
    innermost = np.where(known, np.arange(len(rows)), nesting.nearest(parent, known))
    category = np.append(category, PYTHON)[innermost]

    own = _own(parent, start, end)
    total = np.bincount(category, weights=own, minlength=len(CATEGORIES)).astype(np.int64)
    total[PYTHON] += traced_ns - total.sum()
    table = pd.DataFrame({"category": [*CATEGORIES, NOT_TRACED], "ns": [*total, 0]})
    table.loc[len(CATEGORIES), "ns"] = wall_ns - traced_ns
    return table[table["ns"] > 0].reset_index(drop=True)


def line_of_cell(space: "XSpace") -> int:
    """Find the line of the thread that ran the cell, NONE where the trace does not say."""
    mark = CALLING_THREAD.encode()
    if mark not in space.strings:
        return NONE
    marked = np.flatnonzero(space.name == space.strings.index(mark))
    return int(space.line[marked[0]]) if len(marked) else NONE


def _categories(host: "HostEvents", runs: "Runs", rows: nesting.Rows) -> npt.NDArray[np.intp]:
    """Give the category that each event says, NONE where it says none."""
    space = host.space
    of_row = np.full(len(space.line), NONE, dtype=np.intp)
    for prefixes, category in OF_PREFIX:
        told = [number for number, text in enumerate(space.strings) if text.startswith(prefixes)]
        of_row[np.isin(space.name, told)] = category
    for kind, category in OF_KIND.items():
        of_row[host.row[host.of(kind)]] = category
    of_row[host.row[runs.event[runs.event != NONE]]] = OPS
    return of_row[rows]


def _own(
    parent: nesting.Rows, start: npt.NDArray[np.int64], end: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Give the time of each event that no event inside it covers."""
    own: npt.NDArray[np.int64] = end - start
    child = np.flatnonzero(parent != NONE)
    above = parent[child]
    np.subtract.at(own, above, np.minimum(end[child], end[above]) - start[child])
    return own.clip(min=0)

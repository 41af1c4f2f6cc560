"""The timeline of a view as tfprof writes it: a Chrome trace of the shown rows.

The graph view's timeline has the real times of its nodes; any other tree becomes a flame graph of
totals.
"""

import json
from typing import TYPE_CHECKING, BinaryIO

from nbprof.export.tfprof_timeline.graph_timeline import graph_events
from nbprof.export.tfprof_timeline.trace_events import Event, process, region, whole_if_possible

if TYPE_CHECKING:
    from nbprof.views.view import View


def write(view: "View", file: BinaryIO) -> None:
    """Write the timeline of a view of one step, or of all."""
    events = graph_events(view) if view.name == "graph" else _flame_events(view)
    trace = json.dumps({"traceEvents": events}, separators=(",", ":"), sort_keys=True)
    file.write(trace.encode("ascii") + b"\n")


def _flame_events(view: "View") -> list[Event]:
    """Draw each row as long as its total, below its parent; each level is a process.

    Rows that took no time are left out with everything below them.
    """
    assert view.origin is not None
    frame = view.frame
    events: list[Event] = []
    levels: set[int] = set()
    next_start = {-1: 0.0}  # where the next child of a drawn row begins
    columns = (frame["name"], frame["parent"], frame["depth"], view.origin.total_micros)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for row, (name, parent, depth, total) in enumerate(rows):
        if parent not in next_start or (row and not total > 0):
            continue
        if depth not in levels:
            levels.add(depth)
            events.append(process(f"Scope:{depth}", depth))
        start = next_start[parent]
        duration = total if total > 0 or view.exact else 0.0
        times = (whole_if_possible(start), whole_if_possible(duration))
        events.append(region(name, (depth, 0), times, op=name))
        next_start[parent] = start + duration
        next_start[row] = start
    return events

"""The flame graph of a tree: each row as long as its total, its children side by side below it."""

from typing import TYPE_CHECKING

from nbprof.export.tfprof_timeline.trace_events import Event, micros, process, region

if TYPE_CHECKING:
    from nbprof.views.view import View


def flame_events(view: "View") -> list[Event]:
    """Draw the rows, a process for each level; rows that took no time go with all below them."""
    assert view.origin is not None
    frame = view.frame
    events: list[Event] = []
    levels: set[int] = set()
    next_start = {-1: 0.0}
    """Where the next child of a drawn row begins."""
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
        events.append(region(name, depth, 0, micros(start), micros(duration), op=name))
        next_start[parent] = start + duration
        next_start[row] = start
    return events

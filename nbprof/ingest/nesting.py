"""Which event runs inside which: nesting of time intervals on threads, without a Python loop.

Events must be sorted by line, then start, then longest first (`sort_order`). The executor's events
can overlap their successor a little, so an event is taken to be inside the last-started event that
is still open when it starts, even if it ends later.
"""

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.intp]
Ints = npt.NDArray[np.int64]

NONE = -1


def sort_order(line: npt.NDArray[np.int32], start: Ints, duration: Ints) -> Rows:
    """Give the order the other functions expect; TensorFlow writes events in it, mostly."""
    later = (line[1:] > line[:-1]) | ((line[1:] == line[:-1]) & (start[1:] > start[:-1]))
    equal = (line[1:] == line[:-1]) & (start[1:] == start[:-1]) & (duration[1:] <= duration[:-1])
    if (later | equal).all():
        return np.arange(len(line))
    return np.lexsort((-duration, start, line))


def parents(line: npt.NDArray[np.int32], start: Ints, end: Ints) -> Rows:
    """Find, for each event, the event it runs directly inside, or NONE.

    Every event first points at its predecessor; a pointer to an event that has ended moves on to
    where that event points. All events between a pointer and its target have ended too, so nothing
    is skipped, and the jumps double: n log n in all.
    """
    parent = np.arange(-1, len(line) - 1)
    unsettled = np.arange(len(line))
    while len(unsettled):
        above = parent[unsettled]
        unsettled = unsettled[above >= 0]
        above = parent[unsettled]
        elsewhere = line[above] != line[unsettled]
        parent[unsettled[elsewhere]] = NONE
        ended = ~elsewhere & (end[above] <= start[unsettled])
        unsettled = unsettled[ended]
        parent[unsettled] = parent[parent[unsettled]]
    return parent


def nearest(parent: Rows, marked: npt.NDArray[np.bool_]) -> Rows:
    """Find, for each event, its innermost ancestor that is marked, or NONE.

    From an ancestor that is not marked an event moves on to where that one has got by now: the
    jumps double, and events thousands deep cost no more than a few rounds. Only events that have
    others inside climb, for most have none.
    """
    if not marked.any():
        return np.full(len(parent), NONE)
    holds = np.zeros(len(parent) + 1, dtype=bool)
    holds[parent] = True
    climbing = np.flatnonzero(holds[:-1])
    found = np.append(parent, NONE)
    climbing = climbing[found[climbing] >= 0]
    climbing = climbing[~marked[found[climbing]]]
    while len(climbing):
        found[climbing] = found[found[climbing]]
        climbing = climbing[found[climbing] >= 0]
        climbing = climbing[~marked[found[climbing]]]
    return np.where(np.append(marked, True)[parent], parent, found[parent])

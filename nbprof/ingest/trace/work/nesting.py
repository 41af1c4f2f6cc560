"""Which event runs inside which: nesting of time intervals on threads, without a Python loop.

Events must be sorted by line, then start, then longest first (`sort_order`). The executor's events
can overlap their successor a little, so an event counts as inside the last-started event that is
still open when it starts, even if it ends later.

Few events hold others. Each holder also holds the event right after it, so comparing neighbours
finds them all, and every climb from event to event needs to visit holders only.
"""

from functools import cached_property

import numpy as np
import numpy.typing as npt

from nbprof.arrays import NONE, Ints, Mask, Rows

Lines = npt.NDArray[np.int32]

EARLIEST = np.iinfo(np.int64).min


def sort_order(line: Lines, start: Ints, duration: Ints) -> Rows:
    """Return the order that Nesting expects, in which TensorFlow mostly writes events anyway."""
    later = (line[1:] > line[:-1]) | ((line[1:] == line[:-1]) & (start[1:] > start[:-1]))
    equal = (line[1:] == line[:-1]) & (start[1:] == start[:-1]) & (duration[1:] <= duration[:-1])
    if (later | equal).all():
        return np.arange(len(line))
    return np.lexsort((-duration, start, line))


class Nesting:
    """Finds what events run inside.

    Holders are numbered in the order of events. Tables of holders end with an entry for NONE,
    which is -1 and so indexes the last one.
    """

    def __init__(self, line: Lines, start: Ints, end: Ints) -> None:
        opens = (line[1:] == line[:-1]) & (end[:-1] > start[1:])
        self._end = end
        self._holder = np.append(np.flatnonzero(opens), NONE)
        self._holder_line = np.append(line[self._holder[:-1]], NONE)
        self._holder_end = np.append(end[self._holder[:-1]], EARLIEST)
        # An event is inside the last holder before it, unless that holder has ended.
        inside = np.zeros(len(line), dtype=np.intp)
        np.cumsum(opens, out=inside[1:])
        inside -= 1
        elsewhere = self._holder_line[inside] != line
        elsewhere |= self._holder_end[inside] <= start
        lost = np.flatnonzero(elsewhere)
        inside[lost] = self._last_open(inside[lost], line[lost], start[lost])
        self._inside = inside

    @cached_property
    def parent(self) -> Rows:
        """The event each one runs directly inside, or NONE."""
        return self._holder[self._inside]

    def nearest(self, marked: Mask, event: Rows | None = None) -> Rows:
        """Return the innermost marked ancestor of all events, or of some, or NONE."""
        return self.below(self.nearest_of_holders(marked), event)

    def below(self, of_holders: Rows, event: Rows | None = None) -> Rows:
        """Look up, for all events or for some, the entry of the holder they are directly inside."""
        found: Rows = of_holders[self._inside if event is None else self._inside[event]]
        return found

    def nearest_of_holders(self, marked: Mask) -> Rows:
        """Return the nearest marked event for each holder, from itself upwards, or NONE.

        In every round an unmarked holder jumps to wherever the one above it has got to. Jumps
        double each time, so thousands of levels take only a few rounds.
        """
        ends = np.append(marked[self._holder[:-1]], True)
        above = np.append(self._inside[self._holder[:-1]], NONE)
        reached = np.where(ends, np.arange(len(ends)), above)
        climbing = np.flatnonzero(~ends[reached])
        while len(climbing):
            reached[climbing] = reached[reached[climbing]]
            climbing = climbing[~ends[reached[climbing]]]
        return self._holder[reached]

    def open_at(self, event: Rows, line: Lines, time: Ints) -> Rows:
        """Return the innermost event open at each time; `event` is the last that began by then."""
        found = event.copy()
        closed = np.flatnonzero(self._end[event] <= time)
        place = np.searchsorted(self._holder[:-1], event[closed], side="right") - 1
        found[closed] = self._holder[self._last_open(place, line[closed], time[closed])]
        return found

    def _last_open(self, place: Rows, line: Lines, time: Ints) -> Rows:
        """Return the last holder up to each place that is open at the time on its line, or NONE."""
        found = _last_later(self._holder_end, place, time)
        return np.where(self._holder_line[found] == line, found, NONE)


def _last_later(end: Ints, place: Rows, time: Ints) -> Rows:
    """Return the last index at or below each place where `end` is later than the time, or NONE.

    Searches to the left in blocks that double in size until one has such an entry, then halves
    that block: a few rounds suffice even among thousands of events that have ended.
    """
    latest = [end]
    while len(latest[-1]) > 1:
        if len(latest[-1]) % 2:
            latest[-1] = np.append(latest[-1], EARLIEST)
        latest.append(np.maximum(latest[-1][::2], latest[-1][1::2]))
    found = np.full(len(place), NONE)
    height = np.zeros(len(place), dtype=np.int8)
    looking = np.flatnonzero(place >= 0)
    block = place[looking]
    for level, of_block in enumerate(latest):
        has = of_block[block] > time[looking]
        found[looking[has]], height[looking[has]] = block[has], level
        block = (block - 1) >> 1
        further = np.flatnonzero(~has & (block >= 0))
        looking, block = looking[further], block[further]
    for level in range(len(latest) - 1, 0, -1):
        inner = np.flatnonzero(height >= level)
        right = 2 * found[inner] + 1
        found[inner] = right - (latest[level - 1][right] <= time[inner])
    return found

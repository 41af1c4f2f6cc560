"""Which event runs inside which: nesting of time intervals on threads, without a Python loop.

Events must be sorted by line, then start, then longest first (`sort_order`). The executor's events
can overlap their successor a little, so an event is taken to be inside the last-started event that
is still open when it starts, even if it ends later.

Few events hold others, and each of these holds the one that follows it: they are found by comparing
neighbours. Whatever climbs from event to event then does so among the holders only.
"""

from functools import cached_property

import numpy as np
import numpy.typing as npt

from nbprof.arrays import NONE, Ints, Mask, Rows

Lines = npt.NDArray[np.int32]

EARLIEST = np.iinfo(np.int64).min


def sort_order(line: Lines, start: Ints, duration: Ints) -> Rows:
    """Give the order the other functions expect; TensorFlow writes events in it, mostly."""
    later = (line[1:] > line[:-1]) | ((line[1:] == line[:-1]) & (start[1:] > start[:-1]))
    equal = (line[1:] == line[:-1]) & (start[1:] == start[:-1]) & (duration[1:] <= duration[:-1])
    if (later | equal).all():
        return np.arange(len(line))
    return np.lexsort((-duration, start, line))


class Nesting:
    """Tells of events what they run inside.

    Holders are numbered in the order of events; NONE, which is -1, finds the last entry of a table
    of holders, and that is its own.
    """

    def __init__(self, line: Lines, start: Ints, end: Ints) -> None:
        opens = (line[1:] == line[:-1]) & (end[:-1] > start[1:])
        self._end = end
        self._holder = np.append(np.flatnonzero(opens), NONE)
        self._holder_line = np.append(line[self._holder[:-1]], NONE)
        self._holder_end = np.append(end[self._holder[:-1]], EARLIEST)
        # An event is inside the last holder before it, unless that one has ended.
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
        """Find, for each event or for some, the innermost ancestor that is marked, or NONE."""
        return self.below(self.nearest_of_holders(marked), event)

    def below(self, of_holders: Rows, event: Rows | None = None) -> Rows:
        """Give each event, or some, what is so of the holder that it is directly inside."""
        found: Rows = of_holders[self._inside if event is None else self._inside[event]]
        return found

    def nearest_of_holders(self, marked: Mask) -> Rows:
        """Find, for each holder, which is the nearest marked event from itself upwards, or NONE.

        From a holder that is not marked the way goes to where that one has got by now: the jumps
        double, and events thousands deep cost no more than a few rounds.
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
        """Find the innermost event open at moments of lines, before which `event` began as last."""
        found = event.copy()
        closed = np.flatnonzero(self._end[event] <= time)
        place = np.searchsorted(self._holder[:-1], event[closed], side="right") - 1
        found[closed] = self._holder[self._last_open(place, line[closed], time[closed])]
        return found

    def _last_open(self, place: Rows, line: Lines, time: Ints) -> Rows:
        """Find the last holder up to each place that is open then, on its line, or NONE."""
        found = _last_later(self._holder_end, place, time)
        return np.where(self._holder_line[found] == line, found, NONE)


def _last_later(end: Ints, place: Rows, time: Ints) -> Rows:
    """Find the last entry of `end`, from each place down, that is later than a time, or NONE.

    Looks left in blocks of twice the size each time until one has such an entry, then into the
    halves of that block: so a search takes a few rounds even among thousands that have ended.
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

"""The events of a trace that show what ran on the host, sorted so that nesting can be found."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from nbprof.arrays import NONE, Ints, Mask, Rows
from nbprof.ingest.trace.work.event_kinds import KIND_BY_STAT, Kind
from nbprof.ingest.trace.work.nesting import Nesting, sort_order
from nbprof.ingest.xspace.stat_columns import StatsOf

if TYPE_CHECKING:
    from nbprof.ingest.xspace.xspace import XSpace


NEVER = np.iinfo(np.int64).max
"""End time in ps of anything that does not end within the trace."""


@dataclass(frozen=True, eq=False)
class HostEvents:
    """Events on the host's threads in the order that Nesting needs; times in ps."""

    space: "XSpace"
    row: Rows
    """The event's row in the XSpace."""
    kind: npt.NDArray[np.int8]
    line: npt.NDArray[np.int32]
    start: Ints
    duration: Ints
    _marked: dict[tuple[Kind, ...], Mask] = field(default_factory=dict, repr=False)
    _inside: dict[tuple[Kind, ...], Rows] = field(default_factory=dict, repr=False)

    @cached_property
    def end(self) -> Ints:
        """When each event ends."""
        return self.start + self.duration

    @cached_property
    def nesting(self) -> Nesting:
        """Which events run inside which."""
        return Nesting(self.line, self.start, self.end)

    def of(self, *kinds: Kind) -> Mask:
        """Mark the events of these kinds."""
        if kinds not in self._marked:
            marked = self.kind == kinds[0]
            for kind in kinds[1:]:
                marked |= self.kind == kind
            marked.flags.writeable = False
            self._marked[kinds] = marked
        return self._marked[kinds]

    def inside(self, marked: Mask, event: Rows | None = None) -> Rows:
        """Return the innermost marked ancestor of all events, or of some; NONE if there is none."""
        return self.nesting.nearest(marked, event)

    def inside_of(self, *kinds: Kind, event: Rows | None = None) -> Rows:
        """Return the innermost ancestor of these kinds, for all events or for some, or NONE."""
        if kinds not in self._inside:
            self._inside[kinds] = self.nesting.nearest_of_holders(self.of(*kinds))
        return self.nesting.below(self._inside[kinds], event)

    @cached_property
    def _stats(self) -> StatsOf:
        return StatsOf(self.space, self.row)

    def number(self, stat: str, default: int = NONE) -> Ints:
        """Return a numeric stat of each event, `default` where it has none."""
        return self._stats.number(stat, default)

    def text(self, stat: str) -> Rows:
        """Return a text stat of each event as a row of `space.strings`, 0 where it has none."""
        return self._stats.text(stat)

    def around(self, line: npt.NDArray[np.int32], time: Ints) -> Rows:
        """Return the innermost event open at each moment on its line, or NONE."""
        found = np.full(len(line), NONE)
        for number in np.unique(line).tolist():
            here = np.flatnonzero(line == number)
            first, end = np.searchsorted(self.line, (number, number + 1))
            last = np.searchsorted(self.start[first:end], time[here], side="right") - 1
            found[here] = np.where(last >= 0, first + last, NONE)
        begun = np.flatnonzero(found != NONE)
        found[begun] = self.nesting.open_at(found[begun], line[begun], time[begun])
        return found


def memory_events(space: "XSpace") -> Rows:
    """Return the rows of allocations and releases, which are moments: nothing runs inside them."""
    return np.flatnonzero((space.kind == Kind.ALLOCATION) | (space.kind == Kind.DEALLOCATION))


def read_host(space: "XSpace") -> HostEvents:
    """Sort the host's events; `WANTED` has already dropped those that do not matter."""
    kind = space.kind.copy()
    for stat, stated in KIND_BY_STAT.items():
        event = space.stat(stat.decode()).event
        kind[event[kind[event] != Kind.DEVICE]] = stated
    kind[memory_events(space)] = Kind.OTHER
    row = np.flatnonzero((kind != Kind.OTHER) & (kind != Kind.DEVICE))
    start = space.start_ps[row]
    return sorted_events(
        space, row=row, kind=kind[row], start=start, end=start + space.duration_ps[row]
    )


def sorted_events(
    space: "XSpace", *, row: Rows, kind: npt.NDArray[np.int8], start: Ints, end: Ints
) -> HostEvents:
    """Sort events so that their nesting can be found; of equal ones, the first holds the others."""
    line, duration = space.line[row], end - start
    order = sort_order(line, start, duration)
    return HostEvents(space, row[order], kind[order], line[order], start[order], duration[order])

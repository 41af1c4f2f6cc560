"""The events of a trace that say what ran, in order, each knowing which one it ran inside."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from nbprof.ingest import nesting
from nbprof.ingest.kinds import TOLD, Kind
from nbprof.ingest.nesting import NONE, Rows

if TYPE_CHECKING:
    from nbprof.ingest.xspace import XSpace

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

NEVER = np.iinfo(np.int64).max
"""The end of what does not end in the trace."""


@dataclass(frozen=True, eq=False)
class HostEvents:
    """What ran on the host's threads, sorted for nesting; times in ps."""

    space: "XSpace"
    row: Rows
    """The event's row in the XSpace."""
    kind: npt.NDArray[np.int8]
    line: npt.NDArray[np.int32]
    start: Ints
    duration: Ints
    _marked: dict[tuple[Kind, ...], Mask] = field(default_factory=dict, repr=False)
    _inside: dict[tuple[Kind, ...], Rows] = field(default_factory=dict, repr=False)
    _columns: dict[tuple[str, int, bool], Ints] = field(default_factory=dict, repr=False)

    @cached_property
    def end(self) -> Ints:
        """When each event ended."""
        return self.start + self.duration

    @cached_property
    def parent(self) -> Rows:
        """The event each one ran directly inside, or NONE."""
        return nesting.parents(self.line, self.start, self.end)

    def of(self, *kinds: Kind) -> Mask:
        """Mark the events of these kinds."""
        if kinds not in self._marked:
            marked = self.kind == kinds[0]
            for kind in kinds[1:]:
                marked |= self.kind == kind
            marked.flags.writeable = False
            self._marked[kinds] = marked
        return self._marked[kinds]

    def inside(self, marked: Mask) -> Rows:
        """Find each event's innermost marked ancestor, or NONE."""
        return nesting.nearest(self.parent, marked)

    def inside_of(self, *kinds: Kind) -> Rows:
        """Find each event's innermost ancestor of these kinds, or NONE."""
        if len(kinds) > 1:  # such are asked for once
            return self.inside(self.of(*kinds))
        if kinds not in self._inside:
            self._inside[kinds] = self.inside(self.of(*kinds))
        return self._inside[kinds]

    def number(self, stat: str, default: int = NONE) -> Ints:
        """Give a numeric stat of each event, `default` where it has none."""
        return self._read(stat, default, is_text=False)

    def text(self, stat: str) -> Rows:
        """Give a text stat of each event as a row of `space.strings`, 0 where it has none."""
        return self._read(stat, 0, is_text=True)

    def _read(self, stat: str, default: int, is_text: bool) -> Ints:
        key = stat, default, is_text
        if key not in self._columns:
            column = stat_of(self.space, self.row, *key)
            self._columns[key] = column.astype(_narrowest(column))
        return self._columns[key]

    def around(self, line: npt.NDArray[np.int32], time: Ints) -> Rows:
        """Find the innermost event that is open at each moment of a line, or NONE."""
        found = np.full(len(line), NONE)
        for number in np.unique(line).tolist():
            here = np.flatnonzero(line == number)
            first, end = np.searchsorted(self.line, (number, number + 1))
            last = np.searchsorted(self.start[first:end], time[here], side="right") - 1
            found[here] = np.where(last >= 0, first + last, NONE)
        closed = np.append(self.end, NEVER)  # the last entry is NONE's own
        above = np.append(self.parent, NONE)
        climbing = np.flatnonzero(closed[found] <= time)
        while len(climbing):
            found[climbing] = above[found[climbing]]
            climbing = climbing[closed[found[climbing]] <= time[climbing]]
        return found


def _narrowest(column: Ints) -> "np.dtype[np.signedinteger]":
    largest = max(int(column.max(initial=0)), -int(column.min(initial=0)))
    fitting = (np.dtype(f"i{size}") for size in (1, 2, 4) if largest < 1 << (8 * size - 1))
    return next(fitting, np.dtype(np.int64))


def stat_of(space: "XSpace", row: Rows, stat: str, default: int, is_text: bool) -> Ints:
    """Give a stat of some events, numbers or rows of `strings`, `default` where they have none."""
    found = space.stat(stat)
    column = np.full(len(space.line), default, dtype=np.int64)
    # A stat of another type than TensorFlow gives it counts as absent.
    if found.is_text == is_text and found.value.dtype.kind == "i":
        column[found.event] = found.value
    return column[row]


def memory_events(space: "XSpace") -> Rows:
    """Find the allocations and releases, which are moments in which nothing runs."""
    return np.flatnonzero((space.kind == Kind.ALLOCATION) | (space.kind == Kind.DEALLOCATION))


def read_host(space: "XSpace") -> HostEvents:
    """Sort the events of the host, of which `WANTED` has left those that matter."""
    kind = space.kind.copy()
    for stat, told in TOLD.items():
        event = space.stat(stat.decode()).event
        kind[event[kind[event] != Kind.DEVICE]] = told
    kind[memory_events(space)] = Kind.OTHER
    row = np.flatnonzero((kind != Kind.OTHER) & (kind != Kind.DEVICE))
    order = nesting.sort_order(space.line[row], space.start_ps[row], space.duration_ps[row])
    row = row[order]
    return HostEvents(
        space, row, kind[row], space.line[row], space.start_ps[row], space.duration_ps[row]
    )

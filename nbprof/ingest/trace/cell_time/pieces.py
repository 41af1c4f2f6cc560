"""The time of the cell's thread, cut into pieces within which the innermost event is the same."""

from dataclasses import dataclass

import numpy as np

from nbprof.arrays import NONE, Ints, Mask, Rows


@dataclass(frozen=True, eq=False, kw_only=True)
class Pieces:
    """Stretches of time, in order and without overlap."""

    start: Ints
    end: Ints
    event: Rows
    """The innermost event."""

    @property
    def length(self) -> Ints:
        """How long each piece is."""
        return self.end - self.start

    def only(self, chosen: "Mask | Rows") -> "Pieces":
        """Return some of the pieces."""
        return Pieces(start=self.start[chosen], end=self.end[chosen], event=self.event[chosen])


def cut_into_pieces(start: Ints, end: Ints, parent: Rows) -> Pieces:
    """Cut time wherever an event begins or ends; leave out what no event covers.

    Events are sorted by their start, the longest first; `parent` is the one each runs inside.
    """
    end = _within_parents(end, parent)
    count = len(start)
    # Of events that end at the same time, the inner ones end first.
    ending = count - 1 - np.argsort(end[::-1], kind="stable")
    # Ends come before the starts at the same time.
    place_of_end = np.arange(count) + np.searchsorted(start, end[ending], side="left")
    time, event = np.empty(2 * count, np.int64), np.empty(2 * count, np.intp)
    is_start = np.ones(2 * count, dtype=bool)
    is_start[place_of_end] = False
    time[place_of_end], event[place_of_end] = end[ending], parent[ending]
    time[is_start], event[is_start] = start, np.arange(count)
    kept = np.flatnonzero((event[:-1] != NONE) & (time[1:] > time[:-1]))
    return Pieces(start=time[kept], end=time[kept + 1], event=event[kept])


def _within_parents(end: Ints, parent: Rows) -> Ints:
    """Let no event end after the one it runs inside; the executor's overlap a little."""
    last = np.iinfo(np.int64).max
    while True:
        cut: Ints = np.minimum(end, np.append(end, last)[parent])
        if (cut == end).all():
            return cut
        end = cut

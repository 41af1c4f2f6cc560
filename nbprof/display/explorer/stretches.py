"""Stretches: how full each short part of the time is, by lane and op type.

They stand for all op runs in a timeline that has no room for each of them.
"""

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from nbprof.display.lane_load import Range, Runs, fill

if TYPE_CHECKING:
    from nbprof.arrays import Floats, Ints, Mask, Rows
    from nbprof.display.explorer.buffer_store import BufferStore
    from nbprof.display.explorer.run_kinds import RunKinds

FINEST = 1200
"""Most stretches."""
LEVELS = 32
"""Precision of how full a stretch is: one in this many. The rest is carried to the next one."""
MOST_GROUPS = 60
"""Most op types to distinguish; the rest, which took the least time, are merged."""
MOST_CELLS = 8_000_000
"""Most numbers held in memory at a time."""
ROUNDING = 1e-6


class Stretches:
    """The finest stretches of a profile's events."""

    def __init__(self, kinds: "RunKinds") -> None:
        self._kinds = kinds
        self._events = kinds.profile.costs
        thread = self._events["thread"].to_numpy(np.intp)
        self.threads: Rows = np.flatnonzero(np.bincount(thread))
        """The threads that ran anything, in the order of the lanes."""
        self._lane: Rows = np.searchsorted(self.threads, thread)

    def pack(self, store: "BufferStore", most: int) -> dict[str, Any]:
        """Store at most `most` stretches and describe them."""
        joined = -(-self._finest.shape[2] // most)
        columns = -(-self._finest.shape[2] // joined)
        padding = columns * joined - self._finest.shape[2]
        finest = np.pad(self._finest, ((0, 0), (0, 0), (0, padding)))
        shares = finest.reshape(*finest.shape[:2], columns, joined).mean(axis=3)
        # Rounding the running sum carries each remainder on, so nothing is lost.
        reached = np.floor(np.cumsum(shares * LEVELS, axis=2) + ROUNDING).astype(np.int64)
        level = np.diff(reached, axis=2, prepend=0)
        filled = np.flatnonzero((level > 0) | _barely_filled(shares, level))
        return {
            "count": columns,
            "micros": self._width * joined / 1e3,
            "levels": LEVELS,
            "kinds": store.numbers(self._examples),
            "gaps": store.numbers(np.diff(filled, prepend=0)),
            "level": store.numbers(level.ravel()[filled]),
        }

    @cached_property
    def _width(self) -> int:
        """The length of the finest stretches in ns."""
        end = int((self._events["start_ns"] + self._events["duration_ns"]).max())
        lanes, groups = len(self.threads), len(self._examples)
        columns = min(FINEST, max(1, MOST_CELLS // (lanes * groups)))
        return end // columns + 1  # so that even the end is inside the last one

    @cached_property
    def _finest(self) -> "Floats":
        """The share of each stretch that is filled, by lane and group."""
        own, start, lasted = (
            self._events[name].to_numpy(np.int64) for name in ("self_ns", "start_ns", "duration_ns")
        )
        first, last = start // self._width, (start + lasted) // self._width
        is_short = (first == last) & (first >= 0)
        long = np.flatnonzero(~is_short)
        runs = Runs(
            lane=self._lane[long],
            colour=self._group[long],
            start=start[long] / 1e3,
            end=(start[long] + lasted[long]) / 1e3,
            share=np.minimum(own[long] / np.maximum(lasted[long], 1), 1),
        )
        lanes, groups, columns = len(self.threads), len(self._examples), int(last.max()) + 1
        shown = Range(0.0, columns * self._width / 1e3, columns)
        filled = fill(runs, lanes, groups, shown)
        short = np.flatnonzero(is_short)
        place = (self._lane[short] * groups + self._group[short]) * columns + first[short]
        by_place = np.bincount(place, own[short], filled.size) / self._width
        filled += by_place.reshape(filled.shape)
        return filled

    @cached_property
    def _group(self) -> "Rows":
        """The group of each event: its op type and device, or that of all small groups."""
        nodes = self._kinds.profile.nodes
        of_node, _ = (nodes["op_type"] + "\n" + nodes["device"]).factorize()
        found: Rows = of_node[self._events["node"].to_numpy()]
        time = np.bincount(found, self._events["self_ns"].to_numpy())
        group = np.full(len(time), MOST_GROUPS)
        largest = np.argsort(-time, kind="stable")[:MOST_GROUPS]
        group[largest] = np.arange(len(largest))
        return group[found]

    @cached_property
    def _examples(self) -> "Rows":
        """The kind of each group that took the most time, -1 if none of its kinds is known."""
        own = self._events["self_ns"].to_numpy()
        time = np.bincount(self._kinds.of_event + 1, own, self._kinds.count + 1)[1:]
        examples = np.full(int(self._group.max(initial=0)) + 1, -1)
        by_time = np.argsort(time, kind="stable")
        examples[self._group[self._kinds.example[by_time]]] = by_time  # the last one stays
        return examples


def _barely_filled(shares: "Floats", level: "Ints") -> "Mask":
    """Mark the largest share of each stretch in which op runs took less time than a level."""
    largest = shares.argmax(axis=1)[:, np.newaxis]
    barely = (level.sum(axis=1) == 0) & (shares.sum(axis=1) > 0)
    marked = np.zeros(shares.shape, dtype=bool)
    np.put_along_axis(marked, largest, barely[:, np.newaxis], axis=1)
    return marked

"""Pick the wanted stats of events, and find where their values are.

Events of one kind usually have the same stats in the same order. So the n-th stats of all of them
are usually one stat, which is wanted or not; each is examined only where they differ.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from nbprof.arrays import Ints
from nbprof.ingest.protobuf.message_chains import INSIDE, Turn, turns
from nbprof.ingest.protobuf.varints import ONE_BYTE, varints
from nbprof.ingest.protobuf.wire import NO_ROWS, Buffer, Spans, scan
from nbprof.ingest.xspace.id_tables import Metadata
from nbprof.ingest.xspace.selection import ALL_KINDS, BIT_OF_KIND, KINDS, Bits, Kinds
from nbprof.ingest.xspace.xplane_fields import EVENT_STAT, STAT_METADATA_ID

MANY = 256
"""Minimum number of events for which a kind is read separately."""

ID_BYTES = np.uint64((1 << 8 * (INSIDE - 1)) - 1)
"""Mask of the bytes of an id that `Turn.first` always has."""


class Picked(NamedTuple):
    """Stats that are wanted."""

    row: Ints
    """The event that each belongs to."""
    stat: Ints
    """Row of the stat metadata."""
    begin: Ints
    size: Ints
    after: Ints
    """Where the id ends; 0 if the stat needs `wire.scan`."""

    def where(self, index: Ints | slice) -> "Picked":
        """Select by index."""
        return Picked(*(column[index] for column in self))

    @classmethod
    def join(cls, parts: "list[Picked]") -> "Picked":
        """Concatenate the tables."""
        return cls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


NOTHING = Picked(NO_ROWS, NO_ROWS, NO_ROWS, NO_ROWS, NO_ROWS)
"""A table without stats."""


class StatPicker:
    """Picks the stats that are wanted for each kind of event."""

    def __init__(self, metadata: Metadata, kinds_of_stat: Bits) -> None:
        self._metadata = metadata
        self._kinds_of_stat = kinds_of_stat
        """The bits of the kinds of events that each stat is wanted for."""
        self._known: dict[tuple[int, int], int] = {}
        """Rows of the metadata, by plane and first bytes of the stat."""

    def pick(
        self, buffer: Buffer, kind: Kinds, plane: Ints, begin: Ints, end: Ints
    ) -> tuple[Picked, Ints]:
        """Pick from the stats of events; also return where each event's chain of stats stopped."""
        stopped = begin.copy()
        parts = [NOTHING]
        for rows in _groups(kind):
            ended = np.empty(len(rows), np.int64)
            bit = BIT_OF_KIND[kind[rows]]
            same = plane[rows[:1]] if plane[rows[0]] == plane[rows[-1]] else plane[rows]
            one_kind = (kind[rows[0]] == kind[rows[-1]]) and bool((bit == bit[0]).all())
            for turn in turns(buffer, begin[rows], end[rows], EVENT_STAT, ended):
                of_row = bit[0] if one_kind else bit[turn.row]
                part = self._pick(buffer, turn, same if len(same) == 1 else same[turn.row], of_row)
                if len(part.row):
                    parts.append(part._replace(row=rows[part.row]))
            stopped[rows] = ended
        return Picked.join(parts), stopped

    def pick_from(self, buffer: Buffer, stats: Spans, plane: Ints) -> Picked:
        """Pick from the stats at these places, whatever the kind of their events."""
        row, begin = stats.row.astype(np.int64), stats.begin.astype(np.int64)
        turn = Turn(row, begin, stats.size.astype(np.int64), buffer.words_at(begin))
        return self._pick(buffer, turn, plane[row], np.uint32(ALL_KINDS))

    def _pick(self, buffer: Buffer, turn: Turn, plane: Ints, bit: "Bits | np.uint32") -> Picked:
        same = self._same_stat(turn, int(plane[0])) if len(plane) == 1 else None
        if same is not None:
            number, width = same
            wanted = self._kinds_of_stat[number] & bit
            if not wanted.any():
                return NOTHING
            stat = np.full(len(turn.row), number)
            picked = Picked(turn.row, stat, turn.begin, turn.size, turn.begin + 1 + width)
        else:
            ids, after = _read_ids(buffer, turn)
            stat = self._metadata.find(plane, ids)
            wanted = self._kinds_of_stat[stat] & bit
            picked = Picked(turn.row, stat, turn.begin, turn.size, after)
        return picked if wanted.all() else picked.where(np.flatnonzero(wanted))

    def _same_stat(self, turn: Turn, plane: int) -> tuple[int, int] | None:
        """Return the stat and the width of its id if all are the same stat, else None."""
        if len(turn.row) < 2:
            return None
        head = int(turn.first[0])
        width = 1
        while head >> 8 * width & 0x80:
            width += 1
        mask = (1 << 8 * (width + 1)) - 1
        if head & 0xFF != STAT_METADATA_ID or width >= INSIDE or turn.size.min() <= width + 1:
            return None
        head &= mask
        if not (turn.first & np.uint64(mask) == np.uint64(head)).all():
            return None
        if (plane, head) not in self._known:
            value, _ = varints(np.array([head >> 8], np.uint64))
            (self._known[plane, head],) = self._metadata.find(
                np.array([plane]), value.view(np.int64)
            ).tolist()
        return self._known[plane, head], width


def _read_ids(buffer: Buffer, turn: Turn) -> tuple[Ints, Ints]:
    """Read the id of each stat, and where it ends."""
    value, width = varints((turn.first >> ONE_BYTE) & ID_BYTES)
    ids, widths = value.view(np.int64), width.view(np.int64)
    after = turn.begin + 1 + widths
    usual = (turn.first.astype(np.uint8) == STAT_METADATA_ID) & (widths + 1 < turn.size)
    usual &= widths < INSIDE
    if not usual.all():
        odd = np.flatnonzero(~usual)
        spans = Spans(odd, turn.begin[odd], turn.size[odd])
        ids[odd] = scan(buffer, spans).numbers(STAT_METADATA_ID, len(odd))
        after[odd] = 0
    return ids, after


def _groups(kind: Kinds) -> Iterator[Ints]:
    """Yield the rows of events by kind, those of all rare kinds together."""
    rare = np.ones(len(kind), np.bool_)
    for number, count in enumerate(np.bincount(kind[kind >= 0], minlength=KINDS).tolist()):
        if count >= MANY:
            rows = np.flatnonzero(kind == number)
            rare[rows] = False
            yield rows
    if rare.any():
        yield np.flatnonzero(rare)

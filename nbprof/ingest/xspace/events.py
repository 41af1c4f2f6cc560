"""Read events and their stats block by block, keeping only what is selected.

An event is an id, usually an offset and a duration, and a chain of stats; a stat is an id and a
value. Vectors read events of that form at fixed places. `wire.scan`, which reads fields in any
order and raises the errors, reads all others again.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nbprof.arrays import Ints, Letters, Mask, Words
from nbprof.ingest.protobuf.long_messages import Long
from nbprof.ingest.protobuf.message_chains import INSIDE
from nbprof.ingest.protobuf.varints import ONE_BYTE, read_numbers, varints
from nbprof.ingest.protobuf.wire import BEHIND, REACH, Buffer, Spans, scan
from nbprof.ingest.xspace.event_columns import Events, KeptEvents, Values
from nbprof.ingest.xspace.event_search import events_with
from nbprof.ingest.xspace.id_tables import Ids, IdTables
from nbprof.ingest.xspace.selection import BIT_OF_KIND, NEVER, PERHAPS, Selection
from nbprof.ingest.xspace.stat_picker import ID_BYTES, Picked, StatPicker
from nbprof.ingest.xspace.xplane_fields import (
    EVENT_DURATION_PS,
    EVENT_METADATA_ID,
    EVENT_OCCURRENCES,
    EVENT_OFFSET_PS,
    EVENT_STAT,
    STAT_BYTES,
    STAT_INT64,
    STAT_REFERENCE,
    STAT_TEXT,
    STAT_UINT64,
    STAT_VALUES,
)
from nbprof.progress import Done

BLOCK = 1 << 15
"""Number of events examined in parallel; the third or so that is read fits the cache."""


@dataclass(frozen=True, slots=True)
class _Identified:
    """Events identified by their first bytes."""

    events: Spans
    plane: Ids
    metadata: Ints
    """Row of the event metadata."""
    id_width: Letters
    """Length of the event's id in bytes."""
    odd: Mask
    """Whether the event needs `wire.scan`."""

    def where(self, index: Ints) -> "_Identified":
        """Select by index."""
        return _Identified(
            self.events[index],
            self.plane[index],
            self.metadata[index],
            self.id_width[index],
            self.odd[index],
        )


@dataclass(frozen=True, slots=True)
class _Heads:
    """What precedes the stats of events."""

    offset_ps: Ints
    duration_ps: Ints
    stats: Ints
    """Where the stats begin."""
    end: Ints
    odd: Mask
    """Whether the event needs `wire.scan`."""


@dataclass(frozen=True, slots=True)
class _StatValues:
    """The values of stats as they were written."""

    tag: Letters
    """The tag of the value, 0 if the stat has none."""
    value: Words
    begin: Ints
    """Where a text begins."""


class EventReader:
    """Reads the events of all lines of a trace."""

    def __init__(self, buffer: Buffer, tables: IdTables, selection: Selection) -> None:
        self._buffer = buffer
        self._strings = tables.strings
        self._metadata = tables.events
        self._stat_metadata = tables.stats
        self._selection = selection
        self._picker = StatPicker(tables.stats, selection.kinds_of_stat)
        self._stat_names, numbers = np.unique(tables.stats.name, return_inverse=True)
        # Narrowed because numpy sorts 16-bit integers by counting.
        self._name_of_stat = numbers.astype(np.min_scalar_type(len(self._stat_names)))

    def read(self, lines: Long, line_plane: Ids, done: Done) -> Events:
        """Read the selected events of all lines."""
        events = lines.inner
        room = len(events) if self._selection.everything else len(events) // 2
        kept = KeptEvents(len(events), room)
        for start in range(0, max(len(events), 1), BLOCK):
            rows = slice(start, start + BLOCK)
            part, here = _cut(self._buffer, events[rows])
            identified = self._identify(here, lines.first[rows], line_plane)
            kind = self._selection.kind[identified.metadata]
            matters = (kind != PERHAPS) & (kind != NEVER) | identified.odd
            matters |= self._may_have_telling_stat(part, here)
            block = self._read_block(part, identified.where(np.flatnonzero(matters)), len(kept))
            kept.add(block, len(here))
            done(len(self._buffer.data) * len(here) // (2 * max(len(events), 1)))
        return kept.events()

    def _may_have_telling_stat(self, part: Buffer, events: Spans) -> Mask:
        if self._selection.everything:
            return np.ones(len(events), np.bool_)
        return events_with(part, events, self._selection.telling_heads, STAT_VALUES)

    def _identify(
        self, events: Spans, first: npt.NDArray[np.uint32], line_plane: Ids
    ) -> _Identified:
        """Look up the metadata of events by their first bytes."""
        word = first.astype(np.uint64)
        ids, width = varints((word >> ONE_BYTE) & ID_BYTES)
        plane = line_plane[events.row]
        usual = (word.astype(np.uint8) == EVENT_METADATA_ID) & (width < INSIDE)
        usual &= width < events.size.astype(np.uint64)
        metadata = self._metadata.find(plane, ids.view(np.int64))
        return _Identified(events, plane, metadata, width.astype(np.uint8), ~usual)

    def _read_block(self, part: Buffer, identified: _Identified, before: int) -> Events:
        """Read identified events; those kept are numbered from `before` on."""
        plane = identified.plane.astype(np.int64)
        heads = _read_heads(part, identified)
        stats = self._pick_stats(part, identified, plane, heads)
        kind = self._selection.kind[identified.metadata]
        matters = self._which_matter(kind, stats)
        bit = np.where(matters, BIT_OF_KIND[kind], 0)
        wanted = self._selection.kinds_of_stat[stats.stat] & bit[stats.row]
        kept = np.flatnonzero(matters)
        number = np.empty(len(kind), np.int32)
        number[kept] = np.arange(before, before + len(kept))
        metadata = identified.metadata[kept]
        return Events(
            line=identified.events.row[kept].astype(np.int32),
            kind=kind[kept],
            name=self._metadata.name[metadata],
            display_name=self._metadata.display_name[metadata],
            offset_ps=heads.offset_ps[kept],
            duration_ps=heads.duration_ps[kept],
            values=self._read_values(part, stats.where(np.flatnonzero(wanted)), number, plane),
        )

    def _pick_stats(
        self, part: Buffer, identified: _Identified, plane: Ints, heads: _Heads
    ) -> Picked:
        """Find the stats that may be wanted; correct the metadata and heads of odd events."""
        kind = self._selection.kind[identified.metadata]
        picked, stopped = self._picker.pick(part, kind, plane, heads.stats, heads.end)
        odd = np.flatnonzero(heads.odd | (stopped != heads.end))
        if not len(odd):
            return picked
        ids, stats = _read_odd(part, identified.events, odd, heads)
        identified.metadata[odd] = self._metadata.find(plane[odd], ids)
        usual = np.flatnonzero(~np.isin(picked.row, odd))
        return Picked.join([picked.where(usual), self._picker.pick_from(part, stats, plane)])

    def _which_matter(self, kind: npt.NDArray[np.int8], stats: Picked) -> Mask:
        """Return which events to keep, by their kinds and stats."""
        if self._selection.everything:
            matters = np.ones(len(kind), np.bool_)
        else:
            matters = kind != PERHAPS
            matters[stats.row[self._selection.tells[stats.stat]]] = True
        matters &= kind != NEVER
        return matters

    def _read_values(
        self, part: Buffer, stats: Picked, number: Ids, plane: Ints
    ) -> dict[int, Values]:
        """Return the values of stats, by the row of the stat's name in the table of texts."""
        values = _read_stat_values(part, stats)
        self._resolve_references(values, stats, plane)
        self._store_texts(part, values)
        return self._by_name(values, stats, number)

    def _resolve_references(self, values: _StatValues, stats: Picked, plane: Ints) -> None:
        """Replace ids of texts with their rows in the table of texts."""
        rows = np.flatnonzero(values.tag == STAT_REFERENCE)
        ids = values.value[rows].view(np.int64)
        found = self._stat_metadata.find(plane[stats.row[rows]], ids)
        values.value[rows] = self._stat_metadata.name[found]

    def _store_texts(self, part: Buffer, values: _StatValues) -> None:
        """Move inline texts to the table of texts, and make them references."""
        rows = np.flatnonzero((values.tag == STAT_TEXT) | (values.tag == STAT_BYTES))
        if not len(rows):
            return
        data = part.data
        spans = zip(values.begin[rows].tolist(), values.value[rows].tolist(), strict=True)
        values.value[rows] = self._strings.add_all([data[at : at + size] for at, size in spans])
        values.tag[rows] = STAT_REFERENCE

    def _by_name(self, values: _StatValues, stats: Picked, number: Ids) -> dict[int, Values]:
        """Group values by the names of their stats, each group in the order of events."""
        order = np.argsort(stats.row.astype(np.uint16), kind="stable")
        if not values.tag.all():
            order = order[values.tag[order] != 0]
        name = self._name_of_stat[stats.stat[order]]
        order = order[np.argsort(name, kind="stable")]
        event, tag, value = number[stats.row[order]], values.tag[order], values.value[order]
        count = np.bincount(name, minlength=len(self._stat_names))
        names = np.flatnonzero(count)
        end = np.cumsum(count)[names]
        groups = zip(names.tolist(), (end - count[names]).tolist(), end.tolist(), strict=True)
        return {
            int(self._stat_names[place]): Values(
                event[first:last], tag[first:last], value[first:last]
            )
            for place, first, last in groups
        }


def _cut(buffer: Buffer, events: Spans) -> tuple[Buffer, Spans]:
    """Return the part of the file that has these events, and their spans in that part."""
    if not len(events):
        return buffer, events
    part, begin = buffer.part(int(events.begin[0]), int(events.begin[-1]) + int(events.size[-1]))
    return part, Spans(events.row, events.begin - events.begin.dtype.type(begin), events.size)


def _read_heads(buffer: Buffer, identified: _Identified) -> _Heads:
    """Read offsets and durations, and find where the stats begin."""
    begin = identified.events.begin.astype(np.int64)
    end = begin + identified.events.size.astype(np.int64)
    odd = identified.odd | (begin > len(buffer.data) - BEHIND)
    if odd.all():
        return _Heads(np.zeros_like(end), np.zeros_like(end), end, end, odd)
    position = np.where(odd, 0, begin + 1 + identified.id_width)
    offset, position = _read_if(buffer, position, EVENT_OFFSET_PS)
    duration, position = _read_if(buffer, position, EVENT_DURATION_PS)
    odd |= position > end
    return _Heads(
        offset.view(np.int64),
        duration.view(np.int64),
        np.where(odd, end, position),
        end,
        odd,
    )


def _read_if(buffer: Buffer, position: Ints, expected: int) -> tuple[Words, Ints]:
    """Read a number where it has the expected tag, else 0; return it and the position after it."""
    tag, value, after = read_numbers(buffer.words, position)
    matches = tag == expected
    if matches.all():
        return value, after
    return np.where(matches, value, np.uint64(0)), np.where(matches, after, position)


def _read_odd(buffer: Buffer, events: Spans, odd: Ints, heads: _Heads) -> tuple[Ints, Spans]:
    """Read events of unusual form: correct their heads, return their ids and stats."""
    fields = scan(buffer, events[odd])
    count = len(odd)
    timing = fields.last(count, EVENT_OFFSET_PS, EVENT_OCCURRENCES)
    heads.offset_ps[odd] = np.where(timing.tag == EVENT_OFFSET_PS, timing.value, 0).view(np.int64)
    heads.duration_ps[odd] = fields.numbers(EVENT_DURATION_PS, count)
    stats = fields.messages(EVENT_STAT)
    ids = fields.numbers(EVENT_METADATA_ID, count)
    return ids, Spans(odd[stats.row], stats.begin, stats.size)


def _read_stat_values(buffer: Buffer, stats: Picked) -> _StatValues:
    """Read the values of stats: integers by vectors, all others by `wire.scan`."""
    end = stats.begin + stats.size
    usual = (stats.after > 0) & (stats.after <= len(buffer.data) - REACH)
    count = len(stats.row)
    tag = np.zeros(count, np.uint8)
    value, begin = np.zeros(count, np.uint64), np.zeros(count, np.int64)
    if usual.any():
        tag, value, begin = read_numbers(buffer.words, np.where(usual, stats.after, 0))
        is_number = (tag == STAT_INT64) | (tag == STAT_UINT64) | (tag == STAT_REFERENCE)
        usual &= is_number & (begin == end)
    odd = np.flatnonzero(~usual)
    if len(odd):
        spans = Spans(odd, stats.begin[odd], stats.size[odd])
        values = scan(buffer, spans).last(len(odd), *STAT_VALUES)
        tag[odd], value[odd], begin[odd] = values.tag, values.value, values.begin
    return _StatValues(tag, value, begin)

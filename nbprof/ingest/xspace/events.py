"""The events of a trace and their stats, read block by block; only what is wanted is kept.

An event is an id, an offset and a duration, each mostly there, and a chain of stats; a stat is an
id and a value. What looks so is read at fixed places by vectors; whatever looks otherwise is read
again by `wire.scan`, which reads fields of any order and words the errors.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nbprof.arrays import Ints, Mask, Words
from nbprof.ingest.protobuf.growable import GrowableColumn
from nbprof.ingest.protobuf.long_messages import Long
from nbprof.ingest.protobuf.message_chains import INSIDE
from nbprof.ingest.protobuf.varints import ONE_BYTE, read_numbers, varints
from nbprof.ingest.protobuf.wire import BEHIND, FIXED64, LENGTH, REACH, VARINT, Buffer, Spans, scan
from nbprof.ingest.xspace.id_tables import Ids, Metadata, Strings
from nbprof.ingest.xspace.rare_stats import events_with
from nbprof.ingest.xspace.stat_picker import (
    ALL_KINDS,
    BIT_OF_KIND,
    EVENT_STAT,
    SOME_BYTES,
    STAT_METADATA_ID,
    Picked,
    StatPicker,
)
from nbprof.ingest.xspace.wanted import NEVER, PERHAPS, Wanted
from nbprof.progress import Done
from nbprof.protos.varint_writer import write_varint

EVENT_METADATA_ID = 1 << 3 | VARINT
EVENT_OFFSET_PS = 2 << 3 | VARINT
EVENT_DURATION_PS = 3 << 3 | VARINT
EVENT_OCCURRENCES = 5 << 3 | VARINT

STAT_DOUBLE = 2 << 3 | FIXED64
STAT_UINT64 = 3 << 3 | VARINT
STAT_INT64 = 4 << 3 | VARINT
STAT_TEXT = 5 << 3 | LENGTH
STAT_BYTES = 6 << 3 | LENGTH
STAT_REFERENCE = 7 << 3 | VARINT
STAT_VALUES = (STAT_DOUBLE, STAT_UINT64, STAT_INT64, STAT_TEXT, STAT_BYTES, STAT_REFERENCE)

BLOCK = 1 << 15
"""So many events are looked at side by side; a third of them is read, as a rule, and then their
temporaries fit the processor's cache."""


@dataclass(frozen=True, slots=True)
class Values:
    """The values of a stat, by event; texts are rows of the table of texts."""

    event: Ids
    tag: npt.NDArray[np.uint8]
    """How the value was written; a text in place has become a reference."""
    value: Words


@dataclass(frozen=True, slots=True)
class Events:
    """The events kept, in file order."""

    line: Ids
    kind: npt.NDArray[np.int8]
    name: Ids
    display_name: Ids
    offset_ps: Ints
    duration_ps: Ints
    values: dict[int, Values]
    """The stats by their names, which are rows of the table of texts."""


@dataclass(frozen=True, slots=True)
class _Looked:
    """What the first bytes of events tell of them."""

    events: Spans
    plane: Ids
    found: Ints
    """Which event it is: a row of the metadata."""
    width: npt.NDArray[np.uint8]
    """How many bytes its id has."""
    odd: Mask
    """Which events have to be read otherwise."""

    def where(self, index: Ints) -> "_Looked":
        """Select by index."""
        return _Looked(
            self.events[index],
            self.plane[index],
            self.found[index],
            self.width[index],
            self.odd[index],
        )


@dataclass(frozen=True, slots=True)
class _Heads:
    """What stands before the stats of an event."""

    offset_ps: Ints
    duration_ps: Ints
    stats: Ints
    """Where the stats begin."""
    end: Ints
    odd: Mask
    """Which events have to be read otherwise."""


OF_EVENTS = {
    **{"line": np.int32, "kind": np.int8, "name": np.int32, "display_name": np.int32},
    **{"offset_ps": np.int64, "duration_ps": np.int64},
}
OF_VALUES = {"event": np.int32, "tag": np.uint8, "value": np.uint64}
"""The columns of Events and of Values."""


class _Kept:
    """What was kept of the blocks so far; of a stat so much room is made as it seems to need."""

    def __init__(self, total: int, room: int) -> None:
        self._total = total
        self._seen = 0
        self._events = {name: GrowableColumn(dtype, room) for name, dtype in OF_EVENTS.items()}
        self._values: dict[int, dict[str, GrowableColumn]] = {}

    def __len__(self) -> int:
        return len(self._events["line"])

    def add(self, block: Events, seen: int) -> None:
        """Put the next block behind the others; so many events were looked at for it."""
        self._seen += seen
        for name, column in self._events.items():
            column.append(getattr(block, name))
        for stat, values in block.values.items():
            if stat not in self._values:
                room = len(values.event) * self._total // self._seen
                self._values[stat] = {
                    name: GrowableColumn(kind, room) for name, kind in OF_VALUES.items()
                }
            for name, column in self._values[stat].items():
                column.append(getattr(values, name))

    def events(self) -> Events:
        """Make one table of all."""
        return Events(
            **{name: column.array for name, column in self._events.items()},
            values={
                stat: Values(**{name: column.array for name, column in columns.items()})
                for stat, columns in self._values.items()
            },
        )


class EventReader:
    """Reads the events of all lines of a trace."""

    def __init__(
        self,
        buffer: Buffer,
        strings: Strings,
        metadata: Metadata,
        stat_metadata: Metadata,
        plane_names: list[str],
        wanted: Wanted | None,
    ) -> None:
        self._buffer = buffer
        self._strings = strings
        self._metadata = metadata
        self._stat_metadata = stat_metadata
        self._all = wanted is None
        self._kind = np.full(len(metadata.id), PERHAPS, np.int8)
        self._of_kinds = np.full(len(stat_metadata.id), ALL_KINDS, np.uint32)
        self._tells = np.zeros(len(stat_metadata.id), np.bool_)
        if wanted is not None:
            texts = strings.texts
            names = zip(metadata.plane.tolist(), metadata.name, metadata.display_name, strict=True)
            self._kind[:-1] = [
                wanted.kind(plane_names[plane], texts[name], texts[shown])
                for plane, name, shown in list(names)[:-1]
            ]
            stats = [texts[name] for name in stat_metadata.name]
            self._tells[:] = [name in wanted.telling for name in stats]
            self._of_kinds[:] = [wanted.bits.get(name, 0) for name in stats]
        telling = stat_metadata.id[self._tells].tolist()
        self._names, numbers = np.unique(stat_metadata.name, return_inverse=True)
        self._number = numbers.astype(np.min_scalar_type(len(self._names)))
        """Which of the names each stat has: narrow, since numpy sorts 16 bits by counting."""
        self._patterns = {bytes([STAT_METADATA_ID]) + write_varint(number) for number in telling}
        self._picker = StatPicker(stat_metadata, self._of_kinds)

    def read(self, lines: Long, line_plane: Ids, done: Done) -> Events:
        """Read the events of lines."""
        events = lines.inner
        room = len(events) if self._all else len(events) // 2
        kept = _Kept(len(events), room)
        for start in range(0, max(len(events), 1), BLOCK):
            rows = slice(start, start + BLOCK)
            part, here = _cut(self._buffer, events[rows])
            looked = self._look(here, lines.first[rows], line_plane)
            kind = self._kind[looked.found]
            matter = (kind != PERHAPS) & (kind != NEVER) | looked.odd | self._told(part, here)
            block = self._read_block(part, looked.where(np.flatnonzero(matter)), len(kept))
            kept.add(block, len(here))
            done(len(self._buffer.data) * len(here) // (2 * max(len(events), 1)))
        return kept.events()

    def _told(self, part: Buffer, events: Spans) -> Mask:
        """Mark the events that matter by a stat, whatever they are; most do not."""
        if self._all:
            return np.ones(len(events), np.bool_)
        return events_with(part, events, self._patterns, STAT_VALUES)

    def _look(self, events: Spans, first: npt.NDArray[np.uint32], line_plane: Ids) -> _Looked:
        """Tell by the first bytes of events what they are."""
        word = first.astype(np.uint64)
        ids, width = varints((word >> ONE_BYTE) & SOME_BYTES)
        plane = line_plane[events.row]
        usual = (word.astype(np.uint8) == EVENT_METADATA_ID) & (width < INSIDE)
        usual &= width < events.size.astype(np.uint64)
        found = self._metadata.find(plane, ids.view(np.int64))
        return _Looked(events, plane, found, width.astype(np.uint8), ~usual)

    def _read_block(self, part: Buffer, looked: _Looked, before: int) -> Events:
        events, plane, found = looked.events, looked.plane.astype(np.int64), looked.found
        heads = _read_heads(part, looked)
        line = events.row.astype(np.int32)
        picked, stopped = self._picker.pick(part, self._kind[found], plane, heads.stats, heads.end)
        odd = np.flatnonzero(heads.odd | (stopped != heads.end))
        if len(odd):
            ids, stats = _read_odd(part, events, odd, heads)
            found[odd] = self._metadata.find(plane[odd], ids)
            usual = np.flatnonzero(~np.isin(picked.row, odd))
            picked = Picked.join([picked.where(usual), self._picker.pick_from(part, stats, plane)])
        kind = self._kind[found]
        matters = (kind != PERHAPS) | self._all
        matters[picked.row[self._tells[picked.stat]]] = True
        matters &= kind != NEVER
        bit = np.where(matters, BIT_OF_KIND[kind], 0)
        picked = picked.where(np.flatnonzero(self._of_kinds[picked.stat] & bit[picked.row]))
        kept = np.flatnonzero(matters)
        place = np.empty(len(line), np.int32)
        place[kept] = np.arange(before, before + len(kept))
        found = found[kept]
        return Events(
            line[kept],
            kind[kept],
            self._metadata.name[found],
            self._metadata.display_name[found],
            heads.offset_ps[kept],
            heads.duration_ps[kept],
            self._read_values(part, picked, place, plane),
        )

    def _read_values(
        self, part: Buffer, stats: Picked, place: Ids, plane: Ints
    ) -> dict[int, Values]:
        """Read the values of these stats, by name."""
        tag, value, begin = _read_stat_values(part, stats)
        referring = np.flatnonzero(tag == STAT_REFERENCE)
        ids = value[referring].view(np.int64)
        named = self._stat_metadata.find(plane[stats.row[referring]], ids)
        value[referring] = self._stat_metadata.name[named]
        written = np.flatnonzero((tag == STAT_TEXT) | (tag == STAT_BYTES))
        if len(written):
            data = part.data
            spans = zip(begin[written].tolist(), value[written].tolist(), strict=True)
            value[written] = self._strings.add_all([data[at : at + size] for at, size in spans])
            tag[written] = STAT_REFERENCE
        order = np.argsort(stats.row.astype(np.uint16), kind="stable")
        if not tag.all():
            order = order[tag[order] != 0]
        number = self._number[stats.stat[order]]
        order = order[np.argsort(number, kind="stable")]
        event, tag, value = place[stats.row[order]], tag[order], value[order]
        count = np.bincount(number, minlength=len(self._names))
        end = np.cumsum(count)
        return {
            int(self._names[name]): Values(event[first:last], tag[first:last], value[first:last])
            for name, first, last in zip(*_filled(count, end), strict=True)
        }


def _filled(count: Ints, end: Ints) -> tuple[list[int], list[int], list[int]]:
    """Give those groups that have any, and where they begin and end."""
    some = np.flatnonzero(count)
    return some.tolist(), (end - count)[some].tolist(), end[some].tolist()


def _cut(buffer: Buffer, events: Spans) -> tuple[Buffer, Spans]:
    """Cut the part out that these events are in; give it, and where in it they are."""
    if not len(events):
        return buffer, events
    part, begin = buffer.part(int(events.begin[0]), int(events.begin[-1]) + int(events.size[-1]))
    return part, Spans(events.row, events.begin - events.begin.dtype.type(begin), events.size)


def _read_heads(buffer: Buffer, looked: _Looked) -> _Heads:
    """Read offsets and durations, and find where the stats begin."""
    begin = looked.events.begin.astype(np.int64)
    end = begin + looked.events.size.astype(np.int64)
    odd = looked.odd | (begin > len(buffer.data) - BEHIND)
    if odd.all():
        return _Heads(np.zeros_like(end), np.zeros_like(end), end, end, odd)
    position = np.where(odd, 0, begin + 1 + looked.width)
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
    """Read a number where it has the expected tag, else 0; and give the place after it."""
    tag, value, after = read_numbers(buffer.words, position)
    there = tag == expected
    if there.all():
        return value, after
    return np.where(there, value, np.uint64(0)), np.where(there, after, position)


def _read_odd(buffer: Buffer, events: Spans, odd: Ints, heads: _Heads) -> tuple[Ints, Spans]:
    """Read the events that look otherwise: correct their heads, give their ids and their stats."""
    fields = scan(buffer, events[odd])
    count = len(odd)
    timing = fields.last(count, EVENT_OFFSET_PS, EVENT_OCCURRENCES)
    heads.offset_ps[odd] = np.where(timing.tag == EVENT_OFFSET_PS, timing.value, 0).view(np.int64)
    heads.duration_ps[odd] = fields.numbers(EVENT_DURATION_PS, count)
    stats = fields.messages(EVENT_STAT)
    ids = fields.numbers(EVENT_METADATA_ID, count)
    return ids, Spans(odd[stats.row], stats.begin, stats.size)


def _read_stat_values(buffer: Buffer, stats: Picked) -> tuple[npt.NDArray[np.uint8], Words, Ints]:
    """Read tag, value and place of the values; tag 0 where there is none."""
    end = stats.begin + stats.size
    usual = (stats.after > 0) & (stats.after <= len(buffer.data) - REACH)
    position = np.where(usual, stats.after, 0)
    count = len(stats.row)
    tag = np.zeros(count, np.uint8)
    value, begin = np.zeros(count, np.uint64), np.zeros(count, np.int64)
    if usual.any():
        tag, value, begin = read_numbers(buffer.words, position)
        is_number = (tag == STAT_INT64) | (tag == STAT_UINT64) | (tag == STAT_REFERENCE)
        usual &= is_number & (begin == end)
    odd = np.flatnonzero(~usual)
    if len(odd):
        spans = Spans(odd, stats.begin[odd], stats.size[odd])
        values = scan(buffer, spans).last(len(odd), *STAT_VALUES)
        tag[odd], value[odd], begin[odd] = values.tag, values.value, values.begin
    return tag, value, begin

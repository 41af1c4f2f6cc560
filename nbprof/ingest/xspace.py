"""Read a trace of TensorFlow's profiler (an XSpace, ``*.xplane.pb``) into numpy columns.

`read_xspace` takes the bytes of a file and needs neither TensorFlow nor protobuf. A trace holds
millions of events and several stats on each; none becomes a Python object. The file is read level
by level with `wire.scan` (planes, lines, events, stats), all messages of a level at once, each
level giving the positions of the next.

Nothing is believed: every length is checked against the message around it, and a damaged file ends
in an `NbprofError` which names the file and the byte. Unknown fields are skipped. Texts stay bytes,
since the profiler writes some which are not UTF-8.

Stats are found while the events are read, but decoded only when `XSpace.stat` asks for them by
name: most are never asked for. Damage inside a stat is therefore reported by `XSpace.stat`.

The field numbers are those of ``tsl/profiler/protobuf/xplane.proto``.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from nbprof.errors import NbprofError
from nbprof.ingest.lanes import Inner, scan_long
from nbprof.ingest.wire import (
    FIXED64,
    LENGTH,
    VARINT,
    Buffer,
    Fields,
    Ints,
    Positions,
    Spans,
    scan,
    scan_blocks,
)

Rows = npt.NDArray[np.int32]


def _tag(number: int, wire_type: int) -> int:
    return number << 3 | wire_type


SPACE_PLANE = _tag(1, LENGTH)

PLANE_NAME = _tag(2, LENGTH)
PLANE_LINE = _tag(3, LENGTH)
PLANE_EVENT_METADATA = _tag(4, LENGTH)
PLANE_STAT_METADATA = _tag(5, LENGTH)
PLANE_STAT = _tag(6, LENGTH)

LINE_ID = _tag(1, VARINT)
LINE_NAME = _tag(2, LENGTH)
LINE_TIMESTAMP_NS = _tag(3, VARINT)
LINE_EVENT = _tag(4, LENGTH)

EVENT_METADATA_ID = _tag(1, VARINT)
EVENT_OFFSET_PS = _tag(2, VARINT)
EVENT_DURATION_PS = _tag(3, VARINT)
EVENT_STAT = _tag(4, LENGTH)
EVENT_OCCURRENCES = _tag(5, VARINT)

STAT_METADATA_ID = _tag(1, VARINT)
STAT_DOUBLE = _tag(2, FIXED64)
STAT_UINT64 = _tag(3, VARINT)
STAT_INT64 = _tag(4, VARINT)
STAT_TEXT = _tag(5, LENGTH)
STAT_BYTES = _tag(6, LENGTH)
STAT_REFERENCE = _tag(7, VARINT)
STAT_VALUES = (STAT_DOUBLE, STAT_UINT64, STAT_INT64, STAT_TEXT, STAT_BYTES, STAT_REFERENCE)

ENTRY_KEY = _tag(1, VARINT)
ENTRY_VALUE = _tag(2, LENGTH)

METADATA_NAME = _tag(2, LENGTH)
METADATA_DISPLAY_NAME = _tag(4, LENGTH)

# An event begins with its metadata id and its offset or number of occurrences. A stat has the same
# tag in an event as an event has in a line, but never goes on so.
EVENTS = Inner(LINE_EVENT, (EVENT_OFFSET_PS, EVENT_OCCURRENCES))

LARGEST_NS = (2**63 - 1) // 1000
"""The longest time in ns, 106 days, that int64 can hold in ps."""


@dataclass(frozen=True, eq=False, slots=True)
class Stat:
    """One stat of all events which carry it."""

    event: Ints
    """Rows of the events, ascending."""
    value: npt.NDArray[np.int64] | npt.NDArray[np.float64] | npt.NDArray[np.int32]
    """Numbers (a uint64 from 2⁶³ on wraps round to negative), or indices into `XSpace.strings`."""
    is_text: bool


@dataclass(frozen=True, eq=False)
class XSpace:
    """The planes, lines and events of a trace, in file order."""

    strings: list[bytes]
    """Every text once: names, display names, texts of stats. The first is empty."""
    plane_names: list[str]
    plane_stats: list[dict[str, int | float | bytes]]
    """The stats of each plane itself."""
    line_plane: Rows
    line_id: Ints
    line_name: list[str]
    origin_ns: int
    """The time subtracted from all starts: 0, unless the trace counts from 1970."""
    line: Rows
    """The line of each event. This column and those below have one entry for each event."""
    name: Rows
    """Index into `strings`; 0 when the event's metadata is missing."""
    display_name: Rows
    """Index into `strings`; 0 when there is none."""
    start_ps: Ints
    """Line timestamp plus offset; an aggregated event has no offset and starts with its line."""
    duration_ps: Ints
    _stats: "_Stats" = field(repr=False)

    def stat(self, name: str) -> Stat:
        """Decode the stat of that name on all events that carry it; the second call is free."""
        return self._stats.read(name)


def read_xspace(data: bytes, source: str = "trace") -> XSpace:
    """Read the bytes of an XSpace; `source` is the file's name, for errors."""
    buffer = Buffer(data, source)
    strings = _Strings()
    planes = scan(buffer, buffer.all()).messages(SPACE_PLANE)
    in_planes = scan(buffer, planes)
    stat_metadata = _read_metadata(buffer, in_planes.messages(PLANE_STAT_METADATA), strings)
    event_metadata = _read_metadata(buffer, in_planes.messages(PLANE_EVENT_METADATA), strings)
    plane_stats = in_planes.messages(PLANE_STAT)
    lines = in_planes.messages(PLANE_LINE)
    event_spans, in_lines = scan_long(buffer, lines, EVENTS)
    timestamp_ns = in_lines.numbers(LINE_TIMESTAMP_NS, len(lines))
    origin_ns = _origin_ns(
        source, timestamp_ns[np.bincount(event_spans.row, minlength=len(lines)) > 0]
    )
    line_plane = lines.row.astype(np.int32)
    events = _read_events(buffer, event_spans, line_plane, event_metadata)
    return XSpace(
        strings=strings.texts,
        plane_names=_shown(in_planes.texts(PLANE_NAME, len(planes), data)),
        plane_stats=_read_plane_stats(buffer, plane_stats, len(planes), stat_metadata, strings),
        line_plane=line_plane,
        line_id=in_lines.numbers(LINE_ID, len(lines)),
        line_name=_shown(in_lines.texts(LINE_NAME, len(lines), data)),
        origin_ns=origin_ns,
        line=events.line,
        name=events.name,
        display_name=events.display_name,
        start_ps=((timestamp_ns - origin_ns) * 1000)[events.line] + events.offset_ps,
        duration_ps=events.duration_ps,
        _stats=_Stats(buffer, strings, stat_metadata, events.plane, events.stats),
    )


def _shown(texts: list[bytes]) -> list[str]:
    return [text.decode(errors="replace") for text in texts]


class _Strings:
    """A table of distinct texts."""

    def __init__(self) -> None:
        self.texts = [b""]
        self.rows = {b"": 0}

    def add(self, text: bytes) -> int:
        row = self.rows.setdefault(text, len(self.texts))
        if row == len(self.texts):
            self.texts.append(text)
        return row

    def add_all(self, texts: list[bytes]) -> Rows:
        return np.fromiter(map(self.add, texts), np.int32, len(texts))


@dataclass(frozen=True, slots=True)
class _Metadata:
    """What the ids of each plane stand for, by plane and id; the last row is for unknown ids."""

    plane: Ints
    id: Ints
    name: Rows
    display_name: Rows

    def find(self, plane: Positions, ids: Ints) -> Ints:
        """Find the row of each id in its plane, or -1, the last row."""
        found = np.empty(len(ids), np.int64)
        for here in _runs(plane):
            first, end = np.searchsorted(self.plane[:-1], plane[here.start] + np.arange(2))
            row = first - 1 + np.searchsorted(self.id[first:end], ids[here], side="right")
            found[here] = np.where((row >= first) & (self.id[row] == ids[here]), row, -1)
        return found


def _runs(values: Positions) -> Iterator[slice]:
    """Yield the slices of equal neighbours."""
    borders = np.flatnonzero(values[1:] != values[:-1]) + 1
    for start, stop in pairwise([0, *borders.tolist(), len(values)]):
        if start < stop:
            yield slice(start, stop)


def _read_metadata(buffer: Buffer, entries: Spans, strings: _Strings) -> _Metadata:
    """Read the entries of the metadata maps of all planes."""
    count = len(entries)
    in_entries = scan(buffer, entries)
    ids = in_entries.numbers(ENTRY_KEY, count)
    metadata = in_entries.last(count, ENTRY_VALUE)
    in_metadata = scan(buffer, Spans(metadata.row, metadata.begin, metadata.value))
    names = strings.add_all(in_metadata.texts(METADATA_NAME, count, buffer.data))
    display_names = strings.add_all(in_metadata.texts(METADATA_DISPLAY_NAME, count, buffer.data))
    order = np.lexsort((ids, entries.row))  # stable: of equal ids the last stays last
    return _Metadata(
        plane=np.append(entries.row[order], -1),
        id=np.append(ids[order], 0),
        name=np.append(names[order], np.int32(0)),
        display_name=np.append(display_names[order], np.int32(0)),
    )


@dataclass(frozen=True, slots=True)
class _Events:
    plane: Rows
    line: Rows
    name: Rows
    display_name: Rows
    offset_ps: Ints
    duration_ps: Ints
    stats: Spans


def _read_events(buffer: Buffer, events: Spans, line_plane: Rows, metadata: _Metadata) -> _Events:
    name, display_name = np.empty(len(events), np.int32), np.empty(len(events), np.int32)
    offset_ps, duration_ps = np.empty(len(events), np.int64), np.empty(len(events), np.int64)
    line = events.row.astype(np.int32)
    plane = line_plane[line]
    stats = []
    for block, fields in scan_blocks(buffer, events):
        count = block.stop - block.start
        ids = fields.numbers(EVENT_METADATA_ID, count)
        found = metadata.find(plane[block], ids)
        name[block] = metadata.name[found]
        display_name[block] = metadata.display_name[found]
        timing = fields.last(count, EVENT_OFFSET_PS, EVENT_OCCURRENCES)
        offset_ps[block] = np.where(timing.tag == EVENT_OFFSET_PS, timing.value, 0)
        duration_ps[block] = fields.numbers(EVENT_DURATION_PS, count)
        in_block = fields.messages(EVENT_STAT)
        in_block.row[:] += block.start
        stats.append(in_block.narrow(len(buffer.data)))
    return _Events(plane, line, name, display_name, offset_ps, duration_ps, Spans.join(stats))


def _origin_ns(source: str, timestamp_ns: Ints) -> int:
    """Choose what to subtract from the timestamps so that int64 can hold them in ps."""
    first, last = int(timestamp_ns.min(initial=0)), int(timestamp_ns.max(initial=0))
    if first >= -LARGEST_NS and last <= LARGEST_NS:
        return 0
    first, last = int(timestamp_ns.min()), int(timestamp_ns.max())
    if last - first > LARGEST_NS:
        raise NbprofError(
            f"{source} is not a readable XSpace trace: its lines start between {first} ns and "
            f"{last} ns, where at most 106 days were expected."
        )
    return first


def _read_plane_stats(
    buffer: Buffer, stats: Spans, planes: int, metadata: _Metadata, strings: _Strings
) -> list[dict[str, int | float | bytes]]:
    fields = scan(buffer, stats)
    values = fields.last(len(stats), *STAT_VALUES)
    names = metadata.name[metadata.find(stats.row, fields.numbers(STAT_METADATA_ID, len(stats)))]
    references = metadata.name[metadata.find(stats.row, values.value.view(np.int64))]
    numbers: dict[int, npt.NDArray[Any]] = {
        STAT_DOUBLE: values.value.view(np.float64),
        STAT_UINT64: values.value,
        STAT_INT64: values.value.view(np.int64),
    }
    tables: list[dict[str, int | float | bytes]] = [{} for _ in range(planes)]
    for row in np.flatnonzero(values.tag):
        tag, begin = int(values.tag[row]), int(values.begin[row])
        value: int | float | bytes
        if tag in numbers:
            value = numbers[tag][row].item()
        elif tag == STAT_REFERENCE:
            value = strings.texts[references[row]]
        else:
            value = buffer.data[begin : begin + int(values.value[row])]
        tables[stats.row[row]][strings.texts[names[row]].decode(errors="replace")] = value
    return tables


@dataclass(frozen=True, eq=False)
class _Stats:
    """The stats of all events: where they are, and those decoded so far."""

    buffer: Buffer
    strings: _Strings
    metadata: _Metadata
    event_plane: Rows
    spans: Spans
    decoded: dict[str, Stat] = field(default_factory=dict)

    def read(self, name: str) -> Stat:
        if name not in self.decoded:
            self.decoded[name] = self._decode(name.encode(errors="replace"))
        return self.decoded[name]

    @cached_property
    def name(self) -> Rows:
        """The name of each stat, as an index into the strings."""
        name = np.empty(len(self.spans), np.int32)
        for block, fields in scan_blocks(self.buffer, self.spans):
            ids = fields.numbers(STAT_METADATA_ID, block.stop - block.start)
            plane = self.event_plane[self.spans.row[block]]
            name[block] = self.metadata.name[self.metadata.find(plane, ids)]
        return name

    def _decode(self, name: bytes) -> Stat:
        chosen = self.spans[np.flatnonzero(self.name == self.strings.rows.get(name, -1))]
        values = scan(self.buffer, chosen).last(len(chosen), *STAT_VALUES)
        present = np.flatnonzero(values.tag)
        event = chosen.row[present].astype(np.int64)
        is_last = np.append(event[1:] != event[:-1], True)[: len(event)]
        event, values = event[is_last], values.take(present[is_last])
        if np.isin(values.tag, (STAT_TEXT, STAT_BYTES, STAT_REFERENCE)).any():
            return Stat(event, self._texts(event, values), is_text=True)
        return Stat(event, _numbers(values), is_text=False)

    def _texts(self, event: Ints, values: Fields) -> Rows:
        """Index the texts; and the numbers, which the profiler makes of texts that look so."""
        texts = np.empty(len(event), np.int32)
        written = np.isin(values.tag, (STAT_TEXT, STAT_BYTES))
        payloads = values.where(STAT_TEXT, STAT_BYTES).payloads(self.buffer.data)
        texts[written] = self.strings.add_all(payloads)
        referring = values.tag == STAT_REFERENCE
        ids = values.value[referring].view(np.int64)
        found = self.metadata.find(self.event_plane[event[referring]], ids)
        texts[referring] = self.metadata.name[found]
        other = np.flatnonzero(~(written | referring))
        numbers, inverse = np.unique(_numbers(values.take(other)), return_inverse=True)
        texts[other] = self.strings.add_all([b"%r" % n for n in numbers.tolist()])[inverse]
        return texts


def _numbers(values: Fields) -> npt.NDArray[np.int64] | npt.NDArray[np.float64]:
    """Read the values of stats as int64, or as float64 if one of them is a double."""
    double = values.tag == STAT_DOUBLE
    if not double.any():
        return values.value.view(np.int64)
    integers = np.where(
        values.tag == STAT_UINT64, values.value, values.value.view(np.int64).astype(float)
    )
    return np.where(double, values.value.view(np.float64), integers)

"""Read a trace of TensorFlow's profiler (an XSpace, ``*.xplane.pb``) into numpy columns.

`read_xspace` takes the bytes of a file and needs neither TensorFlow nor protobuf. A trace holds
millions of events and several stats on each; none becomes a Python object. The file is read level
by level (planes, lines, events, stats), all messages of a level at once, each level giving the
positions of the next. Of the events and stats only those are kept that are `Wanted`: most of a
trace tells of the runtime's own housekeeping.

Nothing is believed: every length is checked against the message around it, and a damaged file ends
in an `NbprofError` which names the file and the byte. Unknown fields are skipped. Texts stay bytes,
since the profiler writes some which are not UTF-8.

Stats that are not wanted are passed over by their lengths, so damage inside them is not seen.

The field numbers are those of ``tsl/profiler/protobuf/xplane.proto``.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from nbprof.arrays import Ints, Words
from nbprof.errors import NbprofError
from nbprof.ingest.protobuf.growable import reuse_freed_memory
from nbprof.ingest.protobuf.long_messages import Inner, scan_long
from nbprof.ingest.protobuf.wire import LENGTH, VARINT, Buffer, Spans, scan
from nbprof.ingest.xspace.event_search import find_events
from nbprof.ingest.xspace.events import (
    EVENT_OCCURRENCES,
    EVENT_OFFSET_PS,
    STAT_DOUBLE,
    STAT_INT64,
    STAT_REFERENCE,
    STAT_UINT64,
    STAT_VALUES,
    EventReader,
    Events,
    Values,
)
from nbprof.ingest.xspace.id_tables import Ids, Metadata, Strings, read_metadata
from nbprof.ingest.xspace.stat_picker import STAT_METADATA_ID
from nbprof.ingest.xspace.wanted import Wanted
from nbprof.progress import Done, no_matter

Tags = npt.NDArray[np.uint8]


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

# An event begins with its metadata id and its offset or number of occurrences. A stat has the same
# tag in an event as an event has in a line, but never goes on so.
EVENTS = Inner(LINE_EVENT, (EVENT_OFFSET_PS, EVENT_OCCURRENCES))

LONG = 1 << 20
"""Lines of more bytes are read part by part."""

LARGEST_NS = (2**63 - 1) // 1000
"""The longest time in ns, 106 days, that int64 can hold in ps."""


@dataclass(frozen=True, eq=False, slots=True)
class Stat:
    """One stat of all events which carry it."""

    event: Ids
    """Ids of the events, ascending."""
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
    line_plane: Ids
    line_id: Ints
    line_name: list[str]
    origin_ns: int
    """The time subtracted from all starts: 0, unless the trace counts from 1970."""
    line: Ids
    """The line of each event. This column and those below have one entry for each event kept."""
    kind: npt.NDArray[np.int8]
    """What `Wanted.kind` says of the event."""
    name: Ids
    """Index into `strings`; 0 when the event's metadata is missing."""
    display_name: Ids
    """Index into `strings`; 0 when there is none."""
    start_ps: Ints
    """Line timestamp plus offset; an aggregated event has no offset and starts with its line."""
    duration_ps: Ints
    _stats: "_Stats" = field(repr=False)

    def stat(self, name: str) -> Stat:
        """Decode the stat of that name on all events that carry it; the second call is free."""
        return self._stats.read(name)


def read_xspace(
    data: bytes, source: str = "trace", wanted: Wanted | None = None, done: Done = no_matter
) -> XSpace:
    """Read the bytes of an XSpace; `source` is the file's name, for errors.

    `done` is told of half the bytes as events are looked for, of the others as they are read.
    """
    return read_space(Buffer(data, source), wanted, done)


def read_space(buffer: Buffer, wanted: Wanted | None, done: Done = no_matter) -> XSpace:
    """Read an XSpace, of which long lines need not be in memory."""
    reuse_freed_memory()
    if not buffer.in_memory:
        _hold_outline(buffer)
    strings = Strings()
    planes = scan(buffer, buffer.all()).messages(SPACE_PLANE)
    in_planes = scan(buffer, planes)
    plane_names = _shown(in_planes.texts(PLANE_NAME, len(planes), buffer.data))
    stat_metadata = read_metadata(buffer, in_planes.messages(PLANE_STAT_METADATA), strings)
    event_metadata = read_metadata(buffer, in_planes.messages(PLANE_EVENT_METADATA), strings)
    plane_stats = in_planes.messages(PLANE_STAT)
    lines = in_planes.messages(PLANE_LINE)
    read = find_events(buffer, lines, done)
    if read is None:
        buffer.hold(0, len(buffer.data))
        read = scan_long(buffer, lines, EVENTS)
    in_lines = read.others
    timestamp_ns = in_lines.numbers(LINE_TIMESTAMP_NS, len(lines))
    has_events = np.zeros(len(lines), np.bool_)
    has_events[read.inner.row] = True
    origin_ns = _origin_ns(buffer.source, timestamp_ns[has_events])
    line_plane = lines.row.astype(np.int32)
    reader = EventReader(buffer, strings, event_metadata, stat_metadata, plane_names, wanted)
    events = reader.read(read, line_plane, done)
    return XSpace(
        strings=strings.texts,
        plane_names=plane_names,
        plane_stats=_read_plane_stats(buffer, plane_stats, len(planes), stat_metadata, strings),
        line_plane=line_plane,
        line_id=in_lines.numbers(LINE_ID, len(lines)),
        line_name=_shown(in_lines.texts(LINE_NAME, len(lines), buffer.data)),
        origin_ns=origin_ns,
        line=events.line,
        kind=events.kind,
        name=events.name,
        display_name=events.display_name,
        start_ps=_starts((timestamp_ns - origin_ns) * 1000, events),
        duration_ps=events.duration_ps,
        _stats=_Stats(strings, events.values),
    )


def _hold_outline(buffer: Buffer) -> None:
    """Have all but the insides of long lines at hand, or all of what is no sound trace."""
    try:
        for tag, size, begin in buffer.fields(0, len(buffer.data)):
            if tag == SPACE_PLANE:
                _hold_plane(buffer, begin, begin + size)
            elif tag & 7 == LENGTH:
                buffer.hold(begin, begin + size)
    except NbprofError:
        buffer.hold(0, len(buffer.data))  # whoever reads on will say what is wrong


def _hold_plane(buffer: Buffer, position: int, end: int) -> None:
    while end - position > LONG:
        tag, size, begin, position = buffer.field(position, end)
        if tag & 7 == LENGTH and not (tag == PLANE_LINE and size > LONG):
            buffer.hold(begin, position)
    buffer.hold(position, end)  # too short for a long line


def _starts(of_line: Ints, events: Events) -> Ints:
    """Give the time at which each event starts, in the room of the offsets."""
    start = events.offset_ps
    start += of_line[events.line]
    return start


def _shown(texts: list[bytes]) -> list[str]:
    return [text.decode(errors="replace") for text in texts]


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
    buffer: Buffer, stats: Spans, planes: int, metadata: Metadata, strings: Strings
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


NO_VALUES = Values(np.zeros(0, np.int32), np.zeros(0, np.uint8), np.zeros(0, np.uint64))


@dataclass(frozen=True, eq=False)
class _Stats:
    """The values of the stats that were kept, by name, and those taken so far."""

    strings: Strings
    values: dict[int, Values]
    taken: dict[str, Stat] = field(default_factory=dict)

    def read(self, name: str) -> Stat:
        if name not in self.taken:
            self.taken[name] = self._take(name.encode(errors="replace"))
        return self.taken[name]

    def _take(self, name: bytes) -> Stat:
        values = self.values.get(self.strings.rows.get(name, -1), NO_VALUES)
        event, tag, value = values.event, values.tag, values.value
        is_last = np.append(event[1:] != event[:-1], True)[: len(event)]
        if not is_last.all():
            event, tag, value = event[is_last], tag[is_last], value[is_last]
        if (tag == STAT_REFERENCE).any():
            return Stat(event, self._texts(tag, value), is_text=True)
        return Stat(event, _numbers(tag, value), is_text=False)

    def _texts(self, tag: Tags, value: Words) -> Ids:
        """Index the texts; and the numbers, which the profiler makes of texts that look so."""
        texts = value.astype(np.int32)
        other = np.flatnonzero(tag != STAT_REFERENCE)
        if len(other):
            numbers, inverse = np.unique(_numbers(tag[other], value[other]), return_inverse=True)
            texts[other] = self.strings.add_all([b"%r" % n for n in numbers.tolist()])[inverse]
        return texts


def _numbers(tag: Tags, value: Words) -> npt.NDArray[np.int64] | npt.NDArray[np.float64]:
    """Read the values of stats as int64, or as float64 if one of them is a double."""
    double = tag == STAT_DOUBLE
    if not double.any():
        return value.view(np.int64)
    integers = np.where(tag == STAT_UINT64, value, value.view(np.int64).astype(float))
    return np.where(double, value.view(np.float64), integers)

"""Read a trace of TensorFlow's profiler (an XSpace, ``*.xplane.pb``) into numpy columns.

`read_xspace` takes the bytes of a file and needs neither TensorFlow nor protobuf. A trace has
millions of events with several stats each; none becomes a Python object. The file is read level by
level (planes, lines, events, stats), all messages of a level at once, each level finding the
positions of the next. Only the events and stats that are `Wanted` are kept: most of a trace is the
runtime's own housekeeping.

The reader trusts nothing: it checks every length against the enclosing message, and a damaged file
raises an `NbprofError` that names the file and the byte. It skips unknown fields. Texts stay bytes,
as the profiler writes some that are not UTF-8.

Unwanted stats are skipped by their lengths, so damage inside them goes unnoticed.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from nbprof.arrays import Floats, Ints, Words
from nbprof.errors import NbprofError
from nbprof.ingest.protobuf.growable import reuse_freed_memory
from nbprof.ingest.protobuf.long_messages import Inner, Long, scan_long
from nbprof.ingest.protobuf.wire import LENGTH, Buffer, Spans, scan
from nbprof.ingest.xspace.event_columns import Values
from nbprof.ingest.xspace.event_search import find_events
from nbprof.ingest.xspace.events import EventReader
from nbprof.ingest.xspace.id_tables import Ids, Strings, read_id_tables
from nbprof.ingest.xspace.metadata_stats import StatNames, decode_names, read_plane_stats
from nbprof.ingest.xspace.selection import Wanted, select
from nbprof.ingest.xspace.xplane_fields import (
    EVENT_OCCURRENCES,
    EVENT_OFFSET_PS,
    LINE_EVENT,
    LINE_ID,
    LINE_NAME,
    LINE_TIMESTAMP_NS,
    PLANE_LINE,
    PLANE_NAME,
    PLANE_STAT,
    SPACE_PLANE,
    STAT_DOUBLE,
    STAT_REFERENCE,
    STAT_UINT64,
)
from nbprof.progress import Done, ignore_progress

Tags = npt.NDArray[np.uint8]

# A stat has the same tag in an event as an event has in a line, but its second field differs.
EVENTS = Inner(LINE_EVENT, (EVENT_OFFSET_PS, EVENT_OCCURRENCES))
"""What events look like: a metadata id, then an offset or a number of occurrences."""

LONG = 1 << 20
"""Size in bytes beyond which a line is read part by part."""

LARGEST_NS = (2**63 - 1) // 1000
"""Longest time in ns that int64 can hold in ps: 106 days."""


@dataclass(frozen=True, eq=False, slots=True)
class Stat:
    """One stat of all events that carry it."""

    event: Ids
    """The events, ascending."""
    value: Ints | Floats | npt.NDArray[np.int32]
    """Numbers (a uint64 of 2⁶³ or more wraps to negative), or indices into `XSpace.strings`."""
    is_text: bool


@dataclass(frozen=True, eq=False)
class XSpace:
    """The planes, lines and events of a trace, in file order."""

    strings: list[bytes]
    """Distinct texts: names, display names, texts of stats; the first is empty."""
    plane_names: list[str]
    plane_stats: list[dict[str, Any]]
    """The stats of each plane itself; each value is an int, a float or bytes."""
    line_plane: Ids
    line_id: Ints
    line_name: list[str]
    origin_ns: int
    """Time subtracted from all starts: 0, unless the trace counts from 1970."""
    line: Ids
    """The line of each event; this column and those below have one entry per event kept."""
    kind: npt.NDArray[np.int8]
    """The kind of the event by `Wanted.kind`."""
    name: Ids
    """Index into `strings`; 0 if the event's metadata is missing."""
    display_name: Ids
    """Index into `strings`; 0 if there is none."""
    start_ps: Ints
    """Line timestamp plus offset; an aggregated event has no offset and starts with its line."""
    duration_ps: Ints
    _stats: "_Stats" = field(repr=False)

    def stat(self, name: str) -> Stat:
        """Return the stat of that name on all events that carry it; the result is cached."""
        return self._stats.read(name)


def read_xspace(
    data: bytes, source: str = "trace", wanted: Wanted | None = None, done: Done = ignore_progress
) -> XSpace:
    """Read the bytes of an XSpace; `source` is the file's name, for errors.

    `done` receives half of the bytes while events are searched for, the rest while they are read.
    """
    return read_space(Buffer(data, source), wanted, done)


def read_space(buffer: Buffer, wanted: Wanted | None, done: Done = ignore_progress) -> XSpace:
    """Read an XSpace from a buffer, which need not hold long lines in memory."""
    reuse_freed_memory()
    if not buffer.in_memory:
        _hold_outline(buffer)
    planes = scan(buffer, buffer.all()).messages(SPACE_PLANE)
    fields = scan(buffer, planes)
    plane_names = decode_names(fields.texts(PLANE_NAME, len(planes), buffer.data))
    tables = read_id_tables(buffer, fields)
    lines = _read_lines(buffer, fields.messages(PLANE_LINE), done)
    reader = EventReader(buffer, tables, select(wanted, tables, plane_names))
    events = reader.read(lines.contents, lines.plane, done)
    stat_names = StatNames(tables.stats, tables.strings)
    plane_stats = read_plane_stats(buffer, fields.messages(PLANE_STAT), len(planes), stat_names)
    start_ps = events.offset_ps
    start_ps += ((lines.timestamp_ns - lines.origin_ns) * 1000)[events.line]
    return XSpace(
        strings=tables.strings.texts,
        plane_names=plane_names,
        plane_stats=plane_stats,
        line_plane=lines.plane,
        line_id=lines.id,
        line_name=lines.name,
        origin_ns=lines.origin_ns,
        line=events.line,
        kind=events.kind,
        name=events.name,
        display_name=events.display_name,
        start_ps=start_ps,
        duration_ps=events.duration_ps,
        _stats=_Stats(tables.strings, events.values),
    )


@dataclass(frozen=True, slots=True)
class _Lines:
    """The lines of all planes, and where their events are."""

    plane: Ids
    id: Ints
    name: list[str]
    timestamp_ns: Ints
    origin_ns: int
    """Time to subtract from all timestamps."""
    contents: Long


def _read_lines(buffer: Buffer, lines: Spans, done: Done) -> _Lines:
    contents = find_events(buffer, lines, done)
    if contents is None:
        buffer.hold(0, len(buffer.data))
        contents = scan_long(buffer, lines, EVENTS)
    fields = contents.others
    timestamp_ns = fields.numbers(LINE_TIMESTAMP_NS, len(lines))
    has_events = np.zeros(len(lines), np.bool_)
    has_events[contents.inner.row] = True
    return _Lines(
        plane=lines.row.astype(np.int32),
        id=fields.numbers(LINE_ID, len(lines)),
        name=decode_names(fields.texts(LINE_NAME, len(lines), buffer.data)),
        timestamp_ns=timestamp_ns,
        origin_ns=_origin_ns(buffer.source, timestamp_ns[has_events]),
        contents=contents,
    )


def _hold_outline(buffer: Buffer) -> None:
    """Fetch everything but the contents of long lines, or all of a damaged trace."""
    try:
        for tag, size, begin in buffer.fields(0, len(buffer.data)):
            if tag == SPACE_PLANE:
                _hold_plane(buffer, begin, begin + size)
            elif tag & 7 == LENGTH:
                buffer.hold(begin, begin + size)
    except NbprofError:
        buffer.hold(0, len(buffer.data))  # the reader proper raises the error


def _hold_plane(buffer: Buffer, position: int, end: int) -> None:
    while end - position > LONG:
        tag, size, begin, position = buffer.field(position, end)
        if tag & 7 == LENGTH and not (tag == PLANE_LINE and size > LONG):
            buffer.hold(begin, position)
    buffer.hold(position, end)  # too short to contain a long line


def _origin_ns(source: str, timestamp_ns: Ints) -> int:
    """Return the time to subtract from all timestamps so that int64 can hold them in ps."""
    first, last = int(timestamp_ns.min(initial=0)), int(timestamp_ns.max(initial=0))
    if first >= -LARGEST_NS and last <= LARGEST_NS:
        return 0
    first, last = int(timestamp_ns.min()), int(timestamp_ns.max())
    if last - first > LARGEST_NS:
        raise NbprofError(
            f"{source} is not a readable XSpace trace: its lines start more than 106 days apart, "
            f"at {first} ns and {last} ns."
        )
    return first


NO_VALUES = Values(np.zeros(0, np.int32), np.zeros(0, np.uint8), np.zeros(0, np.uint64))
"""The values of a stat that no event carries."""


@dataclass(frozen=True, eq=False)
class _Stats:
    """The stats of events, decoded on request."""

    strings: Strings
    values: dict[int, Values]
    decoded: dict[str, Stat] = field(default_factory=dict)

    def read(self, name: str) -> Stat:
        if name not in self.decoded:
            self.decoded[name] = self._decode(name.encode(errors="replace"))
        return self.decoded[name]

    def _decode(self, name: bytes) -> Stat:
        values = self.values.get(self.strings.rows.get(name, -1), NO_VALUES)
        event, tag, value = values.event, values.tag, values.value
        is_last = np.append(event[1:] != event[:-1], True)[: len(event)]
        if not is_last.all():
            event, tag, value = event[is_last], tag[is_last], value[is_last]
        if (tag == STAT_REFERENCE).any():
            return Stat(event, self._texts(tag, value), is_text=True)
        return Stat(event, _numbers(tag, value), is_text=False)

    def _texts(self, tag: Tags, value: Words) -> Ids:
        """Return rows of the table of texts.

        The profiler writes texts that look like numbers as numbers; they become texts again.
        """
        texts = value.astype(np.int32)
        other = np.flatnonzero(tag != STAT_REFERENCE)
        if len(other):
            numbers, inverse = np.unique(_numbers(tag[other], value[other]), return_inverse=True)
            texts[other] = self.strings.add_all([b"%r" % n for n in numbers.tolist()])[inverse]
        return texts


def _numbers(tag: Tags, value: Words) -> Ints | Floats:
    """Return the values of a stat as int64, or as float64 if any is a double."""
    double = tag == STAT_DOUBLE
    if not double.any():
        return value.view(np.int64)
    integers = np.where(tag == STAT_UINT64, value, value.view(np.int64).astype(float))
    return np.where(double, value.view(np.float64), integers)

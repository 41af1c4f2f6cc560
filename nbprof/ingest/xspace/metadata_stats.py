"""Stats of planes and of event metadata, as Python values: there are few of them.

Some planes store stats once for each HLO op, in the metadata of its events, instead of at each run.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nbprof.arrays import Ints, Positions
from nbprof.ingest.protobuf.wire import Buffer, Spans, scan
from nbprof.ingest.xspace.id_tables import Metadata, Strings, read_entries, read_metadata
from nbprof.ingest.xspace.xplane_fields import (
    METADATA_DISPLAY_NAME,
    METADATA_NAME,
    METADATA_STAT,
    PLANE_EVENT_METADATA,
    PLANE_NAME,
    PLANE_STAT_METADATA,
    SPACE_PLANE,
    STAT_DOUBLE,
    STAT_INT64,
    STAT_METADATA_ID,
    STAT_REFERENCE,
    STAT_UINT64,
    STAT_VALUES,
)

EventName = tuple[str, bytes, bytes]
"""The name of a plane, and the name and display name of an event in it."""
Stats = dict[bytes, Any]
"""Stats by name; a value is an int, a float, or the bytes of a text."""


class StatNames(NamedTuple):
    """The names of stats."""

    metadata: Metadata
    strings: Strings

    def find(self, plane: Positions, ids: Ints) -> list[bytes]:
        """Return the name of each id in its plane, empty if it is unknown."""
        rows = self.metadata.name[self.metadata.find(plane, ids)]
        return [self.strings.texts[row] for row in rows.tolist()]


def read_event_metadata(
    data: bytes, source: str, is_wanted: Callable[[str], bool]
) -> dict[EventName, Stats]:
    """Read the stats in the event metadata of the planes whose names are wanted."""
    buffer = Buffer(data, source)
    planes = scan(buffer, buffer.all()).messages(SPACE_PLANE)
    fields = scan(buffer, planes)
    plane_names = decode_names(fields.texts(PLANE_NAME, len(planes), data))
    wanted = np.array([is_wanted(name) for name in plane_names], np.bool_)
    if not wanted.any():
        return {}

    def wanted_entries(tag: int) -> Spans:
        entries = fields.messages(tag)
        return entries[np.flatnonzero(wanted[entries.row])]

    strings = Strings()
    metadata = read_metadata(buffer, wanted_entries(PLANE_STAT_METADATA), strings)
    entries = wanted_entries(PLANE_EVENT_METADATA)
    return _read_event_stats(buffer, entries, plane_names, StatNames(metadata, strings))


def _read_event_stats(
    buffer: Buffer, entries: Spans, plane_names: list[str], stat_names: StatNames
) -> dict[EventName, Stats]:
    _, fields = read_entries(buffer, entries)
    names = fields.texts(METADATA_NAME, len(entries), buffer.data)
    display_names = fields.texts(METADATA_DISPLAY_NAME, len(entries), buffer.data)
    spans = fields.messages(METADATA_STAT)
    stats_of_entry: dict[int, Stats] = {}
    for row, name, value in _read_stats(buffer, spans, entries.row[spans.row], stat_names):
        stats_of_entry.setdefault(row, {})[name] = value
    found: dict[EventName, Stats] = {}
    for row, stats in stats_of_entry.items():
        plane_name = plane_names[int(entries.row[row])]
        found.setdefault((plane_name, names[row], display_names[row]), stats)
    return found


def read_plane_stats(
    buffer: Buffer, stats: Spans, count: int, stat_names: StatNames
) -> list[dict[str, Any]]:
    """Return the stats of each of `count` planes, by name."""
    tables: list[dict[str, Any]] = [{} for _ in range(count)]
    for plane, name, value in _read_stats(buffer, stats, stats.row, stat_names):
        tables[plane][name.decode(errors="replace")] = value
    return tables


def decode_names(names: list[bytes]) -> list[str]:
    """Decode names for display; invalid UTF-8 becomes U+FFFD."""
    return [name.decode(errors="replace") for name in names]


def _read_stats(
    buffer: Buffer, stats: Spans, plane: Positions, stat_names: StatNames
) -> Iterator[tuple[int, bytes, Any]]:
    """Yield the row, name and value of every stat that has a value."""
    fields = scan(buffer, stats)
    values = fields.last(len(stats), *STAT_VALUES)
    integers = values.value.view(np.int64)
    names = stat_names.find(plane, fields.numbers(STAT_METADATA_ID, len(stats)))
    references = stat_names.find(plane, integers)
    numbers: dict[int, npt.NDArray[Any]] = {
        STAT_DOUBLE: values.value.view(np.float64),
        STAT_UINT64: values.value,
        STAT_INT64: integers,
    }
    for index in np.flatnonzero(values.tag).tolist():
        tag, begin = int(values.tag[index]), int(values.begin[index])
        value: Any
        if tag in numbers:
            value = numbers[tag][index].item()
        elif tag == STAT_REFERENCE:
            value = references[index]
        else:
            value = buffer.data[begin : begin + int(values.value[index])]
        yield int(stats.row[index]), names[index], value

"""The stats of kinds of events, which some planes have once for each HLO op, not at each run.

Only the metadata of the planes asked for is read; a trace without such planes costs nothing.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from nbprof.ingest.protobuf.wire import FIXED64, LENGTH, VARINT, Buffer, Spans, scan

SPACE_PLANE = 1 << 3 | LENGTH
PLANE_NAME, PLANE_KINDS, PLANE_STATS = (number << 3 | LENGTH for number in (2, 4, 5))
ENTRY_KEY, ENTRY_VALUE = 1 << 3 | VARINT, 2 << 3 | LENGTH
KIND_NAME, KIND_SHOWN, KIND_STAT = (number << 3 | LENGTH for number in (2, 4, 5))
STAT_ID, REFERENCE = 1 << 3 | VARINT, 7 << 3 | VARINT
DOUBLE, UNSIGNED, SIGNED = 2 << 3 | FIXED64, 3 << 3 | VARINT, 4 << 3 | VARINT
TEXT, BYTES = 5 << 3 | LENGTH, 6 << 3 | LENGTH

Name = tuple[str, bytes, bytes]
"""The name of a plane, and the name and display name of a kind of events in it."""
Stats = dict[bytes, Any]


def read_event_metadata(
    data: bytes, source: str, is_asked_for: Callable[[str], bool]
) -> dict[Name, Stats]:
    """Read the stats of the kinds of events in the planes whose names are asked for.

    Numbers are numbers, all else is bytes.
    """
    buffer = Buffer(data, source)
    planes = scan(buffer, buffer.all()).messages(SPACE_PLANE)
    found: dict[Name, Stats] = {}
    for number in range(len(planes)):
        plane = Spans(
            np.zeros(1, np.int64), *(part[number : number + 1] for part in _place(planes))
        )
        fields = scan(buffer, plane)
        name = fields.texts(PLANE_NAME, 1, data)[0].decode(errors="replace")
        if is_asked_for(name):
            texts = _stat_names(buffer, fields.messages(PLANE_STATS))
            for kind, shown, stats in _kinds(buffer, fields.messages(PLANE_KINDS), texts):
                found.setdefault((name, kind, shown), stats)
    return found


def _place(spans: Spans) -> tuple[Any, Any]:
    return spans.begin, spans.size


def _stat_names(buffer: Buffer, entries: Spans) -> dict[int, bytes]:
    ids, values = _entries(buffer, entries)
    names = scan(buffer, values).texts(KIND_NAME, len(values), buffer.data)
    return dict(zip(ids, names, strict=True))


def _entries(buffer: Buffer, entries: Spans) -> tuple[list[int], Spans]:
    """Give the keys of a map and where their values are."""
    fields = scan(buffer, Spans(np.arange(len(entries)), entries.begin, entries.size))
    values = fields.last(len(entries), ENTRY_VALUE)
    ids = fields.numbers(ENTRY_KEY, len(entries)).tolist()
    return ids, Spans(values.row, values.begin, values.value)


def _kinds(
    buffer: Buffer, entries: Spans, texts: dict[int, bytes]
) -> Iterator[tuple[bytes, bytes, Stats]]:
    """Yield name, display name and stats of the kinds of events that have any stats."""
    _, values = _entries(buffer, entries)
    fields = scan(buffer, values)
    names = fields.texts(KIND_NAME, len(values), buffer.data)
    shown = fields.texts(KIND_SHOWN, len(values), buffer.data)
    spans = fields.messages(KIND_STAT)
    stats: dict[int, Stats] = {}
    owners = spans.row.tolist()
    for owner, (name, value) in zip(owners, _stats(buffer, spans, texts), strict=True):
        stats.setdefault(owner, {})[name] = value
    for owner, known in stats.items():
        yield names[owner], shown[owner], known


def _stats(buffer: Buffer, spans: Spans, texts: dict[int, bytes]) -> Iterator[tuple[bytes, Any]]:
    count = len(spans)
    fields = scan(buffer, Spans(np.arange(count), spans.begin, spans.size))
    ids = fields.numbers(STAT_ID, count).tolist()
    given = fields.last(count, DOUBLE, UNSIGNED, SIGNED, TEXT, BYTES, REFERENCE)
    doubles, signed = given.value.view(np.float64), given.value.view(np.int64)
    for row, (tag, begin) in enumerate(zip(given.tag.tolist(), given.begin.tolist(), strict=True)):
        value: Any = int(given.value[row])
        if tag == DOUBLE:
            value = float(doubles[row])
        elif tag == SIGNED:
            value = int(signed[row])
        elif tag in (TEXT, BYTES):
            value = buffer.data[begin : begin + value]
        elif tag == REFERENCE:
            value = texts.get(value, b"")
        yield texts.get(ids[row], b""), value

"""Write the bytes of an XSpace field by field, as the profiler or an adversary would.

    space(
        plane(
            "/host:CPU",
            lines=[line(7, "python", 0, events=[event("MatMul:MatMul", 5, 10, {"id": 7})])],
            stats={"profile_start_time": Unsigned(12)},
        )
    )

The type of a stat's value decides how it is written: int as int64, float as double, str as a
reference, bytes as bytes; `Unsigned` as uint64 and `Written` as the text itself. `mix` shuffles the
fields of every message and inserts unknown ones.
"""

import struct
from dataclasses import dataclass, field
from random import Random

from nbprof.protos.varint_writer import write_varint as varint


class Unsigned(int):
    """A number written as uint64."""


class Written(str):
    """A text written in place, not as a reference."""


Value = int | float | str | bytes


@dataclass
class Event:
    name: str | None
    offset_ps: int | None
    duration_ps: int | None
    stats: dict[str, Value] = field(default_factory=dict)
    display_name: str = ""
    occurrences: int | None = None
    of_kind: dict[str, Value] = field(default_factory=dict)
    """Stats shared by all events of this name, written into their metadata."""
    extra: bytes = b""


@dataclass
class Line:
    id: int | None
    name: str | None
    timestamp_ns: int | None
    events: list[Event] = field(default_factory=list)


@dataclass
class Plane:
    name: str
    lines: list[Line] = field(default_factory=list)
    stats: dict[str, Value] = field(default_factory=dict)
    first_id: int = 1


def event(name, offset_ps, duration_ps, stats=None, **rest):
    return Event(name, offset_ps, duration_ps, stats or {}, **rest)


line, plane = Line, Plane


def number(tag_number, value):
    """Write a varint field, or nothing if the value is None."""
    return b"" if value is None else varint(tag_number << 3) + varint(value)


def payload(tag_number, content):
    """Write a text or message field, or nothing if the content is None."""
    if content is None:
        return b""
    content = content.encode() if isinstance(content, str) else content
    return varint(tag_number << 3 | 2) + varint(len(content)) + content


def fixed64(tag_number, value):
    return varint(tag_number << 3 | 1) + struct.pack("<d", value)


def fixed32(tag_number, value):
    return varint(tag_number << 3 | 5) + struct.pack("<I", value)


def space(*planes, mix=None):
    return _message([payload(1, _Writer(mix).plane(each)) for each in planes], mix)


def _message(fields, mix):
    """Join fields; mixing keeps the order of fields with the same number, which may matter."""
    fields = [each for each in fields if each]
    if mix:
        numbers = [each[0] for each in fields]
        mix.shuffle(numbers)
        queues = {tag: [each for each in fields if each[0] == tag] for tag in numbers}
        fields = [queues[tag].pop(0) for tag in numbers]
        for _ in range(mix.choice((0, 0, 0, 1, 2))):
            fields.insert(mix.randint(0, len(fields)), _unknown(mix))
    return b"".join(fields)


def _unknown(mix: Random):
    tag_number = mix.choice((12, 13, 15, 16, 100, 2**29 - 1))
    return mix.choice(
        (
            number(tag_number, mix.getrandbits(mix.choice((1, 20, 64)))),
            payload(tag_number, mix.randbytes(mix.randint(0, 40))),
            fixed64(tag_number, mix.random()),
            fixed32(tag_number, mix.getrandbits(32)),
        )
    )


class _Writer:
    """Write one plane and assign its metadata ids."""

    def __init__(self, mix):
        self.mix = mix
        self.event_ids = {}
        self.of_kind = {}
        self.stat_ids = {}

    def plane(self, plane):
        self.first_id = plane.first_id
        lines = [payload(3, self.line(each)) for each in plane.lines]
        stats = [payload(6, self.stat(*each)) for each in plane.stats.items()]
        event_entries = [
            self.entry(
                4, key, [payload(2, name), payload(4, display_name or None), *self.kind(key)]
            )
            for (name, display_name), key in self.event_ids.items()
        ]
        stat_entries = [
            self.entry(5, key, [payload(2, name)]) for name, key in self.stat_ids.items()
        ]
        fields = [payload(2, plane.name), *lines, *event_entries, *stat_entries, *stats]
        return self.message(fields)

    def kind(self, key):
        return [payload(5, self.stat(*each)) for each in self.of_kind.get(key, {}).items()]

    def message(self, fields):
        return _message(fields, self.mix)

    def entry(self, tag_number, key, fields):
        metadata = self.message([number(1, key), *fields])
        return payload(tag_number, self.message([number(1, key), payload(2, metadata)]))

    def line(self, line):
        fields = [number(1, line.id), payload(2, line.name), number(3, line.timestamp_ns)]
        return self.message([*fields, *(payload(4, self.event(each)) for each in line.events)])

    def event(self, event):
        name = (event.name, event.display_name)
        key = None if event.name is None else self.id_of(self.event_ids, name)
        if event.of_kind:
            self.of_kind[key] = event.of_kind
        fields = [number(1, key), number(2, event.offset_ps), number(3, event.duration_ps)]
        stats = [payload(4, self.stat(*each)) for each in event.stats.items()]
        return self.message([*fields, *stats, number(5, event.occurrences)]) + event.extra

    def stat(self, name, value):
        return self.message([number(1, self.id_of(self.stat_ids, name)), self.value(value)])

    def value(self, value):
        match value:
            case Unsigned():
                return number(3, value)
            case int():
                return number(4, value)
            case float():
                return fixed64(2, value)
            case Written():
                return payload(5, value)
            case bytes():
                return payload(6, value)
            case str():
                return number(7, self.id_of(self.stat_ids, value))

    def id_of(self, ids, key):
        return ids.setdefault(key, self.first_id + len(ids))

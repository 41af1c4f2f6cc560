"""Read repeated numbers and split messages, and work on the rows that `scan` returns."""

import numpy as np

from nbprof.arrays import Ints, Letters, Words, each_position
from nbprof.ingest.protobuf.varints import LONGEST, varints
from nbprof.ingest.protobuf.wire import LENGTH, VARINT, Buffer, Fields, Spans, scan
from nbprof.protos.texts import Texts


def tag(number: int, wire_type: int = LENGTH) -> int:
    """Return the tag of a field; by default, of a text or message."""
    return number << 3 | wire_type


def scan_merged(buffer: Buffer, pieces: Spans) -> Fields:
    """Read messages that may be split; the row of a field is the message one level up.

    If a message field occurs twice, protobuf merges both into one message, in file order.
    """
    fields = scan(buffer, pieces)
    above = owners(pieces)
    if (above[1:] == above[:-1]).any():
        fields = fields.in_file_order()
    return Fields(above[fields.row], fields.tag, fields.value, fields.begin)


def numbers(buffer: Buffer, fields: Fields, number: int) -> tuple[Ints, Ints]:
    """Read a field of repeated integers; return the message of each, and its value.

    The integers are packed into one field or, in older files, have a field each.
    """
    single, packed = fields.where(tag(number, VARINT)), fields.where(tag(number))
    if not len(single.row):
        packed = packed.in_file_order()
        return unpack(buffer, Spans(packed.row, packed.begin, packed.value))
    if not len(packed.row):
        single = single.in_file_order()
        return single.row, single.value.view(np.int64)
    return _numbers_of_both_kinds(buffer, fields.where(tag(number, VARINT), tag(number)))


def _numbers_of_both_kinds(buffer: Buffer, fields: Fields) -> tuple[Ints, Ints]:
    ordered = fields.in_file_order()
    is_packed = (ordered.tag & 7) == LENGTH
    place = np.arange(len(is_packed))
    places, values = unpack(
        buffer,
        Spans(place[is_packed], ordered.begin[is_packed], ordered.value[is_packed]),
    )
    places = np.concatenate([place[~is_packed], places])
    values = np.concatenate([ordered.value[~is_packed].view(np.int64), values])
    order = np.argsort(places, kind="stable")
    return ordered.row[places[order]], values[order]


def unpack(buffer: Buffer, packed: Spans) -> tuple[Ints, Ints]:
    """Read packed varints; return the row of each, and its value."""
    where = each_position(packed.begin, packed.size)
    letters = buffer.bytes[where]
    ends = np.flatnonzero(letters < 0x80)
    starts = np.append(0, ends[:-1] + 1)[: len(ends)]
    borders = np.cumsum(packed.size.astype(np.int64))
    open_ends = np.flatnonzero(packed.size)
    open_ends = open_ends[letters[borders[open_ends] - 1] >= 0x80]
    for open_end in open_ends[:1]:
        end = int(packed.begin[open_end]) + int(packed.size[open_end])
        raise buffer.damage(end, "a number is cut off")
    width = ends + 1 - starts
    if width.max(initial=0) > LONGEST:
        at = int(where[starts[np.argmax(width)]])
        raise buffer.damage(at, f"a number has more than {LONGEST} bytes")
    row = np.searchsorted(borders, starts, side="right")
    return owners(packed)[row], _varints_at(letters, starts).view(np.int64)


def _varints_at(letters: Letters, starts: Ints) -> Words:
    padded = np.append(letters, np.zeros(16, np.uint8)).tobytes()
    words: Words = np.ndarray(len(padded) - 7, "<u8", padded, strides=(1,))
    value, _ = varints(words[starts])
    long = np.flatnonzero((words[starts] | np.uint64(0x7F7F_7F7F_7F7F_7F7F)) == ~np.uint64(0))
    if len(long):
        high, _ = varints(words[starts[long] + 8])
        value[long] |= high << np.uint64(56)
    return value


def owners(spans: Spans) -> Ints:
    """Return the message one level up that each span belongs to."""
    return spans.row.astype(np.int64)


def int32(values: Ints) -> Ints:
    """Truncate each number to 32 bits, as protobuf does for int32 fields."""
    return values.astype(np.int32).astype(np.int64)


def sums(row: Ints, values: Ints, count: int) -> Ints:
    """Return the sum for each of `count` rows; `row` ascends, and overflow wraps as in C."""
    until = np.append(0, np.cumsum(values))
    return np.diff(until[np.searchsorted(row, np.arange(count + 1))])


def last_of_runs(row: Ints) -> Ints:
    """Return the index of the last entry of each run of equal values."""
    return np.flatnonzero(np.append(row[1:] != row[:-1], True))[: len(row)]


def field_texts(fields: Fields, tag: int, count: int, data: bytes) -> Texts:
    """Return the last text with this tag in each of `count` messages, empty if there is none."""
    last = fields.last(count, tag)
    return Texts.at(data, last.begin, last.value)


def span_texts(spans: Spans, data: bytes) -> Texts:
    """Return the texts, or encoded messages, at these spans."""
    return Texts.at(data, spans.begin, spans.size)

"""Read what protobuf repeats: packed numbers and messages in pieces; and work on rows and spans.

What `wire.scan` gives are rows and spans; the readers of tfprof's files sum up, copy and expand
them with the functions below.
"""

import numpy as np

from nbprof.arrays import Ints, Letters, Words, each_position
from nbprof.ingest.protobuf.varints import varints
from nbprof.ingest.protobuf.wire import LENGTH, VARINT, Buffer, Fields, Spans, scan

LONGEST_VARINT = 10


def tag(number: int, wire_type: int = LENGTH) -> int:
    """Give the tag of a field: of a text or message unless told otherwise."""
    return number << 3 | wire_type


def scan_merged(buffer: Buffer, pieces: Spans) -> Fields:
    """Read messages that may come in pieces; the rows of the fields are those of the level above.

    A message field that is there twice makes one message of all its fields, in file order.
    """
    fields = scan(buffer, pieces)
    above = owners(pieces)
    if (above[1:] == above[:-1]).any():
        fields = fields.in_file_order()
    return Fields(above[fields.row], fields.tag, fields.value, fields.begin)


def numbers(buffer: Buffer, fields: Fields, number: int) -> tuple[Ints, Ints]:
    """Read a field of repeated integers: the message of each, and the integer.

    They are packed into one field, or one field each as in older files.
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
    """Read packed varints: the row of each, and its value."""
    where = each_position(packed.begin, packed.size)
    letters = buffer.bytes[where]
    ends = np.flatnonzero(letters < 0x80)
    starts = np.append(0, ends[:-1] + 1)[: len(ends)]
    borders = np.cumsum(packed.size.astype(np.int64))
    open_ends = np.flatnonzero(packed.size)
    open_ends = open_ends[letters[borders[open_ends] - 1] >= 0x80]
    for open_end in open_ends[:1]:
        end = int(packed.begin[open_end]) + int(packed.size[open_end])
        raise buffer.damage(end, "the rest of a number was expected, not an end")
    width = ends + 1 - starts
    if width.max(initial=0) > LONGEST_VARINT:
        at = int(where[starts[np.argmax(width)]])
        raise buffer.damage(at, f"a number of at most {LONGEST_VARINT} bytes was expected")
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
    """Give the message of the level above to which each belongs."""
    return spans.row.astype(np.int64)


def int32(values: Ints) -> Ints:
    """Keep of each number what a field of 32 bits keeps of it."""
    return values.astype(np.int32).astype(np.int64)


def sums(row: Ints, values: Ints, count: int) -> Ints:
    """Add up the values of each of `count` rows, which ascend; as C does beyond int64."""
    until = np.append(0, np.cumsum(values))
    return np.diff(until[np.searchsorted(row, np.arange(count + 1))])


def last_of_runs(row: Ints) -> Ints:
    """Give the index of the last of each run of equal values."""
    return np.flatnonzero(np.append(row[1:] != row[:-1], True))[: len(row)]

"""Read many protobuf messages of one kind in parallel, into numpy columns.

A protobuf message has to be read front to back: a field begins where the one before it ends. One
message is a loop; ten thousand messages are ten thousand loops, and numpy can run the same
iteration of all of them at once. `scan` does that: it takes where messages begin and end and
returns the table of their fields. A format's reader descends its message tree level by level and
never holds an object per message.

`Buffer.fields` is the same reader in plain Python. It reads what the vectors leave (the
last few messages, the last few bytes of the file, damage), raises all the errors, and serves the
tests as the reference for the vectors.

Positions are bytes from the start of the file. A tag is a field's number times 8 plus its wire
type, so a field with an unexpected wire type is an unknown field, as in protobuf. Groups (wire
types 3 and 4) were withdrawn from protobuf long ago and count as damage.
"""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from nbprof.arrays import Ints, Letters, Mask, Positions, Words
from nbprof.errors import NbprofError
from nbprof.ingest.protobuf.varints import ONE_BYTE, finish_long_varints, varints

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
"""Wire types; LENGTH is that of texts, messages and packed numbers."""

LARGEST_TAG = 0x7F
"""Largest tag of one byte; fields with a longer one (number 16 and up) are skipped unread."""

BLOCK = 1 << 14
"""Number of messages read in parallel; their temporaries fit the processor's cache."""

FEW = 48
"""Number of messages up to which plain Python is faster than vectors."""

REACH = 17
"""Bytes that must be present from the start of a field for vectors to read it."""

HEAD = 20
"""Maximum length of a field header in bytes: two varints."""

HIGH_AND_TYPE = 0x87
"""Bits of a tag's first byte that state the wire type and whether another byte follows."""

BEHIND = 3 * REACH
"""Bytes read past the end of a part of a file, so that vectors can read its last fields."""

NO_ROWS = np.zeros(0, np.int64)
"""An empty column of rows or positions."""


@dataclass(frozen=True, slots=True)
class Spans:
    """The places of messages, in file order."""

    row: Positions
    """The message one level up that each belongs to."""
    begin: Positions
    size: Positions

    def __len__(self) -> int:
        return len(self.row)

    def __getitem__(self, index: slice | Ints) -> "Spans":
        return Spans(self.row[index], self.begin[index], self.size[index])

    def narrow(self, largest: int) -> "Spans":
        """Halve the memory if 32 bits can hold `largest`."""
        width = np.uint32 if largest < 2**32 else np.int64
        return Spans(self.row.astype(width), self.begin.astype(width), self.size.astype(width))

    @classmethod
    def join(cls, parts: list["Spans"]) -> "Spans":
        """Concatenate the tables."""
        return cls(
            np.concatenate([part.row for part in parts]),
            np.concatenate([part.begin for part in parts]),
            np.concatenate([part.size for part in parts]),
        )


@dataclass(frozen=True, slots=True)
class Fields:
    """A table of fields: in order within each message, with messages interleaved."""

    row: Ints
    """The scanned message that the field belongs to."""
    tag: Letters
    value: Words
    """The varint, the bits of a fixed-width number, or the length of a text or message."""
    begin: Ints
    """Where the text or message begins; for a number, where the field ends."""

    def take(self, index: Ints) -> "Fields":
        """Select and order the fields by index."""
        return Fields(self.row[index], self.tag[index], self.value[index], self.begin[index])

    def known(self) -> "Fields":
        """Drop the fields whose tag takes more than a byte."""
        known = self.tag <= LARGEST_TAG
        return self if known.all() else self.take(np.flatnonzero(known))

    def where(self, *tags: int) -> "Fields":
        """Select the fields that have one of these tags."""
        mask = self.tag == tags[0]
        for tag in tags[1:]:
            mask |= self.tag == tag
        return self if mask.all() else self.take(np.flatnonzero(mask))

    def in_file_order(self) -> "Fields":
        """Sort by message, keeping the order within each."""
        # Narrowed because numpy sorts 16-bit integers by counting and wider ones by comparing.
        width = np.min_scalar_type(self.row.max(initial=0))
        return self.take(np.argsort(self.row.astype(width), kind="stable"))

    def messages(self, tag: int) -> Spans:
        """Return all messages with that tag, in file order."""
        fields = self.where(tag).in_file_order()
        return Spans(fields.row, fields.begin, fields.value)

    def last(self, count: int, *tags: int) -> "Fields":
        """Return the last field with these tags in each of `count` messages, tag 0 if none."""
        found = self.where(*tags)
        tag, value = np.zeros(count, np.uint8), np.zeros(count, np.uint64)
        begin = np.zeros(count, np.int64)
        # numpy keeps the last of several values assigned to one row, as protobuf does.
        tag[found.row], value[found.row], begin[found.row] = found.tag, found.value, found.begin
        return Fields(np.arange(count), tag, value, begin)

    def numbers(self, tag: int, count: int) -> Ints:
        """Return the last number with that tag in each of `count` messages, 0 if it has none."""
        found = self.where(tag)
        numbers = np.zeros(count, np.int64)
        numbers[found.row] = found.value.view(np.int64)
        return numbers

    def texts(self, tag: int, count: int, data: bytes) -> list[bytes]:
        """Return the last text with that tag in each of `count` messages, empty if none."""
        return self.last(count, tag).payloads(data)

    def payloads(self, data: bytes) -> list[bytes]:
        """Return the bytes of each text or message."""
        sizes = self.value.tolist()
        return [data[at : at + size] for at, size in zip(self.begin.tolist(), sizes, strict=True)]

    @classmethod
    def join(cls, parts: list["Fields"]) -> "Fields":
        """Concatenate the tables."""
        return cls(
            np.concatenate([part.row for part in parts]),
            np.concatenate([part.tag for part in parts]),
            np.concatenate([part.value for part in parts]),
            np.concatenate([part.begin for part in parts]),
        )


class Buffer:
    """The bytes of a file, read field by field or as 8-byte words at many positions."""

    in_memory = True
    """Whether all bytes are present; if not, `hold` must fetch them before they are read."""

    def __init__(self, data: bytes, source: str, kind: str = "XSpace trace") -> None:
        self.data = data
        self.source = source
        self.kind = kind
        self.place = 0, len(data)
        """Where in its file the buffer begins, and the size of the file, both in bytes."""
        self.bytes: Letters = np.ndarray(len(data), np.uint8, data)
        # Overlapping words, one starting at each byte: a view, so it takes no memory.
        words = max(len(data) - 7, 0)
        self.words: Words = np.ndarray(words, "<u8", data if words else None, strides=(1,))

    def words_at(self, position: Positions) -> Words:
        """Return the eight bytes at each position, zeros beyond the end."""
        last = len(self.words) - 1
        if last < 0:
            rest = (self.data[at : at + 8] for at in position.tolist())
            return np.array([int.from_bytes(bytes_, "little") for bytes_ in rest], np.uint64)
        near = np.minimum(position.astype(np.int64), last)
        words: Words = self.words[near] >> ((position - near) * 8).astype(np.uint64)
        return words

    def close(self) -> None:
        """Release the bytes."""
        del self.data, self.bytes, self.words

    def hold(self, begin: int, end: int) -> int:  # noqa: ARG002 used by LongFile
        """Fetch these bytes; return the position up to which bytes are present."""
        return len(self.data)

    def part(self, begin: int, end: int) -> "tuple[Buffer, int]":
        """Return a buffer that has these bytes, and where in the file it begins.

        The next call may overwrite it.
        """
        self.hold(begin, end)
        return self, 0

    def all(self) -> Spans:
        """Return the whole file as one message."""
        return Spans(np.zeros(1, np.int64), np.zeros(1, np.int64), np.full(1, len(self.data)))

    def varint(self, position: int, end: int) -> tuple[int, int]:
        """Read a varint that must end by `end`; return its value and the position after it."""
        value = 0
        for shift in range(0, 70, 7):
            if position >= end:
                raise self.damage(position, "a number is cut off")
            byte = self.data[position]
            position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & 0xFFFF_FFFF_FFFF_FFFF, position
        raise self.damage(position, "a number has more than 10 bytes")

    def fields(self, position: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Yield tag, value and begin of each field of a message, as in `Fields`."""
        data, present = self.data, 0
        while position < end:
            if position + HEAD > present:
                present = self.hold(position, min(position + HEAD, end))
            tag, value, begin = data[position], end, position + 2
            if tag & HIGH_AND_TYPE == LENGTH and tag > LENGTH and begin < end:
                value = data[position + 1]  # the length, usually of one or two bytes
                if value > 0x7F and data[begin] < 0x80:
                    value += data[begin] - 1 << 7
                    begin += 1
                elif value > 0x7F:
                    value = end
            if begin + value <= end:
                position = begin + value
            else:
                tag, value, begin, position = self.field(position, end)
            if tag <= LARGEST_TAG:
                yield tag, value, begin

    def field(self, position: int, end: int) -> tuple[int, int, int, int]:
        """Read one field of any tag; return tag, value, begin and the position after it."""
        start = position
        tag, position = self.varint(position, end)
        wire_type = tag & 7
        if tag < 8 or wire_type not in (VARINT, FIXED64, LENGTH, FIXED32):
            raise self.damage(start, f"a field has the invalid tag {tag}")
        if wire_type in (VARINT, LENGTH):
            value, begin = self.varint(position, end)
            position = begin + value if wire_type == LENGTH else begin
        else:
            begin = position + (8 if wire_type == FIXED64 else 4)
            value = int.from_bytes(self.data[position:begin], "little")
            position = begin
        if position > end:
            raise self.damage(
                start,
                f"a field claims {position - start} bytes where {end - start} are left",
            )
        return tag, value, begin, position

    def damage(self, position: int, problem: str) -> NbprofError:
        """Return the error for damage at a position of this buffer."""
        begin, size = self.place
        return NbprofError(
            f"{self.source} is not a readable {self.kind}: "
            f"at byte {begin + position} of {size}, {problem}."
        )


def scan(buffer: Buffer, messages: Spans) -> Fields:
    """Read the fields of all messages; raise an error for the first damaged one."""
    fields, damaged = try_scan(buffer, messages)
    for row in damaged[:1]:
        begin = int(messages.begin[row])
        for _ in buffer.fields(begin, begin + int(messages.size[row])):
            pass  # until the damaged field raises
    return fields


def try_scan(buffer: Buffer, messages: Spans) -> tuple[Fields, Ints]:
    """Read like `scan`, but return the rows of damaged messages instead of raising."""
    parts, damaged = [], []
    # No messages still make one (empty) block, so that there is something to join.
    for first in range(0, max(len(messages), 1), BLOCK):
        begin = messages.begin[first : first + BLOCK].astype(np.int64)
        end = begin + messages.size[first : first + BLOCK].astype(np.int64)
        fields, wrong = _scan_block(buffer, begin, end)
        fields.row[:] += first
        parts.append(fields)
        damaged.append(wrong + first)
    return Fields.join(parts), np.concatenate(damaged)


def _scan_block(buffer: Buffer, begin: Ints, end: Ints) -> tuple[Fields, Ints]:
    """Read the first field of every message, then the second of all that have one, and so on."""
    row = np.flatnonzero(begin < end)
    position, stop = begin[row], end[row]
    turns: list[Fields] = []
    strays: list[tuple[Ints, Ints]] = []
    while len(row) > FEW and len(buffer.data) >= REACH:
        fields, following, stray = _take_turn(buffer, row, position, stop)
        if stray.any():
            strays.append((row[stray], position[stray]))
            kept = np.flatnonzero(~stray)
            fields, following, stop = fields.take(kept), following[kept], stop[kept]
        turns.append(fields.known())
        unfinished = following < stop
        if unfinished.all():
            row, position = fields.row, following
        else:
            going = np.flatnonzero(unfinished)
            row, position, stop = fields.row[going], following[going], stop[going]
    strays.append((row, position))
    rest, damaged = _scan_strays(buffer, strays, end)
    return Fields.join([*turns, rest]), damaged


def _take_turn(buffer: Buffer, row: Ints, position: Ints, stop: Ints) -> tuple[Fields, Ints, Mask]:
    """Read the next field of each message.

    Returns the fields, where the next ones begin, and which messages need the plain reader.
    """
    last = len(buffer.data) - REACH
    near = np.minimum(position, last)
    word = buffer.words[near]
    tag = word.astype(np.uint8)
    wire_type = tag & 7
    stray = (tag < 8) | (wire_type == 3) | (wire_type == 4) | (wire_type > 5)
    stray |= position > last
    wide = np.flatnonzero(tag > LARGEST_TAG)
    if len(wide):
        near[wide] += 1
        word[wide] = buffer.words[near[wide]]
        second = word[wide].astype(np.uint8)
        stray[wide] |= (second == 0) | (second > 0x7F)
    value, width = varints(word >> ONE_BYTE)
    stray[finish_long_varints(buffer.words, near, value, width)] = True
    _overwrite_fixed(buffer, near, wire_type, value, width)
    begin = near + 1 + width.view(np.int64)
    length = np.minimum(value, len(buffer.data)) * (wire_type == LENGTH)
    following = begin + length.view(np.int64)
    stray |= following > stop
    return Fields(row, tag, value, begin), following, stray


def _overwrite_fixed(
    buffer: Buffer, position: Ints, wire_type: Positions, value: Words, width: Words
) -> None:
    """Replace the value and width of fields that are fixed-width numbers, not varints."""
    fixed = np.flatnonzero(wire_type & 1)
    if len(fixed):
        number = buffer.words[position[fixed] + 1]
        short = wire_type[fixed] == FIXED32
        value[fixed] = np.where(short, number & np.uint64(0xFFFF_FFFF), number)
        width[fixed] = np.where(short, 4, 8)


def _scan_strays(buffer: Buffer, strays: list[tuple[Ints, Ints]], end: Ints) -> tuple[Fields, Ints]:
    """Read the rest of the messages that the vectors left unfinished."""
    rows, tags, values, begins = array("q"), array("B"), array("Q"), array("q")
    damaged = []
    for stray_rows, positions in strays:
        for row, position in zip(stray_rows.tolist(), positions.tolist(), strict=True):
            try:
                for tag, value, begin in buffer.fields(position, int(end[row])):
                    rows.append(row)
                    tags.append(tag)
                    values.append(value)
                    begins.append(begin)
            except NbprofError:
                damaged.append(row)
    fields = Fields(
        np.array(rows, np.int64),
        np.array(tags, np.uint8),
        np.array(values, np.uint64),
        np.array(begins, np.int64),
    )
    return fields, np.array(sorted(damaged), np.int64)

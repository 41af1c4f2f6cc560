"""Read protobuf messages of one kind side by side, into numpy columns.

A protobuf message can only be read from its front: where a field begins is known once the field
before it has been read. One message is therefore a loop; but ten thousand messages are ten thousand
loops, and numpy can take the same turn of all of them at once. `scan` does so: given where messages
begin and end, it returns the table of their fields. The reader of a format goes down its tree of
messages level by level and never holds an object per message.

`Buffer.fields` is the same reader in plain Python. It finishes what the vectors leave over (the
last few messages, the last few bytes of the file, and damage), it alone words the errors, and the
tests hold the vectors against it.

Positions are bytes from the start of the file. A tag is a field's number times 8 plus its wire
type; a field of another wire type than expected is thus an unknown field, as it is in protobuf.
Groups (wire types 3 and 4), long withdrawn from protobuf, count as damage.
"""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nbprof.arrays import Ints, Mask, Positions, Words
from nbprof.errors import NbprofError
from nbprof.ingest.protobuf.varints import ONE_BYTE, finish_long_varints, varints

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5

LARGEST_TAG = 0x7F
"""Fields whose tag takes more than a byte (number 16 and up) are skipped: none is wanted."""

BLOCK = 1 << 14
"""So many messages are read side by side: their temporaries fit the processor's cache."""

FEW = 48
"""So few messages are read faster one by one than side by side."""

REACH = 17
"""So many bytes from the start of a field must exist for the vectors to look at it."""

HEAD = 20
"""So many bytes has a field before its content, at most: two varints."""

HIGH_AND_TYPE = 0x87
"""The bits of a tag's first byte that say whether it has another, and the wire type."""

BEHIND = 3 * REACH
"""So many bytes behind a part of a file are read with it, for the vectors to look at its end."""

NO_ROWS = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Spans:
    """Where messages are, in file order."""

    row: Positions
    """Which message of the level above each belongs to."""
    begin: Positions
    size: Positions

    def __len__(self) -> int:
        return len(self.row)

    def __getitem__(self, index: slice | Ints) -> "Spans":
        return Spans(self.row[index], self.begin[index], self.size[index])

    def narrow(self, largest: int) -> "Spans":
        """Halve the memory where no number exceeds 32 bits."""
        width = np.uint32 if largest < 2**32 else np.int64
        return Spans(self.row.astype(width), self.begin.astype(width), self.size.astype(width))

    @classmethod
    def join(cls, parts: list["Spans"]) -> "Spans":
        """Make one table of many, in their order."""
        return cls(
            np.concatenate([part.row for part in parts]),
            np.concatenate([part.begin for part in parts]),
            np.concatenate([part.size for part in parts]),
        )


@dataclass(frozen=True, slots=True)
class Fields:
    """A table of fields. Those of one message are in order; messages are interleaved."""

    row: Ints
    """Which of the scanned messages the field belongs to."""
    tag: npt.NDArray[np.uint8]
    value: Words
    """The varint, the bits of a fixed number, or the length of a text or message."""
    begin: Ints
    """Where the text or message begins; for a number, where the field ends."""

    def take(self, index: Ints) -> "Fields":
        """Select and order the fields by index."""
        return Fields(self.row[index], self.tag[index], self.value[index], self.begin[index])

    def known(self) -> "Fields":
        """Leave out the fields whose tag takes more than a byte."""
        known = self.tag <= LARGEST_TAG
        return self if known.all() else self.take(np.flatnonzero(known))

    def where(self, *tags: int) -> "Fields":
        """Select the fields which have one of these tags."""
        mask = self.tag == tags[0]
        for tag in tags[1:]:
            mask |= self.tag == tag
        return self if mask.all() else self.take(np.flatnonzero(mask))

    def in_file_order(self) -> "Fields":
        """Bring the fields of each message together."""
        # Narrow numbers, since numpy sorts 16 bits by counting and more bits by comparing.
        width = np.min_scalar_type(self.row.max(initial=0))
        return self.take(np.argsort(self.row.astype(width), kind="stable"))

    def messages(self, tag: int) -> Spans:
        """Give all messages of that tag, in file order."""
        fields = self.where(tag).in_file_order()
        return Spans(fields.row, fields.begin, fields.value)

    def last(self, count: int, *tags: int) -> "Fields":
        """Give each of `count` messages its last field of these tags; tag 0 if it has none."""
        given = self.where(*tags)
        tag, value = np.zeros(count, np.uint8), np.zeros(count, np.uint64)
        begin = np.zeros(count, np.int64)
        # Of several values assigned to one row numpy keeps the last, as protobuf does.
        tag[given.row], value[given.row], begin[given.row] = given.tag, given.value, given.begin
        return Fields(np.arange(count), tag, value, begin)

    def numbers(self, tag: int, count: int) -> Ints:
        """Give the last number of that tag in each of `count` messages, 0 if it has none."""
        given = self.where(tag)
        numbers = np.zeros(count, np.int64)
        numbers[given.row] = given.value.view(np.int64)
        return numbers

    def texts(self, tag: int, count: int, data: bytes) -> list[bytes]:
        """Give the last text of that tag in each of `count` messages, empty if it has none."""
        return self.last(count, tag).payloads(data)

    def payloads(self, data: bytes) -> list[bytes]:
        """Cut the texts or messages themselves out of the data."""
        sizes = self.value.tolist()
        return [data[at : at + size] for at, size in zip(self.begin.tolist(), sizes, strict=True)]

    @classmethod
    def join(cls, parts: list["Fields"]) -> "Fields":
        """Make one table of many, in their order."""
        return cls(
            np.concatenate([part.row for part in parts]),
            np.concatenate([part.tag for part in parts]),
            np.concatenate([part.value for part in parts]),
            np.concatenate([part.begin for part in parts]),
        )


class Buffer:
    """The bytes of a file: read field by field, or eight bytes at each of many positions."""

    in_memory = True
    """False where bytes have to be held before they are looked at."""

    def __init__(self, data: bytes, source: str, kind: str = "XSpace trace") -> None:
        self.data = data
        self.source = source
        self.kind = kind
        self.place = 0, len(data)
        """Where in its file it begins, and how long the file is."""
        self.bytes: npt.NDArray[np.uint8] = np.ndarray(len(data), np.uint8, data)
        # Overlapping words, one from each byte on: a view, which costs nothing.
        words = max(len(data) - 7, 0)
        self.words: Words = np.ndarray(words, "<u8", data if words else None, strides=(1,))

    def words_at(self, position: Positions) -> Words:
        """Give the eight bytes from each position on, zeros for those beyond the end."""
        last = len(self.words) - 1
        if last < 0:
            rest = (self.data[at : at + 8] for at in position.tolist())
            return np.array([int.from_bytes(bytes_, "little") for bytes_ in rest], np.uint64)
        near = np.minimum(position.astype(np.int64), last)
        words: Words = self.words[near] >> ((position - near) * 8).astype(np.uint64)
        return words

    def close(self) -> None:
        """Let go of the bytes."""
        del self.data, self.bytes, self.words

    def hold(self, begin: int, end: int) -> int:  # noqa: ARG002 of other files not all are
        """Have these bytes at hand; give up to where all are. Here all of the file are."""
        return len(self.data)

    def part(self, begin: int, end: int) -> "tuple[Buffer, int]":
        """Give a buffer in which these bytes are at hand, and where in the file it begins.

        It holds until the next part is asked for.
        """
        self.hold(begin, end)
        return self, 0

    def all(self) -> Spans:
        """Give the whole file as one message."""
        return Spans(np.zeros(1, np.int64), np.zeros(1, np.int64), np.full(1, len(self.data)))

    def varint(self, position: int, end: int) -> tuple[int, int]:
        """Read a varint that must end by `end`; return it and the position after it."""
        value = 0
        for shift in range(0, 70, 7):
            if position >= end:
                raise self.damage(position, "the rest of a number was expected, not an end")
            byte = self.data[position]
            position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & 0xFFFF_FFFF_FFFF_FFFF, position
        raise self.damage(position, "the end of a number of 10 bytes was expected before")

    def fields(self, position: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Yield tag, value and begin of each field of a message, as in `Fields`."""
        data, at_hand = self.data, 0
        while position < end:
            if position + HEAD > at_hand:
                at_hand = self.hold(position, min(position + HEAD, end))
            tag, value, begin = data[position], end, position + 2
            if tag & HIGH_AND_TYPE == LENGTH and tag > LENGTH and begin < end:
                value = data[position + 1]  # the length, of one or two bytes as a rule
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
        """Read one field, of any tag: tag, value, begin, and the position after it."""
        start = position
        tag, position = self.varint(position, end)
        wire_type = tag & 7
        if tag < 8 or wire_type not in (VARINT, FIXED64, LENGTH, FIXED32):
            raise self.damage(start, f"a field was expected, not the tag {tag}")
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
                f"a field of at most {end - start} bytes was expected, not of {position - start}",
            )
        return tag, value, begin, position

    def damage(self, position: int, problem: str) -> NbprofError:
        """Make the error for a damaged file."""
        begin, size = self.place
        return NbprofError(
            f"{self.source} is not a readable {self.kind}: "
            f"at byte {begin + position} of {size}, {problem}."
        )


def scan(buffer: Buffer, messages: Spans) -> Fields:
    """Read the fields of all the messages; raise the error of a damaged one."""
    fields, damaged = try_scan(buffer, messages)
    for row in damaged[:1]:
        begin = int(messages.begin[row])
        for _ in buffer.fields(begin, begin + int(messages.size[row])):
            pass  # up to the field that raises the error
    return fields


def try_scan(buffer: Buffer, messages: Spans) -> tuple[Fields, Ints]:
    """Read as `scan` does, but give the rows of damaged messages instead of raising."""
    parts, damaged = [], []
    # No messages make one empty block, so that there always is something to join.
    for first in range(0, max(len(messages), 1), BLOCK):
        begin = messages.begin[first : first + BLOCK].astype(np.int64)
        end = begin + messages.size[first : first + BLOCK].astype(np.int64)
        fields, wrong = _scan_block(buffer, begin, end)
        fields.row[:] += first
        parts.append(fields)
        damaged.append(wrong + first)
    return Fields.join(parts), np.concatenate(damaged)


def _scan_block(buffer: Buffer, begin: Ints, end: Ints) -> tuple[Fields, Ints]:
    """Take turns: the first field of every message, the second of all that have one, and so on."""
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
    """Read a field of each message: the field, where the next begins, and whom to read plainly."""
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
    """Replace what was read as a varint where the field is a number of fixed width."""
    fixed = np.flatnonzero(wire_type & 1)
    if len(fixed):
        number = buffer.words[position[fixed] + 1]
        short = wire_type[fixed] == FIXED32
        value[fixed] = np.where(short, number & np.uint64(0xFFFF_FFFF), number)
        width[fixed] = np.where(short, 4, 8)


def _scan_strays(buffer: Buffer, strays: list[tuple[Ints, Ints]], end: Ints) -> tuple[Fields, Ints]:
    """Read the messages which the vectors left, each from where they left it."""
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

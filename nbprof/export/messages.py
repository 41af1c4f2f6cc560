"""Write protobuf messages of one kind side by side, from numpy columns.

The counterpart of `ingest/wire.py`. A field of many messages is a `Written`: for each message that
has it, its row and its bytes. `assemble` puts the fields of each message together, and what it
makes is a column of texts again, ready to be a field of the messages above.
"""

from dataclasses import dataclass

import numpy as np

from nbprof.arrays import Ints, Letters, Mask, Words, gather
from nbprof.protos.texts import Texts

VARINT, LENGTH = 0, 2
"""The wire types of numbers, and of texts and messages."""

BLOCK = 1 << 14
"""So many numbers are written at once."""

GROUPS = np.arange(0, 70, 7, dtype=np.uint64)
"""Where the groups of 7 bits begin of which a varint is made."""


@dataclass(frozen=True, eq=False, slots=True)
class Written:
    """One field of many messages, already in bytes."""

    row: Ints
    """The message of each, ascending."""
    size: Ints
    letters: Letters
    """The bytes of all, one after the other."""


def encode(values: Ints | Words | Mask) -> tuple[Ints, Letters]:
    """Write numbers as varints: the size of each, and the bytes of all."""
    numbers = values.astype(np.int64).view(np.uint64)
    if numbers.max(initial=0) < 0x80:
        return np.ones(len(numbers), np.int64), numbers.astype(np.uint8)
    # In parts, for the groups of a number take ten times its room.
    parts = [
        _encode_block(numbers[first : first + BLOCK]) for first in range(0, len(numbers), BLOCK)
    ]
    return np.concatenate([size for size, _ in parts]), np.concatenate([part for _, part in parts])


def _encode_block(numbers: Words) -> tuple[Ints, Letters]:
    groups = numbers[:, np.newaxis] >> GROUPS
    size = np.maximum((groups != 0).sum(axis=1), 1)
    letters = (groups & np.uint64(0x7F)).astype(np.uint8)
    place = np.arange(len(GROUPS))
    letters[place < size[:, np.newaxis] - 1] |= 0x80
    return size, letters[place < size[:, np.newaxis]]


def number_field(number: int, row: Ints, values: Ints | Words | Mask) -> Written:
    """Write a number into each message; a zero is left out, as it is what an absent one means."""
    given = np.flatnonzero(values)
    size, letters = encode(values[given])
    return Written(row[given], size + 1, _with_tag(number << 3 | VARINT, size, letters))


def text_field(number: int, row: Ints, texts: Texts) -> Written:
    """Write a text or a message into each message, empty ones too."""
    size, lengths = encode(texts.size)
    heads = _with_tag(number << 3 | LENGTH, size, lengths)
    content = gather(np.frombuffer(texts.data, np.uint8), texts.begin, texts.size)
    head_size = size + 1
    is_head = np.repeat(
        np.tile([True, False], len(texts)), np.column_stack([head_size, texts.size]).ravel()
    )
    letters = np.empty(len(is_head), np.uint8)
    letters[is_head], letters[~is_head] = heads, content
    return Written(row, head_size + texts.size, letters)


def name_field(number: int, texts: Texts) -> Written:
    """Write a text into each message of a column, but no empty one."""
    given = np.flatnonzero(texts.size)
    return text_field(number, given, texts.take(given))


def packed_field(number: int, row: Ints, values: Ints, count: int) -> Written:
    """Write the numbers of each of `count` messages, packed into one field."""
    size, letters = encode(values)
    packed = assemble(count, Written(row, size, letters))
    given = np.flatnonzero(packed.size)
    return text_field(number, given, packed.take(given))


def _with_tag(tag: int, size: Ints, letters: Letters) -> Letters:
    """Put a tag before each of the numbers."""
    return np.insert(letters, np.cumsum(size) - size, np.uint8(tag))


def assemble(count: int, *fields: Written) -> Texts:
    """Make `count` messages of their fields, in the order of the fields."""
    row = np.concatenate([field.row for field in fields])
    size = np.concatenate([field.size for field in fields])
    letters = np.concatenate([field.letters for field in fields])
    order = np.argsort(row, kind="stable")
    begin = np.cumsum(size) - size
    written = gather(letters, begin[order], size[order]).tobytes()
    until = np.append(0, np.cumsum(size[order]))
    borders = until[np.searchsorted(row[order], np.arange(count + 1))]
    return Texts(written, borders[:-1], np.diff(borders))

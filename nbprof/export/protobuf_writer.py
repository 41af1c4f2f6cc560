"""Write protobuf messages: one at a time, or a whole column of the same kind.

A `MessageField` is one field of many messages: the row of each message that has it, and its bytes.
`assemble` joins the fields of each message into a column of texts, which can in turn be a field
of the messages above. `ingest/protobuf/wire.py` is the reader.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from nbprof.arrays import Ints, Letters, Mask, Words, gather
from nbprof.protos.texts import Texts
from nbprof.protos.varint_writer import write_varint, write_varints

VARINT = 0
"""Wire type of numbers."""
LENGTH = 2
"""Wire type of texts and messages."""


# One message


def number_field(number: int, value: int) -> bytes:
    """Return a number field; zero is the default and is left out."""
    return write_varint(number << 3 | VARINT) + write_varint(value) if value else b""


def bytes_field(number: int, content: bytes) -> bytes:
    """Return a text or message field, even if empty."""
    return write_varint(number << 3 | LENGTH) + write_varint(len(content)) + content


def packed_field(number: int, values: Iterable[int]) -> bytes:
    """Return a packed field of numbers, zeros included."""
    content = b"".join(map(write_varint, values))
    return bytes_field(number, content) if content else b""


# Columns of messages


@dataclass(frozen=True, eq=False, slots=True)
class MessageField:
    """One field of many messages, encoded."""

    row: Ints
    """Message of each entry, ascending."""
    size: Ints
    """Length of each entry in bytes."""
    letters: Letters
    """The bytes of all entries, one after the other."""


def number_fields(number: int, row: Ints, values: Ints | Words | Mask) -> MessageField:
    """Encode one number per message; zero is the default and is left out."""
    given = np.flatnonzero(values)
    size, letters = write_varints(values[given])
    return MessageField(row[given], size + 1, _with_tag(number << 3 | VARINT, size, letters))


def text_fields(number: int, row: Ints, texts: Texts) -> MessageField:
    """Encode one text or message per message, even if empty."""
    size, lengths = write_varints(texts.size)
    heads = _with_tag(number << 3 | LENGTH, size, lengths)
    content = gather(np.frombuffer(texts.data, np.uint8), texts.begin, texts.size)
    head_size = size + 1
    is_head = np.repeat(
        np.tile([True, False], len(texts)), np.column_stack([head_size, texts.size]).ravel()
    )
    letters = np.empty(len(is_head), np.uint8)
    letters[is_head], letters[~is_head] = heads, content
    return MessageField(row, head_size + texts.size, letters)


def name_fields(number: int, texts: Texts) -> MessageField:
    """Encode text `i` into message `i`; empty texts are left out."""
    given = np.flatnonzero(texts.size)
    return text_fields(number, given, texts.take(given))


def packed_fields(number: int, row: Ints, values: Ints, count: int) -> MessageField:
    """Encode the numbers of each of `count` messages as one packed field."""
    size, letters = write_varints(values)
    packed = assemble(count, MessageField(row, size, letters))
    given = np.flatnonzero(packed.size)
    return text_fields(number, given, packed.take(given))


def _with_tag(tag: int, size: Ints, letters: Letters) -> Letters:
    """Insert a one-byte tag before each number."""
    return np.insert(letters, np.cumsum(size) - size, np.uint8(tag))


def assemble(count: int, *fields: MessageField) -> Texts:
    """Join the fields into `count` messages, fields in the given order."""
    row = np.concatenate([field.row for field in fields])
    size = np.concatenate([field.size for field in fields])
    letters = np.concatenate([field.letters for field in fields])
    order = np.argsort(row, kind="stable")
    begin = np.cumsum(size) - size
    joined = gather(letters, begin[order], size[order]).tobytes()
    until = np.append(0, np.cumsum(size[order]))
    borders = until[np.searchsorted(row[order], np.arange(count + 1))]
    return Texts(joined, borders[:-1], np.diff(borders))

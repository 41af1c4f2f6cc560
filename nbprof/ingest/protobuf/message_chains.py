"""Follow chains of messages with the same tag: events in a line, stats in an event.

`wire.scan` reads fields of any kind. Most of a trace is such chains, and stepping from one message
with a known tag to the next takes a third of the work.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from nbprof.arrays import Ints, Words
from nbprof.ingest.protobuf.varints import ONE_BYTE
from nbprof.ingest.protobuf.wire import NO_ROWS, REACH, Buffer

FEW = 12
"""Number of chains up to which `wire.scan` is faster than following them in parallel."""

INSIDE = 4
"""Number of a message's bytes that are always in the 8-byte word that starts with its tag."""

TWO_BYTES = np.uint64(16)
"""Bits in two bytes, for shifting words."""


class Turn(NamedTuple):
    """The next message of each chain that has one."""

    row: Ints
    """The chain it belongs to."""
    begin: Ints
    size: Ints
    first: Words
    """Its first bytes, at least INSIDE of them."""

    @classmethod
    def join(cls, parts: "list[Turn]") -> "Turn":
        """Concatenate the tables."""
        return cls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


NO_TURN = Turn(NO_ROWS, NO_ROWS, NO_ROWS, NO_ROWS.view(np.uint64))
"""A turn in which no chain has a message."""


def turns(buffer: Buffer, begin: Ints, end: Ints, tag: int, stopped: Ints) -> Iterator[Turn]:
    """Follow each chain from `begin` to `end`, for as long as messages with that tag follow.

    Yields the first message of every chain, then the second of all that have one, and so on.
    Writes into `stopped` where each chain stopped: at its end, or before any other field.
    """
    stopped[:] = begin
    limit = np.minimum(end, len(buffer.data) - REACH)
    row = np.flatnonzero(begin < limit)
    position, stop = begin[row], limit[row]
    while len(row) > FEW:
        word = buffer.words[position]
        size, first, inside = _sizes(buffer, word, position)
        following = inside + size
        good = (word.astype(np.uint8) == tag) & (following <= stop)
        if not good.all():
            stopped[row] = position
            kept = np.flatnonzero(good)
            row, stop, first = row[kept], stop[kept], first[kept]
            inside, size, following = inside[kept], size[kept], following[kept]
        yield Turn(row, inside, size, first)
        going = following < stop
        position = following
        if not going.all():
            stopped[row] = following
            kept = np.flatnonzero(going)
            row, stop, position = row[kept], stop[kept], following[kept]
    stopped[row] = position


def _sizes(buffer: Buffer, word: Words, position: Ints) -> tuple[Ints, Words, Ints]:
    """Read lengths of one or two bytes; return them, the bytes after them, and where those begin.

    A longer length becomes larger than any message, which leaves the message to `wire.scan`.
    """
    size = ((word >> ONE_BYTE) & np.uint64(0xFF)).view(np.int64)
    first = word >> TWO_BYTES
    inside = position + 2
    if size.max(initial=0) > 0x7F:
        long = np.flatnonzero(size > 0x7F)
        second = (first[long] & np.uint64(0xFF)).view(np.int64)
        size[long] += np.where(second < 0x80, (second - 1) << 7, len(buffer.data))
        first[long] >>= ONE_BYTE
        inside[long] += 1
    return size, first, inside

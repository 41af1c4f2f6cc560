"""Follow messages of one tag that stand one behind the other: events in a line, stats in an event.

`wire.scan` reads fields of any sort; most of a trace is of one sort only, and to step from one
message of a known tag to the next takes a third of the work.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from nbprof.arrays import Ints, Words
from nbprof.ingest.protobuf.varints import ONE_BYTE
from nbprof.ingest.protobuf.wire import NO_ROWS, REACH, Buffer

FEW = 12
"""So few chains are followed faster one by one than side by side."""

INSIDE = 4
"""So many bytes of a message, and more, are in the word from its tag on."""

TWO_BYTES = np.uint64(16)


class Turn(NamedTuple):
    """The next message of each chain that has one."""

    row: Ints
    """Whose: a number of a chain."""
    begin: Ints
    size: Ints
    first: Words
    """Its first bytes, INSIDE of them or more."""


NO_TURN = Turn(NO_ROWS, NO_ROWS, NO_ROWS, NO_ROWS.view(np.uint64))


def turns(buffer: Buffer, begin: Ints, end: Ints, tag: int, stopped: Ints) -> Iterator[Turn]:
    """Follow each chain from its beginning as long as messages of that tag come, to its end.

    Yields the first message of every chain, the second of all that have one, and so on. In the end
    `stopped` says where each chain ended: at its end, or before something else.
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
    """Read lengths of one or two bytes; give them, what is behind them, and where that is.

    Longer lengths are made too large for any message, for `wire.scan` to read.
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

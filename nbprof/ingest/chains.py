"""Follow messages of one tag that stand one behind the other: events in a line, stats in an event.

`wire.scan` reads fields of any sort; most of a trace is of one sort only, and to step from one
message of a known tag to the next takes a third of the work.
"""

from dataclasses import dataclass

import numpy as np

from nbprof.ingest.wire import NO_ROWS, ONE_BYTE, REACH, Buffer, Ints, Spans, Words

FEW = 12
"""So few chains are followed faster one by one than side by side."""

INSIDE = 4
"""So many bytes of a message, and more, are in the word from its tag on."""

TWO_BYTES = np.uint64(16)


@dataclass(frozen=True, slots=True)
class Links:
    """The messages found, by turns: the first of every chain, the second of all, and so on."""

    spans: Spans
    """Rows are numbers of chains."""
    first: Words
    """The first bytes of each message, INSIDE of them or more."""
    stopped: Ints
    """Where each chain ended: at its end, or before something else."""


def follow(buffer: Buffer, begin: Ints, end: Ints, tag: int) -> Links:
    """Follow each chain from its beginning as long as messages of that tag come, to its end."""
    stopped = begin.copy()
    limit = np.minimum(end, len(buffer.data) - REACH)
    row = np.flatnonzero(begin < limit)
    position, stop = begin[row], limit[row]
    turns: list[tuple[Ints, Ints, Ints, Words]] = [(NO_ROWS, NO_ROWS, NO_ROWS, NO_ROWS.view("u8"))]
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
        turns.append((row, inside, size, first))
        going = following < stop
        position = following
        if not going.all():
            stopped[row] = following
            kept = np.flatnonzero(going)
            row, stop, position = row[kept], stop[kept], following[kept]
    stopped[row] = position
    row, inside, size, first = (np.concatenate(parts) for parts in zip(*turns, strict=True))
    return Links(Spans(row, inside, size), first, stopped)


def _sizes(buffer: Buffer, word: Words, position: Ints) -> tuple[Ints, Words, Ints]:
    """Read lengths of one or two bytes; give them, what is behind them, and where that is.

    Longer lengths are made too large for any message, for `wire.scan` to read.
    """
    size = ((word >> ONE_BYTE) & np.uint64(0xFF)).view(np.int64)
    first = word >> TWO_BYTES
    inside = position + 2
    if size.max() > 0x7F:
        long = np.flatnonzero(size > 0x7F)
        second = (first[long] & np.uint64(0xFF)).view(np.int64)
        size[long] += np.where(second < 0x80, (second - 1) << 7, len(buffer.data))
        first[long] >>= ONE_BYTE
        inside[long] += 1
    return size, first, inside

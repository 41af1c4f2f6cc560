"""Follow messages of one tag that stand one behind the other: events in a line, stats in an event.

`wire.scan` reads fields of any sort; most of a trace is of one sort only, and to step from one
message of a known tag to the next takes a third of the work.
"""

from dataclasses import dataclass

import numpy as np

from nbprof.ingest.wire import ONE_BYTE, REACH, Buffer, Ints, Spans, Words

FEW = 12
"""So few chains are followed faster one by one than side by side."""

INSIDE = 4
"""So many bytes of a message, and more, are in the word from its tag on."""

TWO_BYTES = np.uint64(16)


@dataclass(frozen=True, slots=True)
class Links:
    """The messages of chains, one chain after the other."""

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
    turns: list[tuple[Ints, Ints, Words]] = []
    while len(row) > FEW:
        word = buffer.words[position]
        size, inside = _sizes(buffer, word, position)
        following = inside + size
        good = (word.astype(np.uint8) == tag) & (following <= stop)
        if not good.all():
            stopped[row] = position
            kept = np.flatnonzero(good)
            row, stop, word = row[kept], stop[kept], word[kept]
            position, following = position[kept], following[kept]
        turns.append((row, position, word))
        going = following < stop
        position = following
        if not going.all():
            stopped[row] = following
            kept = np.flatnonzero(going)
            row, stop, position = row[kept], stop[kept], following[kept]
    stopped[row] = position
    return _links(buffer, turns, stopped)


def _sizes(buffer: Buffer, word: Words, position: Ints) -> tuple[Ints, Ints]:
    """Read lengths of one or two bytes; give them, and where the messages begin.

    Longer lengths are made too large for any message, for `wire.scan` to read.
    """
    size = ((word >> ONE_BYTE) & np.uint64(0xFF)).view(np.int64)
    inside = position + 2
    if size.max(initial=0) > 0x7F:
        long = np.flatnonzero(size > 0x7F)
        second = ((word[long] >> TWO_BYTES) & np.uint64(0xFF)).view(np.int64)
        size[long] += np.where(second < 0x80, (second - 1) << 7, len(buffer.data))
        inside[long] += 1
    return size, inside


def _links(buffer: Buffer, turns: list[tuple[Ints, Ints, Words]], stopped: Ints) -> Links:
    """Put the turns together: the n-th message of a chain was found in the n-th turn."""
    count = np.zeros(len(stopped), np.int64)
    for row, _, _ in turns:
        count[row] += 1
    place = np.cumsum(count) - count
    position = np.empty(int(count.sum()), np.int64)
    word = np.empty(len(position), np.uint64)
    for turn, (row, at, here) in enumerate(turns):
        to = place[row]
        to += turn
        position[to] = at
        word[to] = here
    size, inside = _sizes(buffer, word, position)
    first = word >> ((inside - position) * 8).view(np.uint64)
    return Links(Spans(np.repeat(np.arange(len(count)), count), inside, size), first, stopped)

"""Read protobuf messages that hold very many messages of one kind.

A line of a trace holds all its events, and each begins where the one before it ends, so
`wire.scan` has nothing to do in parallel. `scan_long` cuts such messages into lanes at places that
look like the start of an event, and scans the lanes. It does not trust these guesses: if every lane
ends exactly where the next one begins, then by induction from the first all cuts are true
boundaries. Otherwise it reads that message again uncut.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nbprof.arrays import Ints, Mask
from nbprof.ingest.protobuf.message_chains import NO_TURN, Turn, turns
from nbprof.ingest.protobuf.varints import ONE_BYTE, varints
from nbprof.ingest.protobuf.wire import LENGTH, VARINT, Buffer, Fields, Spans, scan, try_scan

LANE = 8192
"""Approximate length of a lane in bytes."""

WINDOW = 256
"""Bytes searched for the start of a lane."""

BLOCK = 4096
"""Lanes read in parallel: fewer than `wire.BLOCK`, as each has about a hundred fields."""


@dataclass(frozen=True, slots=True)
class Inner:
    """What the inner messages of a long message look like."""

    tag: int
    """Their tag in the long message."""
    second: tuple[int, ...]
    """The possible tags of their second field."""
    first: int = 1 << 3 | VARINT
    """The tag of their first field, a varint or a text or message."""


@dataclass(frozen=True, slots=True)
class Long:
    """The contents of long messages."""

    inner: Spans
    """The inner messages, in file order; a row is a long message."""
    first: npt.NDArray[np.uint32]
    """The first bytes of each inner message."""
    others: Fields
    """All other fields, as `scan` reads them."""


def scan_long(buffer: Buffer, messages: Spans, inner: Inner) -> Long:
    """Find the inner messages of long messages, and read all other fields."""
    cut = messages.size > 2 * LANE
    lanes = _cut_lanes(buffer, messages, cut, inner)
    found = [_scan_lanes(buffer, block, inner) for block in _blocks(lanes)]
    wrong = np.concatenate([damaged for _, damaged in found])
    if len(wrong):
        cut[wrong] = False
        lanes = _cut_lanes(buffer, messages, cut, inner)
        found = [_scan_lanes(buffer, block, inner) for block in _blocks(lanes)]
        if any(len(damaged) for _, damaged in found):
            scan(buffer, lanes)  # raises the first error
    parts = [part for part, _ in found]
    return Long(
        Spans.join([part.inner for part in parts]),
        np.concatenate([part.first for part in parts]),
        Fields.join([part.others for part in parts]),
    )


def _blocks(lanes: Spans) -> Iterator[Spans]:
    """Yield the lanes in blocks; no lanes still make one (empty) block to join."""
    for first in range(0, max(len(lanes), 1), BLOCK):
        yield lanes[first : first + BLOCK]


def _scan_lanes(buffer: Buffer, lanes: Spans, inner: Inner) -> tuple[Long, Ints]:
    """Read a block of lanes; also return the rows of long messages that seem damaged."""
    message, begin = lanes.row.astype(np.int64), lanes.begin.astype(np.int64)
    end = begin + lanes.size.astype(np.int64)
    stopped = np.empty_like(begin)
    found = Turn.join([NO_TURN, *turns(buffer, begin, end, inner.tag, stopped)])
    left = np.flatnonzero(stopped < end)
    fields, damaged = try_scan(buffer, Spans(left, stopped[left], end[left] - stopped[left]))
    rest = fields.messages(inner.tag)
    spans = Spans.join(
        [Spans(found.row, found.begin, found.size), Spans(left[rest.row], rest.begin, rest.size)]
    )
    order = np.argsort(spans.row.astype(np.uint16), kind="stable")
    first = np.append(found.first, buffer.words_at(rest.begin))[order]
    spans = spans[order]
    others = fields.take(np.flatnonzero(fields.tag != inner.tag)).in_file_order()
    read = Long(
        Spans(message[spans.row], spans.begin, spans.size).narrow(len(buffer.data)),
        first.astype(np.uint32),
        Fields(message[left[others.row]], others.tag, others.value, others.begin),
    )
    return read, message[left[damaged]]


def _cut_lanes(buffer: Buffer, messages: Spans, cut: Mask, inner: Inner) -> Spans:
    """Cut the marked messages wherever a start is found; every other message is one lane."""
    begin = messages.begin.astype(np.int64)
    end = begin + messages.size.astype(np.int64)
    cuts = np.where(cut, (end - begin) // LANE, 0)
    row = np.repeat(np.arange(len(begin)), cuts)
    nth = np.arange(len(row)) - np.repeat(np.cumsum(cuts) - cuts, cuts)
    start = _guess_starts(buffer, begin[row] + nth * LANE, end[row], inner)
    found = start >= 0
    row = np.concatenate([np.arange(len(begin)), row[found]])
    start = np.concatenate([begin, start[found]])
    order = np.lexsort((start, row))
    row, start = row[order], start[order]
    stop = end[row]
    goes_on = row[1:] == row[:-1]
    stop[:-1][goes_on] = start[1:][goes_on]
    return Spans(row, start, stop - start)


def _guess_starts(buffer: Buffer, near: Ints, end: Ints, inner: Inner) -> Ints:
    """Return the first likely start in the window that begins at each position, or -1."""
    start = np.full(len(near), -1, np.int64)
    for first in range(0, len(near), BLOCK):
        block = slice(first, first + BLOCK)
        windows = np.lib.stride_tricks.sliding_window_view(buffer.bytes, WINDOW)[near[block]]
        lane, offset = np.nonzero(windows == inner.tag)
        position = near[block][lane] + offset
        likely = _looks_like_start(buffer, position, end[block][lane], inner)
        lane, position = lane[likely], position[likely]
        start[block][lane[::-1]] = position[::-1]  # the first one in each lane is written last
    return start


def _looks_like_start(buffer: Buffer, position: Ints, end: Ints, inner: Inner) -> Mask:
    """Return at which positions a typical inner message begins and another one follows it."""
    last = len(buffer.words) - 1
    length, width = varints(buffer.words[position] >> ONE_BYTE)
    inside = np.minimum(position + 1 + width.view(np.int64), last)
    word = buffer.words[inside]
    value, first_width = varints(word >> ONE_BYTE)
    second = inside + 1 + first_width.view(np.int64)
    if inner.first & 7 == LENGTH:
        second += np.minimum(value, len(buffer.data)).view(np.int64)
    after = inside + np.minimum(length, len(buffer.data)).view(np.int64)
    likely: Mask = word.astype(np.uint8) == inner.first
    likely &= np.isin(buffer.bytes[np.minimum(second, last)], inner.second) & (second < after)
    likely &= (after < end) & (buffer.bytes[np.minimum(after, last)] == inner.tag)
    return likely

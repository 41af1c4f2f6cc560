"""Find the events of a trace's lines all at once, instead of stepping from one to the next.

Where an event may begin is seen from a few bytes: its tag, a length, the tags of its id and of its
offset. Bytes are compared fast; of what is found so a part in fifty is no event. What is one is
then proved: the first event of a line is one, and so is what begins where an event ends. This chain
of proofs runs from neighbour to neighbour except where it has to leap over a false candidate, and
only the leaps have to be followed. Where no candidate stands at the end of an event, something else
does: an unusual event, another field, or damage; `Buffer.field` reads it.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nbprof.arrays import Ints, Mask, Positions
from nbprof.ingest.protobuf.growable import GrowableColumn
from nbprof.ingest.protobuf.long_messages import Long
from nbprof.ingest.protobuf.wire import LARGEST_TAG, REACH, Buffer, Fields, Spans
from nbprof.progress import Done

EVENT, ID, OFFSET = 4 << 3 | 2, 1 << 3, 2 << 3
"""The tags of an event in a line, and of an id and an offset in an event."""

CHUNK = 1 << 19
"""So many bytes are compared at once, to stay in the processor's cache."""

LONGEST = 8
"""So many bytes from a tag on are looked at."""

SHORT = 12
"""Few events have fewer bytes."""

MOST_ROUNDS = 32
"""After so many unusual things in one line the search is given up."""


def find_events(buffer: Buffer, lines: Spans, done: Done) -> Long | None:
    """Find the events of lines; None if they look too unusual for this way to be the faster one."""
    candidates = _find_candidates(buffer, lines, done)
    walk = _Walk(buffer, lines)
    proofs = _Proofs(candidates)
    waiting = walk.start()
    for _ in range(MOST_ROUNDS):
        if not len(waiting):
            return _put_together(buffer, candidates, proofs.true(), walk)
        walk.position[waiting] = proofs.follow(walk.position[waiting])
        waiting = walk.step(waiting)
    return None


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Places where events may begin, in file order; columns are as narrow as they can be."""

    begin: Positions
    """Where the event itself begins, after its tag and length."""
    size: npt.NDArray[np.uint16]
    first: npt.NDArray[np.uint32]
    """The first bytes of the event."""

    def positions(self) -> Positions:
        """Give where the tags are, and a place beyond all of them."""
        room: Positions = np.empty(len(self.begin) + 1, self.begin.dtype)
        np.subtract(self.begin, 2, out=room[:-1])
        room[:-1] -= self.size > 0x7F
        room[-1] = np.iinfo(room.dtype).max
        return room


class _Proofs:
    """Tells which candidates are events, from places on where an event surely begins."""

    def __init__(self, candidates: _Candidates) -> None:
        self._position = position = candidates.positions()
        end = candidates.begin + candidates.size
        # The candidates at whose end not the next one stands, and which one does.
        self._leaps = np.flatnonzero(end != position[1:])
        self._stop = end[self._leaps]
        target = np.searchsorted(position, self._stop)
        stands = position[target] == self._stop
        self._target = np.where(stands, target, -1)
        nowhere = len(self._leaps)
        self._next = np.where(stands, np.searchsorted(self._leaps, target), nowhere)
        self._change = np.zeros(len(position), np.int8)

    def follow(self, start: Ints) -> Ints:
        """Prove all that follows from these places; give the places where that ends."""
        first = np.searchsorted(self._position, start.astype(self._position.dtype))
        found = np.flatnonzero(self._position[first] == start)
        first = first[found]
        nowhere = len(self._leaps)
        reached = np.zeros(nowhere + 1, np.bool_)
        opening = np.searchsorted(self._leaps, first)
        reached[opening] = True
        # Leaps of 1, 2, 4 … at a time: after n rounds all of 2ⁿ leaps are marked.
        leap = np.append(self._next, nowhere)
        for _ in range(nowhere.bit_length()):
            reached[leap[reached]] = True
            leap = leap[leap]
        taken = np.flatnonzero(reached[:-1])
        entry = np.empty(nowhere + 1, np.int64)
        entry[self._next[taken]] = self._target[taken]
        entry[opening] = first
        self._change[entry[taken]] += 1
        self._change[self._leaps[taken] + 1] -= 1
        last = taken[self._next[taken] == nowhere]  # one for each start, in their order
        stop = start.copy()
        stop[found] = self._stop[last]
        return stop

    def true(self) -> Mask:
        """Mark what was proved."""
        marked: Mask = np.cumsum(self._change[:-1], dtype=np.int8) > 0
        return marked


def _find_candidates(buffer: Buffer, lines: Spans, done: Done) -> _Candidates:
    """Look for events chunk by chunk."""
    begin = lines.begin.astype(np.int64)
    end = begin + lines.size.astype(np.int64)
    width = np.uint32 if len(buffer.data) < 2**31 else np.int64
    room = len(buffer.data) // SHORT
    begins, sizes, firsts = (GrowableColumn(dtype, room) for dtype in (width, np.uint16, np.uint32))
    stop = min(int(end.max(initial=0)), len(buffer.data) - REACH)
    for start in range(int(begin.min(initial=stop)), stop, CHUNK):
        count = min(CHUNK, stop - start)
        done(count // 2)
        chunk, offset = buffer.part(start, start + count)
        position = _places(chunk, start - offset, count)
        if not len(position):
            continue
        size = chunk.bytes[position + 1].astype(np.int64)
        inside = position + 2
        long = np.flatnonzero(size > 0x7F)
        size[long] += (chunk.bytes[inside[long]].astype(np.int64) - 1) << 7
        inside[long] += 1
        kept = inside + size <= _ends_of(begin, end, position + offset) - offset
        kept &= chunk.bytes[inside] == ID
        inside = inside[kept]
        begins.append(inside + offset)
        sizes.append(size[kept])
        firsts.append(chunk.words[inside].astype(np.uint32))
    return _Candidates(begins.array, sizes.array, firsts.array)


def _ends_of(begin: Ints, end: Ints, position: Ints) -> Ints:
    """Give the end of the line of each position: mostly one of all."""
    first, last = np.searchsorted(begin, position[[0, -1]], side="right") - 1
    if first == last:
        return end[first : first + 1]
    return end[np.searchsorted(begin, position, side="right") - 1]


def _places(part: Buffer, start: int, count: int) -> Ints:
    """Find the bytes that look like the tag of an event, by the tags in it that follow."""
    chunk = part.bytes[start : start + count + LONGEST]
    likely = chunk[:count] == EVENT
    tag = chunk == ID
    likely &= tag[2 : count + 2] | tag[3 : count + 3]  # after a length of one or two bytes
    tag = chunk == OFFSET
    likely &= tag[4 : count + 4] | tag[5 : count + 5] | tag[6 : count + 6] | tag[7 : count + 7]
    return np.flatnonzero(likely) + start


class _Walk:
    """Goes through lines where there are no candidates, field by field."""

    def __init__(self, buffer: Buffer, lines: Spans) -> None:
        self._buffer = buffer
        self.begin = lines.begin.astype(np.int64)
        self.position = self.begin.copy()
        """Where each line has been read up to."""
        self._end = self.position + lines.size.astype(np.int64)
        self.fields: list[tuple[int, int, int, int]] = []
        """Line, tag, value and begin of what was read."""

    def start(self) -> Ints:
        """Read what stands before the events; give the lines that are not at their end."""
        return self._read_others(np.arange(len(self.position)))

    def step(self, lines: Ints) -> Ints:
        """Read one field, and what stands before the next event; give those not at their end."""
        lines = lines[self.position[lines] < self._end[lines]]
        for line in lines.tolist():
            self._read_field(line)
        return self._read_others(lines)

    def _read_others(self, lines: Ints) -> Ints:
        for line in lines.tolist():
            while self.position[line] < self._end[line]:
                if self._next_byte(line) == EVENT:
                    break
                self._read_field(line)
        return lines[self.position[lines] < self._end[lines]]

    def _next_byte(self, line: int) -> int:
        position = int(self.position[line])
        self._buffer.hold(position, position + 1)
        return self._buffer.data[position]

    def _read_field(self, line: int) -> None:
        position, end = int(self.position[line]), int(self._end[line])
        tag, value, begin, following = self._buffer.field(position, end)
        self._buffer.hold(begin, following)
        self.position[line] = following
        if tag <= LARGEST_TAG:
            self.fields.append((line, tag, value, begin))


def _put_together(buffer: Buffer, found: _Candidates, true: Mask, walk: _Walk) -> Long:
    """Make one table of the candidates that are events and of what was read field by field."""
    columns = zip(*walk.fields, strict=True) if walk.fields else ((),) * 4
    line, tag, value, begin = (np.array(column, np.uint64) for column in columns)
    events, others = np.flatnonzero(tag == EVENT), np.flatnonzero(tag != EVENT)
    where, first = found.begin[true], found.first[true]
    size: Positions = found.size[true]
    if len(events):
        where = np.append(where, begin[events].astype(where.dtype))
        order = np.argsort(where, kind="stable")
        where, size = where[order], np.append(size, value[events].view(np.int64))[order]
        first = np.append(first, buffer.words_at(begin[events].view(np.int64)))[order].astype("u4")
    return Long(
        Spans(_lines_of(walk.begin, where), where, size),
        first,
        Fields(
            line[others].view(np.int64),
            tag[others].astype(np.uint8),
            value[others],
            begin[others].view(np.int64),
        ),
    )


def _lines_of(begin: Ints, where: Positions) -> Positions:
    """Give the line of each place; both ascend."""
    count = np.diff(np.searchsorted(where, begin.astype(where.dtype)), append=len(where))
    return np.repeat(np.arange(len(begin), dtype=np.min_scalar_type(len(begin))), count)

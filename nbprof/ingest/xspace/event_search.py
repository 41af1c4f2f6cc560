"""Find events by comparing bytes, instead of stepping from one event to the next.

`find_events` finds the events of lines. A few bytes show where an event may begin: its tag, a
length, the tags of its id and its offset. Comparing bytes is fast, and about 1 in 50 candidates is
false. The true ones are then proved: the first event of a line is one, and so is whatever begins
where an event ends. This chain of proofs runs from neighbour to neighbour except where it leaps
over a false candidate, so only the leaps have to be followed. Where no candidate begins at the end
of an event, there is an unusual event, another field, or damage; `Buffer.field` reads it.

`events_with` finds the events that may have certain rare stats. A stat begins with its id; where
the bytes of that id do not occur, the event needs no reading.
"""

from collections.abc import Set
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nbprof.arrays import Ints, Mask, Positions
from nbprof.ingest.protobuf.growable import GrowableColumn
from nbprof.ingest.protobuf.long_messages import Long
from nbprof.ingest.protobuf.wire import LARGEST_TAG, REACH, Buffer, Fields, Spans
from nbprof.ingest.xspace.xplane_fields import EVENT_METADATA_ID, EVENT_OFFSET_PS, LINE_EVENT
from nbprof.progress import Done

CHUNK = 1 << 19
"""Bytes compared at once, few enough to stay in the processor's cache."""

EXAMINED = 8
"""Bytes examined from the tag of an event on."""

SHORT = 12
"""Size in bytes that most events exceed."""

MOST_ROUNDS = 32
"""Number of unusual fields in one line after which `find_events` gives up."""

MOST_PATTERNS = 16
"""Number of patterns beyond which `events_with` marks all events without searching."""


def find_events(buffer: Buffer, lines: Spans, done: Done) -> Long | None:
    """Find the events of lines; return None if too many are unusual for this to be fast."""
    candidates = _find_candidates(buffer, lines, done)
    walk = _Walk(buffer, lines)
    proofs = _Proofs(candidates)
    waiting = walk.start()
    for _ in range(MOST_ROUNDS):
        if not len(waiting):
            return _combine(buffer, candidates, proofs.proved(), walk)
        walk.position[waiting] = proofs.follow(walk.position[waiting])
        waiting = walk.step(waiting)
    return None


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Places where events may begin, in file order, in columns as narrow as possible."""

    begin: Positions
    """Where the event's content begins, after its tag and length."""
    size: npt.NDArray[np.uint16]
    first: npt.NDArray[np.uint32]
    """The first bytes of the event."""

    def positions(self) -> Positions:
        """Return the positions of the tags, and one more beyond all of them."""
        tags: Positions = np.empty(len(self.begin) + 1, self.begin.dtype)
        np.subtract(self.begin, 2, out=tags[:-1])
        tags[:-1] -= self.size > 0x7F
        tags[-1] = np.iinfo(tags.dtype).max
        return tags


class _Proofs:
    """Proves candidates to be events, from places where an event surely begins."""

    def __init__(self, candidates: _Candidates) -> None:
        self._position = position = candidates.positions()
        end = candidates.begin + candidates.size
        # Leaps: the candidates that do not end where the next one begins.
        self._leaps = np.flatnonzero(end != position[1:])
        self._stop = end[self._leaps]
        target = np.searchsorted(position, self._stop)
        lands = position[target] == self._stop
        self._target = np.where(lands, target, -1)
        nowhere = len(self._leaps)
        self._next = np.where(lands, np.searchsorted(self._leaps, target), nowhere)
        self._change = np.zeros(len(position), np.int8)

    def follow(self, start: Ints) -> Ints:
        """Prove everything reachable from these places; return where each chain of proofs ends."""
        first = np.searchsorted(self._position, start.astype(self._position.dtype))
        found = np.flatnonzero(self._position[first] == start)
        first = first[found]
        nowhere = len(self._leaps)
        reached = np.zeros(nowhere + 1, np.bool_)
        opening = np.searchsorted(self._leaps, first)
        reached[opening] = True
        # Follow 1, 2, 4 … leaps at a time: n rounds mark all of 2ⁿ leaps.
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
        last = taken[self._next[taken] == nowhere]  # one for each start, in the same order
        stop = start.copy()
        stop[found] = self._stop[last]
        return stop

    def proved(self) -> Mask:
        """Return which candidates are events."""
        marked: Mask = np.cumsum(self._change[:-1], dtype=np.int8) > 0
        return marked


def _find_candidates(buffer: Buffer, lines: Spans, done: Done) -> _Candidates:
    """Search the lines for candidates, chunk by chunk."""
    begin = lines.begin.astype(np.int64)
    end = begin + lines.size.astype(np.int64)
    room = len(buffer.data) // SHORT
    begins = GrowableColumn(np.uint32 if len(buffer.data) < 2**31 else np.int64, room)
    sizes, firsts = GrowableColumn(np.uint16, room), GrowableColumn(np.uint32, room)
    stop = min(int(end.max(initial=0)), len(buffer.data) - REACH)
    for start in range(int(begin.min(initial=stop)), stop, CHUNK):
        count = min(CHUNK, stop - start)
        done(count // 2)
        chunk, offset = buffer.part(start, start + count)
        position = _likely_tags(chunk, start - offset, count)
        if not len(position):
            continue
        inside, size = _contents(chunk, position)
        kept = inside + size <= _ends_of(begin, end, position + offset) - offset
        kept &= chunk.bytes[inside] == EVENT_METADATA_ID
        inside = inside[kept]
        begins.append(inside + offset)
        sizes.append(size[kept])
        firsts.append(chunk.words[inside].astype(np.uint32))
    return _Candidates(begins.array, sizes.array, firsts.array)


def _contents(chunk: Buffer, position: Ints) -> tuple[Ints, Ints]:
    """Return where the contents of the messages at these tags begin, and their sizes in bytes."""
    size = chunk.bytes[position + 1].astype(np.int64)
    inside = position + 2
    long = np.flatnonzero(size > 0x7F)
    size[long] += (chunk.bytes[inside[long]].astype(np.int64) - 1) << 7
    inside[long] += 1
    return inside, size


def _ends_of(begin: Ints, end: Ints, position: Ints) -> Ints:
    """Return where the line of each position ends; one entry if all are on the same line."""
    first, last = np.searchsorted(begin, position[[0, -1]], side="right") - 1
    if first == last:
        return end[first : first + 1]
    return end[np.searchsorted(begin, position, side="right") - 1]


def _likely_tags(part: Buffer, start: int, count: int) -> Ints:
    """Return the positions that look like tags of events, judging by the tags that follow."""
    chunk = part.bytes[start : start + count + EXAMINED]
    likely = chunk[:count] == LINE_EVENT
    tag = chunk == EVENT_METADATA_ID
    likely &= tag[2 : count + 2] | tag[3 : count + 3]  # after a length of one or two bytes
    tag = chunk == EVENT_OFFSET_PS
    likely &= tag[4 : count + 4] | tag[5 : count + 5] | tag[6 : count + 6] | tag[7 : count + 7]
    return np.flatnonzero(likely) + start


class _Walk:
    """Reads lines field by field where there are no candidates."""

    def __init__(self, buffer: Buffer, lines: Spans) -> None:
        self._buffer = buffer
        self.begin = lines.begin.astype(np.int64)
        self.position = self.begin.copy()
        """The position up to which each line has been read."""
        self._end = self.position + lines.size.astype(np.int64)
        self.fields: list[tuple[int, int, int, int]] = []
        """Line, tag, value and begin of the fields read."""

    def start(self) -> Ints:
        """Read what precedes the events; return the lines that are not at their end."""
        return self._read_others(np.arange(len(self.position)))

    def step(self, lines: Ints) -> Ints:
        """Read one field and what precedes the next event; return the lines not at their end."""
        lines = lines[self.position[lines] < self._end[lines]]
        for line in lines.tolist():
            self._read_field(line)
        return self._read_others(lines)

    def _read_others(self, lines: Ints) -> Ints:
        for line in lines.tolist():
            while self.position[line] < self._end[line]:
                if self._next_byte(line) == LINE_EVENT:
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


def _combine(buffer: Buffer, found: _Candidates, proved: Mask, walk: _Walk) -> Long:
    """Combine the proved candidates with what was read field by field."""
    columns = zip(*walk.fields, strict=True) if walk.fields else ((),) * 4
    line, tag, value, begin = (np.array(column, np.uint64) for column in columns)
    events, others = np.flatnonzero(tag == LINE_EVENT), np.flatnonzero(tag != LINE_EVENT)
    where, first = found.begin[proved], found.first[proved]
    size: Positions = found.size[proved]
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
    """Return the line of each place; lines and places ascend."""
    count = np.diff(np.searchsorted(where, begin.astype(where.dtype)), append=len(where))
    return np.repeat(np.arange(len(begin), dtype=np.min_scalar_type(len(begin))), count)


def events_with(
    buffer: Buffer, events: Spans, patterns: Set[bytes], followers: tuple[int, ...]
) -> Mask:
    """Mark the events that contain one of the patterns followed by one of the `followers`."""
    if len(patterns) > MOST_PATTERNS:
        return np.ones(len(events), np.bool_)
    marked = np.zeros(len(events), np.bool_)
    data, begin = buffer.bytes, events.begin
    for position, pattern in _find_patterns(buffer, events, patterns):
        for offset, letter in enumerate(pattern):
            position = position[data[position + offset] == letter]
        position = position[np.isin(data[position + len(pattern)], followers)]
        event = np.searchsorted(begin, position.astype(begin.dtype), side="right") - 1
        marked[event[event >= 0]] = True
    return marked


def _find_patterns(buffer: Buffer, events: Spans, patterns: Set[bytes]) -> list[tuple[Ints, bytes]]:
    """Return where the first two bytes of each pattern occur in the events."""
    if not (len(events) and patterns):
        return []
    found = []
    end = int(events.begin[-1]) + int(events.size[-1])
    end = min(end, len(buffer.data) - max(map(len, patterns)))
    for start in range(int(events.begin[0]), end, CHUNK):
        chunk = buffer.bytes[start : min(start + CHUNK, end) + 1]
        for pattern in patterns:
            hit = chunk[1:] == pattern[1]
            hit &= chunk[:-1] == pattern[0]
            if hit.any():
                found.append((np.flatnonzero(hit) + start, pattern))
    return found

"""Find events that have certain rare stats without reading the stats of all events.

A stat begins with its id, spelled in a few bytes; where these bytes do not occur, the stat is not.
Where they do, the event has to be read to know.
"""

import numpy as np

from nbprof.arrays import Ints, Mask
from nbprof.ingest.protobuf.wire import Buffer, Spans

CHUNK = 1 << 19
"""So many bytes are compared at once, to stay in the processor's cache."""

MOST_PATTERNS = 16


def events_with(
    buffer: Buffer, events: Spans, patterns: set[bytes], behind: tuple[int, ...]
) -> Mask:
    """Mark the events in which one of the patterns stands before one of the bytes `behind`."""
    if len(patterns) > MOST_PATTERNS:
        return np.ones(len(events), np.bool_)
    marked = np.zeros(len(events), np.bool_)
    data, begin = buffer.bytes, events.begin
    for position, pattern in _places(buffer, events, patterns):
        for offset, letter in enumerate(pattern):
            position = position[data[position + offset] == letter]
        position = position[np.isin(data[position + len(pattern)], behind)]
        event = np.searchsorted(begin, position.astype(begin.dtype), side="right") - 1
        marked[event[event >= 0]] = True
    return marked


def _places(buffer: Buffer, events: Spans, patterns: set[bytes]) -> list[tuple[Ints, bytes]]:
    """Find where the first two bytes of each pattern are, from the first event to the last."""
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

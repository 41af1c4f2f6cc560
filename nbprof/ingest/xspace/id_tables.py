"""The tables of a trace that its events refer to: texts, and what the ids of each plane mean."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from nbprof.arrays import Ints, Positions
from nbprof.ingest.protobuf.wire import LENGTH, VARINT, Buffer, Spans, scan

Ids = npt.NDArray[np.int32]

ENTRY_KEY = 1 << 3 | VARINT
ENTRY_VALUE = 2 << 3 | LENGTH
METADATA_NAME = 2 << 3 | LENGTH
METADATA_DISPLAY_NAME = 4 << 3 | LENGTH

FEW_IDS = 1024


class Strings:
    """A table of distinct texts; the first is empty."""

    def __init__(self) -> None:
        self.texts = [b""]
        self.rows = {b"": 0}

    def add(self, text: bytes) -> int:
        """Give the row of a text, a new one if it is new."""
        row = self.rows.setdefault(text, len(self.texts))
        if row == len(self.texts):
            self.texts.append(text)
        return row

    def add_all(self, texts: list[bytes]) -> Ids:
        """Give the rows of texts."""
        return np.fromiter(map(self.add, texts), np.int32, len(texts))


@dataclass(frozen=True, slots=True)
class Metadata:
    """What the ids of each plane stand for, by plane and id; the last row is for unknown ids."""

    plane: Ints
    id: Ints
    name: Ids
    display_name: Ids

    def find(self, plane: Positions, ids: Ints) -> Ints:
        """Find the row of each id in its plane, or -1, the last row; one plane may be of all."""
        if len(plane) == 1:
            return self._find(int(plane[0]), ids)
        found = np.empty(len(ids), np.int64)
        for here in _runs(plane):  # one, as a rule
            found[here] = self._find(int(plane[here.start]), ids[here])
        return found

    def _find(self, plane: int, ids: Ints) -> Ints:
        """Find ids among the rows of one plane."""
        first, end = np.searchsorted(self.plane[:-1], (plane, plane + 1)).tolist()
        known = self.id[first:end]
        if first == end:
            return np.full(len(ids), -1)
        # Ids count up from 1 as a rule; a table of a few large ids is searched instead.
        if known[0] > 0 and known[-1] < 4 * len(ids) + FEW_IDS:
            row_of = np.full(int(known[-1]) + 2, -1)
            row_of[known] = np.arange(first, end)  # of equal ids the last counts
            return row_of.take(ids, mode="clip")  # whose first and last entry are of no id
        row = first - 1 + np.searchsorted(known, ids, side="right")
        return np.where((row >= first) & (self.id[row] == ids), row, -1)


def _runs(values: Positions) -> Iterator[slice]:
    """Yield the slices of equal neighbours."""
    borders = np.flatnonzero(values[1:] != values[:-1]) + 1
    for start, stop in pairwise([0, *borders.tolist(), len(values)]):
        if start < stop:
            yield slice(start, stop)


def read_metadata(buffer: Buffer, entries: Spans, strings: Strings) -> Metadata:
    """Read the entries of the metadata maps of all planes."""
    count = len(entries)
    in_entries = scan(buffer, entries)
    ids = in_entries.numbers(ENTRY_KEY, count)
    metadata = in_entries.last(count, ENTRY_VALUE)
    in_metadata = scan(buffer, Spans(metadata.row, metadata.begin, metadata.value))
    names = strings.add_all(in_metadata.texts(METADATA_NAME, count, buffer.data))
    display_names = strings.add_all(in_metadata.texts(METADATA_DISPLAY_NAME, count, buffer.data))
    order = np.lexsort((ids, entries.row))  # stable: of equal ids the last stays last
    return Metadata(
        plane=np.append(entries.row[order], -1),
        id=np.append(ids[order], 0),
        name=np.append(names[order], np.int32(0)),
        display_name=np.append(display_names[order], np.int32(0)),
    )

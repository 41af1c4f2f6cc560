"""The tables that events refer to: distinct texts, and what the ids of each plane mean."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from nbprof.arrays import Ints, Positions
from nbprof.ingest.protobuf.wire import Buffer, Fields, Spans, scan
from nbprof.ingest.xspace.xplane_fields import (
    ENTRY_KEY,
    ENTRY_VALUE,
    METADATA_DISPLAY_NAME,
    METADATA_NAME,
    PLANE_EVENT_METADATA,
    PLANE_STAT_METADATA,
)

Ids = npt.NDArray[np.int32]

FEW_IDS = 1024
"""Largest id for which a lookup table always pays off."""


class Strings:
    """A table of distinct texts; the first is empty."""

    def __init__(self) -> None:
        self.texts = [b""]
        self.rows = {b"": 0}

    def add(self, text: bytes) -> int:
        """Return the row of a text, adding it if it is new."""
        row = self.rows.setdefault(text, len(self.texts))
        if row == len(self.texts):
            self.texts.append(text)
        return row

    def add_all(self, texts: list[bytes]) -> Ids:
        """Return the rows of texts, adding new ones."""
        return np.fromiter(map(self.add, texts), np.int32, len(texts))


@dataclass(frozen=True, slots=True)
class Metadata:
    """What the ids of each plane mean, sorted by plane and id; the last row is for unknown ids."""

    plane: Ints
    id: Ints
    name: Ids
    """Row of the table of texts."""
    display_name: Ids
    """Row of the table of texts."""

    def find(self, plane: Positions, ids: Ints) -> Ints:
        """Return the row of each id in its plane, or -1, which is the last row.

        A single plane applies to all ids.
        """
        if len(plane) == 1:
            return self._find(int(plane[0]), ids)
        found = np.empty(len(ids), np.int64)
        for run in _runs(plane):  # usually one
            found[run] = self._find(int(plane[run.start]), ids[run])
        return found

    def _find(self, plane: int, ids: Ints) -> Ints:
        """Find ids among the rows of one plane."""
        first, end = np.searchsorted(self.plane[:-1], (plane, plane + 1)).tolist()
        known = self.id[first:end]
        if first == end:
            return np.full(len(ids), -1)
        # Ids usually count up from 1; few but large ids are searched instead.
        if known[0] > 0 and known[-1] < 4 * len(ids) + FEW_IDS:
            row_of = np.full(int(known[-1]) + 2, -1)
            row_of[known] = np.arange(first, end)  # the last of equal ids wins
            return row_of.take(ids, mode="clip")  # the first and last entries are -1
        row = first - 1 + np.searchsorted(known, ids, side="right")
        return np.where((row >= first) & (self.id[row] == ids), row, -1)


@dataclass(frozen=True, slots=True)
class IdTables:
    """Everything that the events and stats of a trace refer to."""

    strings: Strings
    events: Metadata
    stats: Metadata


def _runs(values: Positions) -> Iterator[slice]:
    """Yield the slices of equal neighbours."""
    borders = np.flatnonzero(values[1:] != values[:-1]) + 1
    for start, stop in pairwise([0, *borders.tolist(), len(values)]):
        if start < stop:
            yield slice(start, stop)


def read_id_tables(buffer: Buffer, in_planes: Fields) -> IdTables:
    """Read the tables from the fields of all planes."""
    strings = Strings()
    stats = read_metadata(buffer, in_planes.messages(PLANE_STAT_METADATA), strings)
    events = read_metadata(buffer, in_planes.messages(PLANE_EVENT_METADATA), strings)
    return IdTables(strings, events, stats)


def read_metadata(buffer: Buffer, entries: Spans, strings: Strings) -> Metadata:
    """Read the entries of the metadata maps of planes."""
    count = len(entries)
    ids, fields = read_entries(buffer, entries)
    names = strings.add_all(fields.texts(METADATA_NAME, count, buffer.data))
    display_names = strings.add_all(fields.texts(METADATA_DISPLAY_NAME, count, buffer.data))
    order = np.lexsort((ids, entries.row))  # stable: the last of equal ids stays last
    return Metadata(
        plane=np.append(entries.row[order], -1),
        id=np.append(ids[order], 0),
        name=np.append(names[order], np.int32(0)),
        display_name=np.append(display_names[order], np.int32(0)),
    )


def read_entries(buffer: Buffer, entries: Spans) -> tuple[Ints, Fields]:
    """Return the keys of map entries, and the fields of their values."""
    fields = scan(buffer, entries)
    values = fields.last(len(entries), ENTRY_VALUE)
    ids = fields.numbers(ENTRY_KEY, len(entries))
    return ids, scan(buffer, Spans(values.row, values.begin, values.value))

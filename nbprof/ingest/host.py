"""The events of a trace that say what ran, in order, each knowing which one it ran inside."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from nbprof.ingest import nesting
from nbprof.ingest.kinds import Kind, kinds_of
from nbprof.ingest.nesting import NONE, Rows

if TYPE_CHECKING:
    from nbprof.ingest.xspace import XSpace

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class HostEvents:
    """Relevant events of the host's threads, sorted for nesting; times in ps."""

    space: "XSpace"
    row: Rows
    """The event's row in the XSpace."""
    kind: npt.NDArray[np.int8]
    line: npt.NDArray[np.int32]
    start: Ints
    duration: Ints

    @cached_property
    def end(self) -> Ints:
        """When each event ended."""
        return self.start + self.duration

    @cached_property
    def parent(self) -> Rows:
        """The event each one ran directly inside, or NONE."""
        return nesting.parents(self.line, self.start, self.end)

    def of(self, *kinds: Kind) -> Mask:
        """Mark the events of these kinds."""
        return np.isin(self.kind, kinds)

    def inside(self, marked: Mask) -> Rows:
        """Find each event's innermost marked ancestor, or NONE."""
        return nesting.nearest(self.parent, marked)

    def number(self, stat: str, default: int = NONE) -> Ints:
        """Give a numeric stat of each event, `default` where it has none."""
        return stat_column(self.space, stat, default)[self.row]

    def text(self, stat: str) -> Rows:
        """Give a text stat of each event as a row of `space.strings`, 0 where it has none."""
        return stat_column(self.space, stat, 0)[self.row].astype(np.intp)


def read_host(space: "XSpace") -> HostEvents:
    """Pick and sort the events that matter."""
    kind = _kinds(space)
    row = np.flatnonzero(kind)
    order = nesting.sort_order(space.line[row], space.start_ps[row], space.duration_ps[row])
    row = row[order]
    return HostEvents(
        space, row, kind[row], space.line[row], space.start_ps[row], space.duration_ps[row]
    )


def _kinds(space: "XSpace") -> npt.NDArray[np.int8]:
    width = len(space.strings)
    distinct, which = np.unique(
        space.name.astype(np.int64) * width + space.display_name, return_inverse=True
    )
    strings = space.strings
    kind = kinds_of((strings[both // width], strings[both % width]) for both in distinct)[which]
    for stat, told in (
        ("tf_function_call", Kind.CALL),
        ("step_num", Kind.BLOCK),
        ("hlo_op", Kind.THUNK),
    ):
        kind[space.stat(stat).event] = told
    ended = [row for row, text in enumerate(strings) if text.startswith(b"end: ")]
    kind[np.isin(space.name, ended)] = Kind.OTHER  # marks the end of a THUNK, is none
    on_host = np.array([not name.startswith("/device:") for name in space.plane_names], dtype=bool)
    if not on_host.all():
        kind[~on_host[space.line_plane[space.line]]] = Kind.OTHER
    return kind


def stat_column(space: "XSpace", stat: str, default: int) -> Ints:
    """Spread a stat over all events of the trace."""
    found = space.stat(stat)
    column = np.full(len(space.line), default, dtype=np.int64)
    column[found.event] = found.value
    return column

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
        return self._column(stat, default, is_text=False)[self.row]

    def text(self, stat: str) -> Rows:
        """Give a text stat of each event as a row of `space.strings`, 0 where it has none."""
        return self._column(stat, 0, is_text=True)[self.row].astype(np.intp)

    def _column(self, stat: str, default: int, is_text: bool) -> Ints:
        found = self.space.stat(stat)
        column = np.full(len(self.space.line), default, dtype=np.int64)
        # A stat of another type than TensorFlow gives it counts as absent.
        if found.is_text == is_text and found.value.dtype.kind == "i":
            column[found.event] = found.value
        return column


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

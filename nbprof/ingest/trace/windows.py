"""Join the traces of a cell's windows into one: one table of texts, one line a thread, one clock.

Protobuf joins messages that stand one after the other, so all windows are read as one XSpace. It
then has every plane and every thread once for each window.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import Ints, Rows
from nbprof.ingest.protobuf.wire import Buffer
from nbprof.ingest.trace.clock import start_of_window
from nbprof.ingest.trace.work.event_kinds import WANTED
from nbprof.ingest.xspace.xplane_fields import SPACE_PLANE
from nbprof.ingest.xspace.xspace import XSpace, read_xspace

if TYPE_CHECKING:
    from nbprof.capture.capture import Capture, TraceWindow

SOURCE = "the trace of this cell"
"""Name of the trace in errors."""


def read_windows(capture: "Capture") -> tuple[XSpace, int, tuple[str, ...]]:
    """Read all windows; also return when the joined trace began, and notes on its clock."""
    space = read_xspace(capture.trace, SOURCE, WANTED)
    windows = capture.windows
    if not windows:
        return space, capture.start_ns, ()
    window_of_plane = np.repeat(np.arange(len(windows)), [_count_planes(each) for each in windows])
    window_of_line = window_of_plane[space.line_plane]
    starts, notes = [], dict[str, None]()
    for number, window in enumerate(windows):
        planes = np.flatnonzero(window_of_plane == number).tolist()
        event = np.flatnonzero((window_of_line == number)[space.line])
        began_ns, lost = start_of_window(space, planes, event, window)
        starts.append(began_ns - window.paused_ns)
        if len(capture.dispatches.start_ns):
            notes |= dict.fromkeys(lost)
    if len(windows) > 1:
        space = _joined(space, window_of_plane, np.array(starts, dtype=np.int64))
    return space, starts[0], tuple(notes)


def _count_planes(window: "TraceWindow") -> int:
    buffer = Buffer(window.trace, SOURCE)
    return sum(tag == SPACE_PLANE for tag, _, _ in buffer.fields(0, len(window.trace)))


def _joined(space: XSpace, window_of_plane: Rows, starts: Ints) -> XSpace:
    """Merge planes of the same name and lines of the same thread, on one clock.

    Times count from the start of the first window.
    """
    window_of_line = window_of_plane[space.line_plane]
    plane, first_planes = _numbered(space.plane_names, window_of_plane)
    threads = list(zip(plane[space.line_plane].tolist(), space.line_id.tolist(), strict=True))
    line, first_lines = _numbered(threads, window_of_line)
    later_ps = (starts - starts[0])[window_of_line] * 1000
    return replace(
        space,
        plane_names=[space.plane_names[row] for row in first_planes],
        plane_stats=[space.plane_stats[row] for row in first_planes],
        line_plane=plane[space.line_plane[first_lines]].astype(np.int32),
        line_id=space.line_id[first_lines],
        line_name=[space.line_name[row] for row in first_lines],
        line=line[space.line].astype(np.int32),
        start_ps=space.start_ps + later_ps[space.line],
    )


def _numbered(keys: Sequence[Hashable], window: Rows) -> tuple[Rows, list[int]]:
    """Number equal keys of different windows alike; also return the first row of each number."""
    seen: Counter[Hashable] = Counter()
    numbers: dict[Hashable, int] = {}
    number, first = [], []
    for row, (key, own) in enumerate(zip(keys, window.tolist(), strict=True)):
        place = seen[key, own]  # equal keys of one window stay apart
        seen[key, own] += 1
        if (key, place) not in numbers:
            numbers[key, place] = len(numbers)
            first.append(row)
        number.append(numbers[key, place])
    return np.array(number, dtype=np.intp), first

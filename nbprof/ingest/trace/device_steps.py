"""Steps as accelerators mark them: the line `Steps` of their planes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import NONE, Ints, Rows
from nbprof.ingest.trace.steps import Steps

if TYPE_CHECKING:
    from nbprof.ingest.trace.host_events import HostEvents
    from nbprof.ingest.xspace.xspace import XSpace


STEPS = "Steps"


def lines_named(space: "XSpace", prefix: str, name: str) -> Rows:
    """Find the lines of this name in the planes whose names begin so."""
    found = [
        line
        for line, (plane, line_name) in enumerate(
            zip(space.line_plane.tolist(), space.line_name, strict=True)
        )
        if line_name == name and space.plane_names[plane].startswith(prefix)
    ]
    return np.array(found, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class DeviceSteps:
    """The marked steps of all devices, by plane and start; times in ps."""

    plane: Rows
    start: Ints
    end: Ints
    step: Rows
    """Which step of the trace each is."""

    def of(self, plane: Rows, start: Ints, steps: Steps) -> Rows:
        """Give the step that each moment of a plane is in, or as the host's steps have it."""
        found = steps.at(start)
        for own in np.unique(self.plane):
            here = np.flatnonzero(plane == own)
            marks = np.flatnonzero(self.plane == own)
            last = np.searchsorted(self.start[marks], start[here], side="right") - 1
            found[here] = self.step[marks[np.maximum(last, 0)]]
        return found


def find_device_steps(host: "HostEvents", steps: Steps) -> tuple[Steps, DeviceSteps]:
    """Find the steps that devices mark, and make them the trace's if the host has none."""
    space = host.space
    lines = lines_named(space, "/device:", STEPS)
    row = np.flatnonzero(np.isin(space.line, lines)) if len(lines) else lines
    row = row[np.lexsort((space.start_ps[row], space.line_plane[space.line[row]]))]
    start, end = space.start_ps[row], space.start_ps[row] + space.duration_ps[row]
    plane = space.line_plane[space.line[row]].astype(np.intp)
    if not len(row):
        return steps, DeviceSteps(plane, start, end, plane)
    label, number = np.unique(space.name[row], return_inverse=True)
    names = [space.strings[text].decode("utf-8", "replace") for text in label.tolist()]
    if len(steps.event):
        step = _as_on_host(host, steps, row, names, number)
        known = step != NONE
        return steps, DeviceSteps(plane[known], start[known], end[known], step[known])
    first, last = np.full(len(label), np.iinfo(np.int64).max), np.zeros(len(label), np.int64)
    np.minimum.at(first, number, start)
    np.maximum.at(last, number, end)
    order = np.argsort(first, kind="stable")
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    nowhere = np.full(len(host.row), NONE, dtype=np.int32)
    marked = tuple(names[which] for which in order)
    found = Steps(np.full(len(order), NONE), first[order], last[order], nowhere, marked)
    return found, DeviceSteps(plane, start, end, place[number])


def _as_on_host(
    host: "HostEvents", steps: Steps, row: Rows, names: list[str], number: Rows
) -> Rows:
    """Find the host's step of each marked one, by its group or its number; NONE if not known."""
    groups = _column(host, "group_id", row)
    of_group, of_number = (_places(host, steps, stat) for stat in ("group_id", "step_num"))
    by_name = [of_number.get(int(name), NONE) if name.isdigit() else NONE for name in names]
    found = [
        of_group.get(group, by_name[which])
        for group, which in zip(groups.tolist(), number.tolist(), strict=True)
    ]
    return np.array(found, dtype=np.intp)


def _places(host: "HostEvents", steps: Steps, stat: str) -> dict[int, int]:
    """Find the steps by a number that their events have."""
    numbers = host.number(stat)[steps.event].tolist()
    return {number: place for place, number in enumerate(numbers) if number != NONE}


def _column(host: "HostEvents", stat: str, row: Rows) -> Ints:
    found = host.space.stat(stat)
    column = np.full(len(host.space.line), NONE, dtype=np.int64)
    if found.value.dtype.kind == "i" and not found.is_text:
        column[found.event] = found.value
    return column[row]

"""Steps: outermost function calls, session runs and Trace blocks, and the events inside them.

Accelerators mark steps too, on the line `Steps` of their planes.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from nbprof.arrays import NONE, Ints, Mask, Rows
from nbprof.ingest.trace.work.event_kinds import Kind
from nbprof.ingest.xspace.stat_columns import StatsOf

if TYPE_CHECKING:
    from nbprof.ingest.trace.work.host_events import HostEvents
    from nbprof.ingest.xspace.xspace import XSpace

MARKS_LINE = "Steps"
"""Name of the line on which accelerators mark steps."""


@dataclass(frozen=True, eq=False)
class Steps:
    """The steps of a trace, in order of their start; times in ps."""

    event: Rows
    """The host event of each step, NONE for one that ran outside the trace or that only
    accelerators mark."""
    start: Ints
    end: Ints
    step_of_event: npt.NDArray[np.int32]
    """The step that each host event is nested in, or NONE."""
    names: tuple[str, ...] = ()
    """Names of the steps that only accelerators mark."""
    clock: Rows | None = None
    """The row of the StepLog of each step, NONE for one that is only in the trace; None without
    such a log."""

    def at(self, time: Ints) -> Rows:
        """Return the step of each moment: the running one, else the next or the last."""
        if not len(self.event):
            return np.zeros(len(time), dtype=np.intp)
        ended = np.searchsorted(np.maximum.accumulate(self.end), time, side="right")
        return np.minimum(ended, len(self.event) - 1)


def find_steps(host: "HostEvents") -> Steps:
    """Find the outermost steps, ignoring calls made by ops or while a function is traced."""
    candidate = host.of(Kind.CALL, Kind.SESSION_RUN, Kind.BLOCK) | _failed_calls(host)
    event = np.flatnonzero(candidate)
    outer = host.inside(candidate | host.of(Kind.PROCESS), event) == NONE
    outer &= host.inside_of(Kind.BUILDING, event=event) == NONE
    event = event[outer]
    event = event[np.argsort(host.start[event], kind="stable")]

    is_step = np.zeros(len(host.row), dtype=bool)
    is_step[event] = True
    number = np.full(len(host.row) + 1, NONE, dtype=np.int32)  # the last entry is for NONE
    number[event] = np.arange(len(event))
    step_of_event = number[host.inside(is_step)]
    step_of_event[event] = number[event]
    return Steps(event, host.start[event], host.end[event], step_of_event)


def _failed_calls(host: "HostEvents") -> Mask:
    """Mark functions that ran without a call around them: TensorFlow drops a call that raises."""
    called = np.flatnonzero(host.of(Kind.EAGER) & (host.number("is_func", 0) == 1))
    alone = np.zeros(len(host.row), dtype=bool)
    alone[called[host.inside_of(Kind.CALL, event=called) == NONE]] = True
    return alone


def lines_named(space: "XSpace", prefix: str, name: str) -> Rows:
    """Return the lines of this name in planes whose name has this prefix."""
    found = [
        line
        for line, (plane, line_name) in enumerate(
            zip(space.line_plane.tolist(), space.line_name, strict=True)
        )
        if line_name == name and space.plane_names[plane].startswith(prefix)
    ]
    return np.array(found, dtype=np.intp)


@dataclass(frozen=True, eq=False, kw_only=True)
class DeviceSteps:
    """The steps of a trace, and the marks that devices set for them, by plane and start."""

    steps: Steps
    plane: Rows
    start: Ints
    """In ps."""
    step: Rows
    """The step that each mark begins."""

    def at(self, plane: Rows, time: Ints) -> Rows:
        """Return the step of each moment on a plane; without marks, the host's step."""
        found = self.steps.at(time)
        for own in np.unique(self.plane):
            here = np.flatnonzero(plane == own)
            marks = np.flatnonzero(self.plane == own)
            last = np.searchsorted(self.start[marks], time[here], side="right") - 1
            found[here] = self.step[marks[np.maximum(last, 0)]]
        return found


def find_device_steps(host: "HostEvents", steps: Steps) -> DeviceSteps:
    """Find the steps that devices mark; they are the steps of the trace if the host has none."""
    space = host.space
    marks = _find_marks(space)
    if not len(marks.row):
        step = marks.row
    elif len(steps.event):
        step = _steps_of_host(host, steps, marks)
        marks, step = marks.only(step != NONE), step[step != NONE]
    else:
        steps, step = _steps_of_marks(host, marks)
    plane = space.line_plane[space.line[marks.row]].astype(np.intp)
    return DeviceSteps(steps=steps, plane=plane, start=space.start_ps[marks.row], step=step)


@dataclass(frozen=True, eq=False)
class _Marks:
    """The events with which devices mark steps, by plane and start."""

    row: Rows
    """The event's row in the XSpace."""
    label: Rows
    """Index into `labels`."""
    labels: list[str]
    """The distinct names."""

    def only(self, chosen: Mask) -> "_Marks":
        return _Marks(self.row[chosen], self.label[chosen], self.labels)


def _find_marks(space: "XSpace") -> _Marks:
    lines = lines_named(space, "/device:", MARKS_LINE)
    row = np.flatnonzero(np.isin(space.line, lines)) if len(lines) else lines
    row = row[np.lexsort((space.start_ps[row], space.line_plane[space.line[row]]))]
    names, label = np.unique(space.name[row], return_inverse=True)
    return _Marks(
        row, label, [space.strings[name].decode("utf-8", "replace") for name in names.tolist()]
    )


def _steps_of_marks(host: "HostEvents", marks: _Marks) -> tuple[Steps, Rows]:
    """Make one step of all marks with the same label; return the steps and each mark's step."""
    space, count = host.space, len(marks.labels)
    start = space.start_ps[marks.row]
    first, last = np.full(count, np.iinfo(np.int64).max), np.zeros(count, np.int64)
    np.minimum.at(first, marks.label, start)
    np.maximum.at(last, marks.label, start + space.duration_ps[marks.row])
    order = np.argsort(first, kind="stable")
    number = np.empty(count, dtype=np.intp)
    number[order] = np.arange(count)
    steps = Steps(
        event=np.full(count, NONE),
        start=first[order],
        end=last[order],
        step_of_event=np.full(len(host.row), NONE, dtype=np.int32),
        names=tuple(marks.labels[label] for label in order),
    )
    return steps, number[marks.label]


def _steps_of_host(host: "HostEvents", steps: Steps, marks: _Marks) -> Rows:
    """Match each mark with a step of the host by its group or its number; NONE if unknown."""
    of_group, of_number = (_steps_by(host, steps, stat) for stat in ("group_id", "step_num"))
    by_label = [
        of_number.get(int(label), NONE) if label.isdigit() else NONE for label in marks.labels
    ]
    groups = StatsOf(host.space, marks.row).number("group_id")
    found = [
        of_group.get(group, by_label[label])
        for group, label in zip(groups.tolist(), marks.label.tolist(), strict=True)
    ]
    return np.array(found, dtype=np.intp)


def _steps_by(host: "HostEvents", steps: Steps, stat: str) -> dict[int, int]:
    """Return `{value of a numeric stat: step that has it}`."""
    step = np.flatnonzero(steps.event != NONE)
    numbers = host.number(stat)[steps.event[step]]
    known = numbers != NONE
    return dict(zip(numbers[known].tolist(), step[known].tolist(), strict=True))

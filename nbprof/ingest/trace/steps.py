"""Steps: outermost function calls, session runs and Trace blocks, and the events inside them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from nbprof.arrays import NONE, Ints, Rows
from nbprof.ingest.trace.event_kinds import Kind

if TYPE_CHECKING:
    from nbprof.ingest.trace.host_events import HostEvents


@dataclass(frozen=True, eq=False)
class Steps:
    """The steps of a trace, in order of their start; times in ps."""

    event: Rows
    """The host event of each step, NONE for a step that only accelerators mark."""
    start: Ints
    end: Ints
    step_of_event: npt.NDArray[np.int32]
    """The step that each host event is nested in, or NONE."""
    names: tuple[str, ...] = ()
    """Names of the steps that only accelerators mark."""

    def at(self, time: Ints) -> Rows:
        """Return the step of each moment: the running one, else the next or the last."""
        if not len(self.event):
            return np.zeros(len(time), dtype=np.intp)
        ended = np.searchsorted(np.maximum.accumulate(self.end), time, side="right")
        return np.minimum(ended, len(self.event) - 1)


def find_steps(host: "HostEvents") -> Steps:
    """Find the outermost steps, without calls that an op makes or that happen while tracing."""
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


def _failed_calls(host: "HostEvents") -> npt.NDArray[np.bool_]:
    """Mark functions that ran without a call around them: TensorFlow drops a call that raises."""
    called = np.flatnonzero(host.of(Kind.EAGER) & (host.number("is_func", 0) == 1))
    alone = np.zeros(len(host.row), dtype=bool)
    alone[called[host.inside_of(Kind.CALL, event=called) == NONE]] = True
    return alone

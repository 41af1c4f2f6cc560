"""For whom work was done: which function, session or input pipeline, and in which step.

An executor's threads know only an id. The run of a function or session that has the same id was
started somewhere: what stands around that place, on its thread, says by whom.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nbprof.ingest.kinds import Kind
from nbprof.ingest.nesting import NONE, Rows

if TYPE_CHECKING:
    from nbprof.ingest.host import HostEvents
    from nbprof.ingest.steps import Steps

NOWHERE, PIPELINE, SESSION, UNKNOWN = 0, -1, -2, -3
"""Beside functions, which are rows of `strings`: what eager ops, input pipelines and session graphs
belong to, and where it cannot be told."""


@dataclass(frozen=True, eq=False)
class Callers:
    """For each of some host events, the function (or group) and the step, NONE if not known."""

    function: Rows
    step: Rows


def find_callers(host: "HostEvents", steps: "Steps", event: Rows) -> Callers:
    """Tell for whom each event's executor worked."""
    ids = _Ids(host, steps)
    executor = host.inside(host.of(Kind.PROCESS))
    own_id = np.where(executor != NONE, ids.of_event[executor], host.number("step_id"))[event]
    place = ids.find(own_id)
    # Work without such an id is done where it is asked for: constants are folded when a function
    # or session is first prepared, the graph of a dataset is run by the op that starts it.
    here = _around(host, Kind.EAGER, Kind.SESSION_RUN, Kind.CAPTURED)
    inline = here[np.where(executor != NONE, executor, np.arange(len(host.row)))[event]]
    return Callers(
        np.where(place != NONE, ids.function[place], inline),
        np.where(place != NONE, ids.step[place], NONE),
    )


class _Ids:
    """The runs of functions and sessions, by their ids; the last entry stands for NONE."""

    def __init__(self, host: "HostEvents", steps: "Steps") -> None:
        self.of_event = host.number("id")
        run = np.flatnonzero(host.of(Kind.FUNCTION_RUN, Kind.SESSION_RUN, Kind.CAPTURED))
        run = run[np.argsort(self.of_event[run], kind="stable")]
        self._id = self.of_event[run]
        around = _around(host, Kind.EAGER, Kind.SESSION_RUN, Kind.CAPTURED, Kind.PROCESS)[run]
        kind = host.kind[run]
        function = np.where(kind == Kind.SESSION_RUN, SESSION, around)
        self.function = np.append(np.where(kind == Kind.CAPTURED, PIPELINE, function), UNKNOWN)
        self.step = np.append(steps.step_of_event[run], NONE)
        # A function called by an op belongs to the step of the op's executor.
        executor = host.inside(host.of(Kind.PROCESS))[run]
        outer = self.find(np.where(executor != NONE, self.of_event[executor], NONE))
        for _ in range(4):
            self.step = np.where(self.step != NONE, self.step, self.step[np.append(outer, NONE)])

    def find(self, ids: Rows) -> Rows:
        """Find the run that has each id, or NONE; -1 is no id but TensorFlow's word for none."""
        if not len(self._id):
            return np.full(len(ids), NONE)
        place = np.minimum(np.searchsorted(self._id, ids), len(self._id) - 1)
        return np.where((self._id[place] == ids) & (ids != NONE), place, NONE)


def _around(host: "HostEvents", *kinds: Kind) -> Rows:
    """Give the function or group of the innermost of these kinds that each event stands in."""
    place = host.inside(host.of(*kinds))
    kind = np.append(host.kind, np.int8(Kind.OTHER))[place]
    called = host.text("eager_op")[place]
    is_function = (host.number("is_func", 0) == 1)[place]
    return np.select(
        [
            (kind == Kind.EAGER) & is_function,
            (kind == Kind.EAGER) | (kind == Kind.CAPTURED),
            kind == Kind.SESSION_RUN,
        ],
        [called, PIPELINE, SESSION],
        UNKNOWN,
    )

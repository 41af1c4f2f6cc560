"""Find who work was done for: which function, session or input pipeline, in which step.

An executor's threads only know an id. Some other thread started the run of a function or session
with that id, and the events around that start show who the caller is.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import NONE, Ints, Rows, distinct, distinct_pairs
from nbprof.ingest.trace.work.event_kinds import Kind, split

if TYPE_CHECKING:
    from nbprof.capture.capture import SessionLog
    from nbprof.ingest.trace.work.host_events import HostEvents
    from nbprof.ingest.trace.work.steps import Steps

# Work belongs to a group: a function, as a row of `strings`, or one of these.
NO_FUNCTION = 0
"""The group of eager ops, which belong to no function."""
PIPELINE = -1
"""The group of input pipelines."""
UNKNOWN = -2
"""The group of work whose caller was not found."""
SESSION = -3
"""The first graph that sessions run; further ones count down by STRIDE."""
CAPTURED = -4
"""The first function of an input pipeline, known only by its nodes; more count down by STRIDE."""
DEEPEST = 4
"""How deep calls of functions are followed."""
ASKED = (Kind.EAGER, Kind.SESSION_RUN)
"""Events in which the runtime does what Python asked for."""
CALLING = (b":PartitionedCall", b":StatefulPartitionedCall")
"""How the names of ops end that call a function."""
LOST = -5
"""The first function whose start is not in the trace; further ones count down by STRIDE."""
STRIDE = 3
"""Distance between the numbers of two graphs, of two captured functions, or of two lost ones."""


def number_below(group: int, first: int) -> int | None:
    """Return the number of a group counted down from `first`, None for other groups."""
    number, rest = divmod(first - group, STRIDE)
    return number if number >= 0 and not rest else None


@dataclass(frozen=True, eq=False)
class Callers:
    """The group and the step that each of some host events belongs to; NONE for an unknown step."""

    group: Rows
    step: Rows
    dispatch: Rows
    """The host event of the eager op, function call or `Session.run` that Python asked for, NONE if
    unknown."""
    path: Rows
    """Index into `paths`."""
    paths: list[bytes]
    """What precedes the names of nodes in functions that the runtime did not inline, as if it had:
    the nodes that call them, each followed by `/`. The first is empty."""

    def with_lost_functions(self, host: "HostEvents", event: Rows) -> "Callers":
        """Number unknown functions by their nodes: a thread that ended took their start along."""
        executor = host.inside_of(Kind.PROCESS, event=event)
        ids = np.append(host.number("id"), NONE)[executor]
        lost = np.flatnonzero((self.group == UNKNOWN) & (ids != NONE))
        run = np.unique(ids[lost], return_inverse=True)[1]
        names = host.space.name[host.row[event[lost]]].astype(np.int64)
        group = self.group.copy()
        group[lost] = LOST - STRIDE * _same_nodes(run, names)
        return replace(self, group=group)


def find_callers(host: "HostEvents", steps: "Steps", event: Rows, sessions: Rows) -> Callers:
    """Find who each event's executor worked for; `sessions` is what `session_groups` returns."""
    ids = _Ids(host, steps, sessions)
    executor = host.inside_of(Kind.PROCESS, event=event)
    run = _runs_of(host, ids, event, executor)
    # Work without such an id runs where it is requested: constants are folded when a function or
    # session is first prepared, and the op that starts a dataset runs the dataset's graph.
    group, dispatch = ids.group[run], ids.dispatch[run]
    lost = np.flatnonzero(run == NONE)
    if len(lost):
        around = np.where(executor != NONE, executor, event)[lost]
        inline = _around(host, sessions, around, Kind.EAGER, Kind.SESSION_RUN, Kind.CAPTURED)
        # An executor still at work at the end of the trace is missing from it, but its ops are not.
        cut = (executor[lost] == NONE) & (host.number("step_id")[event[lost]] == NONE)
        cut &= inline == UNKNOWN
        run[lost] = np.where(cut, ids.last_before(host.start[event[lost]]), NONE)
        group[lost] = np.where(run[lost] != NONE, ids.group[run[lost]], inline)
        asked = host.inside_of(*ASKED, event=around)
        dispatch[lost] = np.where(run[lost] != NONE, ids.dispatch[run[lost]], asked)
    captured = np.flatnonzero((group == PIPELINE) & (run != NONE))
    names = host.space.name[host.row[event[captured]]].astype(np.int64)
    group[captured] = CAPTURED - STRIDE * _same_nodes(run[captured], names)
    step = np.where(run != NONE, ids.step[run], NONE)
    return Callers(group, step, dispatch, ids.path[run], ids.paths)


def _runs_of(host: "HostEvents", ids: "_Ids", event: Rows, executor: Rows) -> Rows:
    """Return the run, as a row of `ids`, that each event's executor or own id names, or NONE."""
    executors = np.flatnonzero(host.of(Kind.PROCESS))
    of_executor = np.full(len(host.row) + 1, NONE, dtype=np.intp)  # the last entry is for NONE
    of_executor[executors] = ids.find(ids.of_event[executors], host.start[executors])
    run: Rows = of_executor[executor]
    alone = np.flatnonzero(executor == NONE)
    run[alone] = ids.find(host.number("step_id")[event[alone]], host.start[event[alone]])
    return run


def _same_nodes(run: Rows, name: Ints) -> Rows:
    """Number runs by the set of names that ran in them; equal sets get equal numbers."""
    width = int(name.max(initial=0)) + 1
    runs, which = distinct(run, int(run.max(initial=0)) + 1)
    ran, names, _ = distinct_pairs(which, name, width)
    random_of_name = np.random.default_rng(0).integers(1, 2**62, width)
    hash_of_run = np.zeros(len(runs), dtype=np.int64)
    np.add.at(hash_of_run, ran, random_of_name[names])
    numbers: Rows = np.unique(hash_of_run, return_inverse=True)[1][which]
    return numbers


class _Ids:
    """The runs of functions and sessions by their ids; columns end with an entry for NONE."""

    def __init__(self, host: "HostEvents", steps: "Steps", sessions: Rows) -> None:
        self.of_event = host.number("id")
        run = np.flatnonzero(host.of(Kind.FUNCTION_RUN, Kind.SESSION_RUN, Kind.CAPTURED))
        self._id, self._start = self.of_event[run], host.start[run]
        callers = (Kind.EAGER, Kind.SESSION_RUN, Kind.CAPTURED, Kind.PROCESS)
        around = _around(host, sessions, run, *callers)
        kind = host.kind[run]
        group = np.where(kind == Kind.SESSION_RUN, sessions[run], around)
        self.group = np.append(np.where(kind == Kind.CAPTURED, PIPELINE, group), UNKNOWN)
        self.step = np.append(steps.step_of_event[run], NONE)
        asked = np.where(kind == Kind.SESSION_RUN, run, host.inside_of(*ASKED, event=run))
        self.dispatch = np.append(asked, NONE)
        # A function called by an op belongs to the step of the op's executor.
        executor = host.inside_of(Kind.PROCESS, event=run)
        outer_id = np.where(executor != NONE, self.of_event[executor], NONE)
        outer = self.find(outer_id, host.start[run])
        for _ in range(DEEPEST):
            self.step = np.where(self.step != NONE, self.step, self.step[np.append(outer, NONE)])
            of_outer = self.dispatch[np.append(outer, NONE)]
            self.dispatch = np.where(self.dispatch != NONE, self.dispatch, of_outer)
        self.path = np.zeros(len(run) + 1, dtype=np.intp)
        self.paths = [b""]
        self._follow_calls(host, run, outer)

    def _follow_calls(self, host: "HostEvents", run: Rows, outer: Rows) -> None:
        """Find the group and path of functions that nodes call without being inlined."""
        caller = host.inside_of(Kind.OP, Kind.PROCESS, event=run)
        name = np.append(host.space.name[host.row], 0)[caller]
        inner = (caller != NONE) & (outer != NONE)
        texts = ((row, host.space.strings[row]) for row in np.unique(name[inner]).tolist())
        nodes = {row: split(text)[0] for row, text in texts if text.endswith(CALLING)}
        calls = inner & np.isin(name, list(nodes))
        for _ in range(DEEPEST):
            known = ~np.isin(self.group[outer], (UNKNOWN, PIPELINE))
            found = np.flatnonzero(calls & known & (self.group[:-1] == UNKNOWN))
            paths, names, which = distinct_pairs(
                self.path[outer[found]], name[found], len(host.space.strings)
            )
            pairs = zip(paths.tolist(), names.tolist(), strict=True)
            new = [self.paths[path] + nodes[row] + b"/" for path, row in pairs]
            self.path[found] = len(self.paths) + which
            self.group[found] = self.group[outer[found]]
            self.paths += new

    def last_before(self, time: Ints) -> Rows:
        """Return the last run of a function or session that had begun by each time, or NONE."""
        runs = np.flatnonzero(self.group[:-1] != UNKNOWN)
        order = runs[np.argsort(self._start[runs], kind="stable")]
        place = np.searchsorted(self._start[order], time, side="right") - 1
        return np.append(order, NONE)[place]

    def find(self, ids: Rows, time: Ints) -> Rows:
        """Return the last run with each id that had begun by each time, or NONE.

        Sessions and input pipelines each count their ids from 1, so ids repeat. TensorFlow writes
        -1 for no id.
        """
        known, code = np.unique(self._id, return_inverse=True)
        starts = np.sort(self._start)
        # Order by id, then by the rank of the start: a key that fits into one integer.
        width = len(starts) + 1
        key = code * width + np.searchsorted(starts, self._start, side="left")
        order = np.argsort(key, kind="stable")
        place = np.minimum(np.searchsorted(known, ids), max(len(known) - 1, 0))
        wanted = place * width + np.searchsorted(starts, time, side="right")
        last = np.searchsorted(key[order], wanted, side="left") - 1
        found = np.append(order, NONE)[last]
        same = np.append(self._id, NONE)[found] == ids
        return np.where(same & (ids != NONE), found, NONE)


def session_groups(host: "HostEvents", log: "SessionLog", began_ns: int) -> Rows:
    """Return the group of the session graph that ran last at the start of each host event."""
    if not len(log.start_ns):
        return np.broadcast_to(np.intp(SESSION), len(host.row))
    noted = np.searchsorted(log.start_ns, host.start // 1000 + began_ns, side="right") - 1
    return SESSION - STRIDE * log.graph[np.maximum(noted, 0)]


def _around(host: "HostEvents", sessions: Rows, event: Rows, *kinds: Kind) -> Rows:
    """Return the group of the innermost event of these kinds around each event."""
    place = host.inside_of(*kinds, event=event)
    kind = np.append(host.kind, np.int8(Kind.OTHER))[place]
    called = host.text("eager_op")[place]
    is_function = (host.number("is_func", 0) == 1)[place]
    return np.select(
        [
            (kind == Kind.EAGER) & is_function,
            (kind == Kind.EAGER) | (kind == Kind.CAPTURED),
            kind == Kind.SESSION_RUN,
        ],
        [called, PIPELINE, sessions[place]],
        UNKNOWN,
    )

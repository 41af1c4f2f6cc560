"""The clock of steps: when each step of a cell began and ended, traced or not."""

import math
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from nbprof.capture.capture import NO_END, StepLog
from nbprof.capture.compat import hooks

COLUMNS = 5
"""Numbers recorded for each step."""
SESSION_RUN = "Session.run"


class StepClock:
    """Records the steps of all threads while `running()`; `log()` returns them.

    `ended(built)` is called after each step of the thread that made the clock; `built` tells
    whether the step traced a function.
    """

    def __init__(self, ended: Callable[[bool], None]) -> None:
        self.thread = threading.get_ident()
        """The cell's thread."""
        self.count = 0
        """How many steps of the cell's thread have ended."""
        self.ended_ns = 0
        """When the last of them ended, as `time.time_ns` reports it; 0 before that."""
        self._ended = ended
        # For each step: start, end, thread, name, whether it traced a function. Flat, because
        # objects would trigger garbage collections.
        self._steps = array("q")
        self._names: dict[str, int] = {}
        self._open: dict[int, _Open] = {}
        self._graphs = 0

    @property
    def is_building(self) -> bool:
        """Whether a thread is building a graph, which takes memory but leaves few events."""
        return self._graphs > 0

    @property
    def in_step(self) -> bool:
        """Whether the cell's thread is inside a step."""
        own = self._open.get(self.thread)
        return own is not None and (own.depth > 0 or own.in_session)

    def since_step(self) -> float:
        """Return how many seconds ago the cell's thread ended a step; infinite before that."""
        return (time.time_ns() - self.ended_ns) / 1e9 if self.ended_ns else math.inf

    @contextmanager
    def running(
        self, give_way: hooks.GiveWay, about_to_run: Callable[[Any], None]
    ) -> Iterator[None]:
        """Record steps in the block; the arguments are those of `hooks.watch_sessions`."""

        def run_session(graph: Any) -> None:
            about_to_run(graph)
            self._begin_session()

        with (
            hooks.watch_calls(self._enter, self._leave, self._built),
            hooks.watch_sessions(give_way, run_session, self._end_session),
        ):
            yield

    def log(self) -> StepLog:
        """Return the steps; one that has not ended yet is left out."""
        steps = np.array(self._steps, dtype=np.int64).reshape(-1, COLUMNS)
        start_ns, end_ns, thread, name, built = steps[np.argsort(steps[:, 0], kind="stable")].T
        return StepLog(
            start_ns=start_ns,
            end_ns=end_ns,
            thread=thread,
            name=name,
            names=tuple(self._names),
            built=built.astype(bool),
        )

    def _own(self) -> "_Open":
        thread = threading.get_ident()
        own = self._open.get(thread)
        if own is None:
            own = self._open[thread] = _Open(thread, runs_ops=_is_of_an_executor(thread))
        return own

    def _enter(self, name: str, start_ns: int) -> None:
        if name == hooks.BUILDING:
            self._graphs += 1
            return
        own = self._own()
        if own.in_session:  # its end was not seen: the run failed, or make_callable hides it
            own.in_session = False
            self._record(own, NO_END)
        own.depth += 1
        if own.depth == 1:
            own.begin(name, start_ns)

    def _built(self) -> None:
        self._own().built = True

    def _leave(self, name: str) -> None:
        if name == hooks.BUILDING:
            self._graphs -= 1
            return
        own = self._own()
        own.depth -= 1
        if own.depth == 0:
            self._record(own, time.time_ns())

    def _begin_session(self) -> None:
        own = self._own()
        if own.depth:
            return
        if own.in_session:
            self._record(own, NO_END)
        own.in_session = True
        own.begin(SESSION_RUN, time.time_ns())

    def _end_session(self) -> None:
        own = self._own()
        if own.in_session:
            own.in_session = False
            self._record(own, time.time_ns())

    def _record(self, own: "_Open", end_ns: int) -> None:
        if own.runs_ops:
            return
        name = self._names.setdefault(own.name, len(self._names))
        self._steps.extend((own.start_ns, end_ns, own.thread, name, own.built))
        if own.thread == self.thread:
            self.count += 1
            self.ended_ns = max(self.ended_ns, end_ns)
            self._ended(own.built)


class _Open:
    """The step that a thread is in."""

    __slots__ = ("built", "depth", "in_session", "name", "runs_ops", "start_ns", "thread")

    def __init__(self, thread: int, *, runs_ops: bool) -> None:
        self.thread = thread
        self.runs_ops = runs_ops
        """Whether it is a thread of an executor: what an op runs is no step of its own."""
        self.depth = 0
        self.in_session = False
        self.name = ""
        self.start_ns = 0
        self.built = False

    def begin(self, name: str, start_ns: int) -> None:
        self.name, self.built, self.start_ns = name, False, start_ns


def _is_of_an_executor(thread: int) -> bool:
    """Return whether Python did not start the thread."""
    known = (each for each in threading.enumerate() if not isinstance(each, threading._DummyThread))
    return all(each.ident != thread for each in known)

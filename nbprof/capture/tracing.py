"""Trace the stretches of a cell that the budget allows, while the cell runs."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from nbprof.capture.budget import LONG_BETWEEN, MEGABYTE, Budget, Decision
from nbprof.capture.capture import WhyBare
from nbprof.capture.compat import switches
from nbprof.capture.dispatch import DispatchWatch
from nbprof.capture.given_way import GivenWay
from nbprof.capture.interrupts import interrupts_wait
from nbprof.capture.monitor import Monitor
from nbprof.capture.step_clock import StepClock
from nbprof.capture.tracer import Tracer
from nbprof.flag_values import StepRange

DEFAULT_LIMIT = 60.0
"""Seconds of tracing after which it ends while the cell runs on."""
GRACE = 0.1
"""How much longer than the limit, as a share of it, a step may be traced to its end."""
PICK_UP_LOOKS = 20
"""Looks of the monitor to wait for the cell's thread to write a window between its ops."""

ENDED_BY_LIMIT = "tracing ended after {limit:g} s (-limit)"
"""Note if the limit ended the trace."""
ENDED_BY_CEILING = (
    "tracing ended because the trace had grown to {size:.2g} MB, and nbprof records at most "
    "{most:.2g} MB of a cell: {remedy}"
)
"""Note if the trace grew too large, although more was asked for."""
FEWER_STEPS = "ask for fewer steps, or for later ones with -steps A:B"
ONE_PART = "put `with nbprof.profile():` around the part to see, or record less with -light"
NEVER_CAME = (
    "-steps {steps} was never reached: the cell ran {count:,} steps; -steps A:B traces those from "
    "A up to B, -steps N traces N after the first warm one"
)
"""Note if the cell ended before the steps to trace."""
NOT_RESUMED = "tracing ended early, because TensorFlow's profiler did not start again ({error})"
"""Note if a further window could not be opened."""


@dataclass(frozen=True, kw_only=True)
class Extent:
    """How much of the code to record."""

    tensorflow: bool = True
    """Whether to watch TensorFlow; otherwise it is not even imported."""
    light: bool = False
    """Whether to record less of each op run."""
    limit: float | None = None
    """Seconds of tracing after which it ends while the code runs on; None: not asked for."""
    steps: StepRange | None = None
    """The steps to trace; None: the first ones, as many as the budget allows."""


@dataclass(frozen=True, kw_only=True)
class ProcessMemory:
    """How to ask for the memory of the process, which another room measures."""

    held: Callable[[], int] = int
    """Returns how many bytes the process holds."""
    release: Callable[[], object] = int
    """Has the allocator return free memory to the system."""
    left_out: Callable[[], AbstractContextManager[object]] = nullcontext
    """Returns a context in which the memory of the process is not the cell's."""


class Tracing:
    """Opens and closes windows of a trace, on the cell's thread wherever possible.

    That thread acts at the end of steps and before its calls into TensorFlow, so that no op is cut,
    and the time this takes is not the cell's. Only for the end of a limit, an enormous step or work
    on other threads does the monitor act itself.
    """

    def __init__(self, extent: Extent, memory: ProcessMemory, watch: DispatchWatch) -> None:
        self.notes: list[str] = []
        self.budget = Budget(extent.steps, asked=extent.limit is not None)
        self.tracer = Tracer(watch, memory, light=extent.light)
        self.clock = StepClock(self._step_ended)
        self._limit = DEFAULT_LIMIT if extent.limit is None else extent.limit
        self._light = extent.light
        self._wanted = extent.steps
        self._asked_for_more = extent.steps is not None or extent.limit is not None
        self._watch = watch
        self._given_way = GivenWay()
        self._since_ns: int | None = None
        """When the first window was opened, in ns of the cell's time."""
        self._expired = False
        self._ended_by_limit = False
        self._is_opening = False
        self._looks = 0
        self._began_ns = 0

    @contextmanager
    def running(self, about_to_run: Callable[[Any], None]) -> Iterator[None]:
        """Trace what runs in the block; `about_to_run(graph)` is told of v1 sessions."""
        with self.clock.running(self._give_way, about_to_run), Monitor(self._look):
            yield

    def begin_clock(self) -> None:
        """Count the cell's time from now on."""
        self._began_ns = time.perf_counter_ns()

    def cell_ns(self) -> int:
        """Return how long the cell has run, in ns, without pauses."""
        if not self._began_ns:
            return 0
        return time.perf_counter_ns() - self._began_ns - self.tracer.pauses.total_ns

    def open(self) -> None:
        """Open a window; raise what `Tracer.open` raises."""
        self.tracer.open()
        if self._since_ns is None:
            self._since_ns = self.cell_ns()

    def end(self) -> None:
        """Write the open window, if any, and trace no more."""
        with self.tracer.lock:
            self.budget.over = True
            if self.tracer.window is not None:
                self.tracer.close()
        if not (self.budget.came or self.tracer.problem):
            self.notes.append(NEVER_CAME.format(steps=self._wanted, count=self.clock.count))
        self.notes += self._given_way.notes()
        if self.tracer.problem:
            self.notes.append(self.tracer.problem)

    @property
    def why_bare(self) -> WhyBare:
        """Why the trace does not cover the whole cell, if it does not."""
        if self._ended_by_limit:
            return WhyBare.LIMIT
        if self._asked_for_more and self.budget.exhausted:
            return WhyBare.OTHER  # a note tells
        if self._wanted is not None:
            return WhyBare.STEPS
        return WhyBare.BUDGET if self.budget.exhausted else WhyBare.OTHER

    def abandon(self) -> None:
        """Switch everything off and drop what the open window has recorded."""
        self.budget.over = True
        self.tracer.abandon()

    def _step_ended(self, built: bool) -> None:
        """Decide whether to go on as before, now that the cell's thread has ended a step."""
        budget, window = self.budget, self.tracer.window
        if budget.over:
            return
        held = 0 if window is None else self.tracer.held()
        decision = budget.after_step(window, time.perf_counter(), held, built=built)
        if self._expired:
            decision = Decision.END
        if decision is Decision.BEGIN and not self._given_way.is_over():
            self._given_way.keeps_out()
        elif decision is not Decision.GO_ON:
            self._do_and_pause(decision)

    @interrupts_wait()
    def _do_and_pause(self, decision: Decision) -> None:
        start_ns = time.time_ns()
        self._do(decision)
        self.tracer.pause(start_ns)

    def _do(self, decision: Decision) -> None:
        tracer, budget = self.tracer, self.budget
        with tracer.lock:
            self._watch.due = None
            if budget.over:
                return
            if tracer.window is not None:
                if decision is Decision.BEGIN:
                    return
                self._close()
            if decision is Decision.END:
                self._end_as_asked()
            elif budget.goes_on():
                self._reopen()
            elif budget.exhausted and self._asked_for_more:
                self._note_ceiling()

    def _end_as_asked(self) -> None:
        self.budget.over = True
        if self._expired:
            self._ended_by_limit = True
            self.notes.append(ENDED_BY_LIMIT.format(limit=self._limit))

    def _note_ceiling(self) -> None:
        size, most = self.budget.used / MEGABYTE, self.budget.whole / MEGABYTE
        remedy = FEWER_STEPS if self.clock.count else ONE_PART
        self.notes.append(ENDED_BY_CEILING.format(size=size, most=most, remedy=remedy))

    def _close(self) -> None:
        tracer, window = self.tracer, self.tracer.window
        assert window is not None
        held, now = tracer.held(), time.perf_counter()
        size = tracer.close()
        if size < 0:
            self.budget.over = True
        else:
            self.budget.measured(window, size, now, held, in_step=self.clock.in_step)

    def _reopen(self) -> None:
        if not self._given_way.is_over():
            self._given_way.keeps_out()
            return
        self._is_opening = True
        try:
            self.open()
        except Exception as error:  # noqa: BLE001 our failure must not become the user's
            self.budget.over = True
            self.notes.append(NOT_RESUMED.format(error=f"{type(error).__name__}: {error}"))
        else:
            self._given_way.resumed(self.cell_ns())
        finally:
            self._is_opening = False

    @interrupts_wait()
    def _give_way(self, name: str, logdir: str) -> None:
        """Close the window, if one is open: the user's code starts a profiler of its own."""
        start_ns, tracer = time.time_ns(), self.tracer
        with tracer.lock:
            if self._is_opening:  # it is nbprof's own profiler that starts
                return
            is_open = tracer.window is not None
            self._given_way.to(name, logdir, self.cell_ns(), traced=is_open)
            if not is_open:
                return
            self._close()
            if threading.get_ident() == self.clock.thread:
                tracer.pause(start_ns)

    def _look(self) -> bool:
        """Look after the recording, on the monitor's thread; return False when it is over."""
        budget, window, clock = self.budget, self.tracer.window, self.clock
        self._given_way.look()
        if budget.over:
            return False
        if window is None:
            if self._may_resume():
                self._do(Decision.BEGIN)  # without steps, nobody else would
            return True
        now = time.perf_counter()
        if self._is_expired():
            self._do(Decision.END)
            return False
        held = self.tracer.held()
        if clock.in_step:  # what tensors hold is not the trace
            held = max(window.held, held - switches.tensor_bytes())
        if clock.is_building:  # what grows is not the trace
            window.held = max(window.held, held)
        decision = budget.between_steps(window, now, held, in_step=clock.in_step)
        if decision is not Decision.GO_ON:
            self._cut_soon(is_urgent=decision is Decision.HURRY or self._light)
        return True

    def _may_resume(self) -> bool:
        """Return whether nbprof gave way to a profiler that has stopped, and no step is near."""
        is_among_steps = self.clock.in_step or self.clock.since_step() <= LONG_BETWEEN
        return self._given_way.waits and not is_among_steps and self._given_way.is_over()

    def _is_expired(self) -> bool:
        """Return whether the limit has passed; a step may then go on for a little while."""
        traced = (self.cell_ns() - (self._since_ns or 0)) / 1e9
        self._expired = traced >= self._limit
        can_wait = self.clock.in_step and traced < (1 + GRACE) * self._limit
        return self._expired and not can_wait

    def _cut_soon(self, *, is_urgent: bool) -> None:
        """Have the cell's thread write the window before its next call; else write it here."""
        self._looks = 0 if self._watch.due is None else self._looks + 1
        if is_urgent or self._looks > PICK_UP_LOOKS:
            self._do(Decision.CUT)
        else:
            self._watch.due = self._cut_between_calls

    def _cut_between_calls(self) -> None:
        if threading.get_ident() == self.clock.thread and not self.clock.in_step:
            self._do_and_pause(Decision.CUT)

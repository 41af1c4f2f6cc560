"""Measure a stretch of code: before, peak, after, and the curve between them.

What is read here costs microseconds. Nothing is forked, ended or run again.
"""

import gc
import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING

from nbprof.errors import NbprofError
from nbprof.memory.device_memory import devices, over
from nbprof.memory.malloc_stats import heap, kept, perhaps_kept, reusable, trim
from nbprof.memory.result import STEP, Mark, MemoryResult, MemoryRun
from nbprof.memory.sampler import Sampler
from nbprof.memory.watermark import Reading, watermark

if TYPE_CHECKING:
    from types import TracebackType

MOST_STEPS = 5000
"""So many steps are marked; noting more would take memory itself."""


class Measurement(AbstractContextManager["Measurement"]):
    """`with measure() as run:`; afterwards `run.result` is a MemoryResult.

    `interval` is the time between samples of the curve in seconds; the peak does not depend on it.
    After `timeout` seconds measuring ends while the code runs on. `include_children` adds what
    child processes hold. `trim` first has the allocator return what it kept, so that using it again
    shows.
    """

    def __init__(
        self,
        interval: float | None = None,
        timeout: float | None = None,
        include_children: bool = False,
        trim: bool = False,
    ) -> None:
        self._interval = interval
        self._timeout = timeout
        self._include_children = include_children
        self._trim = trim
        self._owner = watermark()
        self._marks: list[Mark] = []
        self._steps = 0
        self._last: Reading | None = None
        self._run: MemoryRun | None = None

    def __enter__(self) -> "Measurement":
        self._trimmed = self._trim and gc.collect() >= 0 and trim()
        self._sampler = Sampler(self._owner, self._interval, self._timeout, self._read_last)
        if self._include_children:
            self._sampler.ask_children(0)
            self._children_before = self._sampler.children or 0.0
        self._devices = devices()
        self._sampler.start()
        try:
            self._heap = heap()
            self._stretch = self._owner.open()
            self.began_ns = time.time_ns()
            """When it began, by the clock of TensorFlow's trace."""
            self._began = time.perf_counter()
            self._sampler.begin(self._stretch, self._began)
        except BaseException:
            self._sampler.stop()
            raise
        return self

    def mark(self, line: int) -> None:
        """Note that a statement begins now, for the curve."""
        self._marks.append(Mark(time.perf_counter() - self._began, f"line {line}"))

    def step(self, name: str) -> Callable[[], None]:
        """Note that a step begins; give what is to be called when it has ended."""
        self._steps += 1
        if self._steps > MOST_STEPS:
            return lambda: None
        label = f"step {self._steps - 1}: {name}"
        begun = Mark(time.perf_counter() - self._began, label, STEP)
        place = len(self._marks)
        self._marks.append(begun)

        def ended() -> None:
            self._marks[place] = replace(begun, end=time.perf_counter() - self._began)

        return ended

    def _read_last(self) -> None:
        if self._last is None:
            self._last = self._owner.close(self._stretch)
            self._seconds = time.perf_counter() - self._began

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: "TracebackType | None",
    ) -> None:
        self._sampler.stop()
        cut = self._last is not None
        self._read_last()
        last = self._last
        if last is None:  # pragma: no cover, for the type checker
            return
        self._sampler.end(last, self._seconds)
        stretch, sampler = self._stretch, self._sampler
        before, peak, exact = float(stretch.before), float(stretch.peak), stretch.exact
        if self._include_children and sampler.children is not None:
            before += self._children_before
            peak, exact = max(peak, sampler.together), False
        now, growth = heap(), last.resident - stretch.before
        self._run = MemoryRun(
            before=before,
            peak=peak,
            after=last.resident,
            exact=exact,
            seconds=self._seconds,
            kept=kept(self._heap, now, growth),
            perhaps_kept=perhaps_kept(self._heap, now, growth),
            reusable=math.nan if self._trimmed else reusable(self._heap, stretch.before),
            children=float("nan") if sampler.children is None else sampler.children,
            devices=over(self._devices, devices()),
            curve=sampler.curve,
            marks=tuple(mark for mark in self._marks if mark.seconds <= self._seconds),
        )
        self._notes = self._shortcomings(exact, cut)

    def _shortcomings(self, exact: bool, cut: bool) -> tuple[str, ...]:
        notes = []
        if not exact and self._owner.shortcoming:
            notes.append(self._owner.shortcoming)
        elif not exact:
            notes.append(
                "with -c the peak is the most that was seen of the process and its children "
                "together, so it is a lower bound."
            )
        if self._steps > MOST_STEPS:
            notes.append(
                f"of {self._steps:,} steps the first {MOST_STEPS:,} are marked in the curve."
            )
        if cut:
            notes.append(
                f"measuring ended after {self._timeout:g} s, as -t asked; the code ran on."
            )
        return tuple(notes)

    @property
    def run(self) -> MemoryRun:
        """What was measured; there once the block has ended."""
        if self._run is None:
            raise NbprofError("there is no result yet: the measured block has not ended.")
        return self._run

    @property
    def result(self) -> MemoryResult:
        """What was measured, as something that shows itself."""
        return together([self])


def together(measurements: "list[Measurement]") -> MemoryResult:
    """Make one result of several runs of the same code."""
    first = measurements[0]
    return MemoryResult(
        runs=tuple(each.run for each in measurements),
        notes=tuple(dict.fromkeys(note for each in measurements for note in each._notes)),
        highest=first._owner.highest,
        timeout=first._timeout,
        interval=first._interval,
        include_children=first._include_children,
    )

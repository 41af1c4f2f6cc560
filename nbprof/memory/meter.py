"""Measure a block of code: memory before it, its peak, memory after it, and the curve between.

Each reading takes microseconds. Nothing is forked, killed or run again.
"""

import gc
import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from nbprof.errors import NbprofError
from nbprof.memory.device_memory import device_runs, devices
from nbprof.memory.malloc_stats import heap, kept, perhaps_kept, reusable, trim
from nbprof.memory.result import LINE, STEP, Mark, MemoryResult, MemoryRun
from nbprof.memory.sampler import Sampler
from nbprof.memory.watermark import Reading, watermark

if TYPE_CHECKING:
    from types import TracebackType

MOST_STEPS = 5000
"""Mark at most this many steps, because marks take memory themselves."""


class Measurement(AbstractContextManager["Measurement"]):
    """`with measure() as run:`; afterwards `run.result` is a MemoryResult.

    `interval` is the time between samples of the curve in seconds; the peak does not depend on it.
    After `timeout` seconds measuring ends and the code runs on. `include_children` adds the memory
    of child processes. `trim` has the allocator return free memory first, so that memory the code
    would otherwise reuse counts as an increment.
    """

    def __init__(
        self,
        interval: float | None = None,
        timeout: float | None = None,
        include_children: bool = False,
        trim: bool = False,
        on_turn: Callable[[], object] = int,
    ) -> None:
        self._interval = interval
        self._timeout = timeout
        self._include_children = include_children
        self._trim = trim
        self._on_turn = on_turn
        """Called whenever the sampling thread has got the interpreter."""
        self._owner = watermark()
        self._marks: list[Mark] = []
        self._steps = 0
        self._last: Reading | None = None
        self._run: MemoryRun | None = None

    def __enter__(self) -> "Measurement":
        self._trimmed = False
        if self._trim:
            gc.collect()
            self._trimmed = trim()
        self._sampler = Sampler(
            self._owner, self._interval, self._timeout, self._read_last, self._on_turn
        )
        if self._include_children:
            self._sampler.sample_children(0)
            self._children_before = self._sampler.children or 0.0
        self._devices = devices()
        self._sampler.start()
        try:
            self._heap = heap()
            self._stretch = self._owner.open()
            self.began_ns = time.time_ns()
            """When it began, on the clock of TensorFlow's trace, in ns."""
            self._began = time.perf_counter()
            self._sampler.begin(self._stretch, self._began)
        except BaseException:
            self._sampler.stop()
            raise
        return self

    def mark(self, line: int) -> None:
        """Mark on the curve that the statement on this line begins now."""
        self._marks.append(Mark(time.perf_counter() - self._began, LINE, line))

    def step(self, name: str) -> Callable[[], None]:
        """Mark that a step begins now; return the function to call when it ends."""
        self._steps += 1
        if self._steps > MOST_STEPS:
            return lambda: None
        begun = Mark(time.perf_counter() - self._began, STEP, self._steps - 1, name)
        place = len(self._marks)
        self._marks.append(begun)

        def end() -> None:
            self._marks[place] = replace(begun, end=time.perf_counter() - self._began)

        return end

    @contextmanager
    def left_out(self) -> Iterator[None]:
        """Leave what happens in the block out of the curve; the peak of the run has it."""
        self._sampler.pause()
        try:
            yield
        finally:
            self._sampler.resume()

    def _read_last(self) -> Reading:
        if self._last is None:
            self._last = self._owner.close(self._stretch)
            self._seconds = time.perf_counter() - self._began
        return self._last

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: "TracebackType | None",
    ) -> None:
        self._sampler.stop()
        timed_out = self._last is not None
        last = self._read_last()
        self._sampler.end(last, self._seconds)
        self._run = self._measured(last)
        self._notes = self._shortcomings(self._run.exact, timed_out)

    def _measured(self, last: Reading) -> MemoryRun:
        stretch, sampler = self._stretch, self._sampler
        before, peak, exact = float(stretch.before), float(stretch.peak), stretch.exact
        if self._include_children and sampler.children is not None:
            before += self._children_before
            peak, exact = max(peak, sampler.most_with_children), False
        now, growth = heap(), last.resident - stretch.before
        return MemoryRun(
            before=before,
            peak=peak,
            after=last.resident,
            exact=exact,
            seconds=self._seconds,
            kept=kept(self._heap, now, growth),
            perhaps_kept=perhaps_kept(self._heap, now, growth),
            reusable=math.nan if self._trimmed else reusable(self._heap, stretch.before),
            children=math.nan if sampler.children is None else sampler.children,
            devices=device_runs(self._devices, devices()),
            curve=sampler.curve,
            marks=tuple(mark for mark in self._marks if mark.seconds <= self._seconds),
        )

    def _shortcomings(self, exact: bool, timed_out: bool) -> tuple[str, ...]:
        notes = []
        if not exact and self._owner.shortcoming:
            notes.append(self._owner.shortcoming)
        elif not exact:
            notes.append(
                "with -c the peak is the highest sample of the process and its children together: "
                "a lower bound."
            )
        if self._steps > MOST_STEPS:
            notes.append(
                f"only the first {MOST_STEPS:,} of {self._steps:,} steps are marked on the curve."
            )
        if timed_out:
            notes.append(f"measuring ended after {self._timeout:g} s (-t); the code ran on.")
        return tuple(notes)

    @property
    def run(self) -> MemoryRun:
        """What was measured, once the block has ended."""
        if self._run is None:
            raise NbprofError("there is no result yet: the measured block has not ended.")
        return self._run

    @property
    def result(self) -> MemoryResult:
        """What was measured, as a result that shows itself."""
        return combined_result([self])


def combined_result(measurements: "list[Measurement]") -> MemoryResult:
    """Combine several runs of the same code into one result."""
    first = measurements[0]
    return MemoryResult(
        runs=tuple(each.run for each in measurements),
        notes=tuple(dict.fromkeys(note for each in measurements for note in each._notes)),
        highest=first._owner.highest,
        timeout=first._timeout,
        interval=first._interval,
        include_children=first._include_children,
    )

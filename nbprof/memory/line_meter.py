"""Memory line by line: how often each line ran, what it left behind, and how high memory rose.

Python reports when a line begins. Reading memory takes far longer than most lines do, so it is read
only after a line that ran long enough to touch much memory, or after many short ones; what those
took is charged to the line after which memory is read. A line's numbers include what it calls. Only
the thread that runs the code is watched, but memory is that of the whole process.
"""

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from threading import get_ident
from types import CodeType, FrameType, TracebackType
from typing import Any

from nbprof.memory.watched_code import Tally, Target
from nbprof.memory.watermark import watermark
from nbprof.python_code import first_line

LONG_LINE_NS = 20_000
"""Read memory after a line that took at least this long, in ns."""
MANY_LINES_NS = 200_000
"""Read memory at the next line once the last reading is this old, in ns."""

LOST = (
    "the code set its own trace function, or Python removed nbprof's; later lines were not "
    "measured."
)
"""Note if our trace function was replaced."""

_BEFORE_FIRST_LINE = Tally()
"""The tally of a call whose first line has not begun."""


@dataclass(eq=False, slots=True)
class Frame:
    """A call of measured code that has not returned."""

    target: Target
    outer: frozenset[int]
    """Ids of the tallies of the lines in outer calls of the same target that led to this call."""
    tally: Tally
    """The tally of the line that is running."""
    start: int
    """Bytes held when that line began."""
    peak: int
    """The most bytes held since that line began."""
    highest: int
    """The most bytes held since the call began."""
    read: bool = False
    """Whether memory was read since the line began."""


class Ledger:
    """Keeps the tallies, from the calls, lines and returns that an engine reports."""

    def __init__(self, targets: Sequence[Target]) -> None:
        self.by_code = {id(code): target for target in targets for code in target.codes}
        self._entrances = {id(target.codes[0]) for target in targets if target.is_function}
        self._owner = watermark()
        self._frames: list[Frame] = []

    def open(self) -> None:
        """Start measuring."""
        self._stretch = self._owner.open()
        self._known = self._stretch.before
        self._began = self._read_at = time.perf_counter_ns()

    def close(self) -> None:
        """Stop measuring, and charge the lines that are still running."""
        while self._frames:
            self.leave()
        self._owner.close(self._stretch)

    def enter(self, code: CodeType, is_call: bool) -> None:
        """Record a call of measured code or, without `is_call`, that a generator resumes."""
        now = time.perf_counter_ns()
        if now - self._began >= LONG_LINE_NS:
            self._read()
        known = self._known
        target = self.by_code[id(code)]
        if is_call and id(code) in self._entrances:
            target.calls += 1
            target.entered = target.entered or known
        elif id(code) in target.continuations:
            target.tallies[first_line(code)].hits -= 1  # an earlier statement has counted this line
        outer: frozenset[int] = frozenset()
        for frame in reversed(self._frames):
            if frame.target is target:
                outer = frame.outer | {id(frame.tally)}
                break
        self._frames.append(Frame(target, outer, _BEFORE_FIRST_LINE, known, known, known))
        self._began = now

    def line_hook(self) -> Callable[[int], None]:
        """Return the function to call when a line begins, the hottest one here."""
        clock, frames = time.perf_counter_ns, self._frames

        def begin_line(number: int) -> None:
            now = clock()
            frame = frames[-1]
            if now - self._began >= LONG_LINE_NS or now - self._read_at >= MANY_LINES_NS:
                self._read()
                self._settle(frame)
            elif frame.read:
                self._settle(frame)
            elif self._known > frame.tally.usage:
                frame.tally.usage = self._known
            tally = frame.target.tallies[number]
            tally.hits += 1
            frame.tally = tally
            frame.start = frame.peak = self._known
            self._began = now

        return begin_line

    def leave(self) -> None:
        """Record that the innermost call returns, or a generator pauses."""
        now = time.perf_counter_ns()
        if not self._frames:
            return
        frame = self._frames[-1]
        if now - self._began >= LONG_LINE_NS or now - self._read_at >= MANY_LINES_NS:
            self._read()
        self._settle(frame)
        self._frames.pop()
        if self._frames:
            outer = self._frames[-1]
            outer.peak = max(outer.peak, frame.highest)
            outer.read = True
        self._began = now

    def _read(self) -> None:
        reading = self._owner.sample(self._stretch)
        self._known = reading.resident
        self._read_at = time.perf_counter_ns()
        if self._frames:
            frame = self._frames[-1]
            frame.peak = max(frame.peak, reading.most)
            frame.read = True

    def _settle(self, frame: Frame) -> None:
        """Charge what was read to the line of the frame that ends."""
        tally, known = frame.tally, self._known
        if tally is not _BEFORE_FIRST_LINE:
            if id(tally) not in frame.outer:
                tally.growth += known - frame.start
            tally.peak = max(tally.peak, frame.peak - frame.start)
            tally.usage = max(tally.usage, known)
        frame.highest = max(frame.highest, frame.peak)
        frame.start = frame.peak = known
        frame.read = False


class Settrace:
    """The engine before Python 3.12, or without a free tool id: the trace function of debuggers."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def start(self) -> None:
        """Install our trace function in place of the user's."""
        by_code, enter, leave = self._ledger.by_code, self._ledger.enter, self._ledger.leave
        begin_line = self._ledger.line_hook()

        def trace_lines(frame: FrameType, event: str, _: Any) -> Any:
            if event == "line":
                begin_line(frame.f_lineno)
            elif event == "return":
                leave()
            return trace_lines

        def trace_calls(frame: FrameType, _event: str, _: Any) -> Any:
            if id(frame.f_code) not in by_code:
                return None
            enter(frame.f_code, frame.f_trace is None)
            return trace_lines

        self._ours = trace_calls
        self._before = sys.gettrace()
        sys.settrace(trace_calls)

    def stop(self) -> bool:
        """Restore the user's trace function; return whether ours was still installed."""
        if sys.gettrace() is self._ours:
            sys.settrace(self._before)
            return True
        if sys.gettrace() is None:
            sys.settrace(self._before)
        return False


class Monitoring:
    """The engine from Python 3.12 on: code that is not measured runs at full speed."""

    def __init__(self, ledger: Ledger, codes: Sequence[CodeType]) -> None:
        self._ledger = ledger
        self._codes = codes
        self._tool: int | None = None

    def start(self) -> None:
        """Claim a free tool id and turn the events on."""
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
        events = monitoring.events
        free = [number for number in (2, 3, 4, 5, 0, 1) if monitoring.get_tool(number) is None]
        tool = free[0]
        monitoring.use_tool_id(tool, "nbprof")
        self._monitoring, self._tool = monitoring, tool
        for event, hook in self._hooks(events).items():
            monitoring.register_callback(tool, event, hook)
        wanted = events.LINE | events.PY_START | events.PY_RESUME
        wanted |= events.PY_RETURN | events.PY_YIELD
        for code in self._codes:
            monitoring.set_local_events(tool, code, wanted)
        monitoring.set_events(tool, events.PY_UNWIND | events.PY_THROW)

    def _hooks(self, events: Any) -> dict[int, Callable[..., None]]:
        by_code, enter, leave = self._ledger.by_code, self._ledger.enter, self._ledger.leave
        begin_line = self._ledger.line_hook()
        thread = get_ident()

        def trace_line(_: CodeType, number: int) -> None:
            if get_ident() == thread:
                begin_line(number)

        def trace_start(code: CodeType, *_: Any) -> None:
            if get_ident() == thread:
                enter(code, True)

        def trace_resume(code: CodeType, *_: Any) -> None:
            if get_ident() == thread and id(code) in by_code:
                enter(code, False)

        def trace_end(code: CodeType, *_: Any) -> None:
            if get_ident() == thread and id(code) in by_code:
                leave()

        ends = (events.PY_RETURN, events.PY_YIELD, events.PY_UNWIND)
        return {
            events.LINE: trace_line,
            events.PY_START: trace_start,
            events.PY_RESUME: trace_resume,
            events.PY_THROW: trace_resume,
            **dict.fromkeys(ends, trace_end),
        }

    def stop(self) -> bool:
        """Turn the events off and free the tool id; return True: no other code took it over."""
        if self._tool is None:
            return True
        monitoring, tool = self._monitoring, self._tool
        events = monitoring.events
        monitoring.set_events(tool, 0)
        for code in self._codes:
            monitoring.set_local_events(tool, code, 0)
        for event in self._hooks(events):
            monitoring.register_callback(tool, event, None)
        monitoring.free_tool_id(tool)
        self._tool = None
        return True


class LineTracer(AbstractContextManager["LineTracer"]):
    """Measures the lines of its targets while the block runs, and fills their tallies."""

    def __init__(self, targets: Sequence[Target]) -> None:
        self._ledger = Ledger(targets)
        self.notes: tuple[str, ...] = ()
        """What could not be measured, in sentences."""
        codes = [code for target in targets for code in target.codes]
        self._engine: Monitoring | Settrace = (
            Monitoring(self._ledger, codes) if _has_free_tool() else Settrace(self._ledger)
        )

    def __enter__(self) -> "LineTracer":
        self._ledger.open()
        self._engine.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._engine.stop():
            self.notes += (LOST,)
        self._ledger.close()
        shortcoming = watermark().shortcoming
        if shortcoming:
            self.notes += (f"peaks inside lines are lower bounds: {shortcoming}",)


def _has_free_tool() -> bool:
    monitoring = getattr(sys, "monitoring", None)
    return monitoring is not None and any(monitoring.get_tool(n) is None for n in range(6))

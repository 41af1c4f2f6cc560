"""How Python reports lines: `sys.settrace`, and from 3.12 on `sys.monitoring`."""

import sys
from collections.abc import Callable
from threading import get_ident
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any, Protocol

from nbprof.capture.python.line_book import LineBook
from nbprof.capture.python.line_hooks import Trace, line_hooks
from nbprof.capture.python.watch import CannotWatchError

BUSY = (
    "{name} is tracing Python, and Python 3.11 has one place for a tracer, so no line of this cell "
    "was counted; switch it off and run the cell again."
)
"""Why the cell runs without its lines being counted."""
NO_TOOL = (
    "other tools have taken all six places of sys.monitoring, so no line of this cell was counted; "
    "switch one off and run the cell again."
)
"""Why the cell runs without its lines being counted, from Python 3.12 on."""
REPLACED = (
    "the trace function was replaced {place}: nbprof gave way and counted no line from then on"
)
"""Note on a trace function that the cell set itself."""


class Engine(Protocol):
    """Calls the hooks while a statement of the cell runs."""

    def start(self) -> None:
        """Make sure that lines can be reported; may raise CannotWatchError."""

    def resume(self) -> None:
        """Let Python report lines from here on."""

    def pause(self) -> bool:
        """Keep Python from reporting lines; return whether it has reported all of them."""

    def stop(self) -> None:
        """Restore what `start` replaced."""


class Settrace:
    """The engine before Python 3.12; only watched code has a trace function of its own."""

    def __init__(self, book: LineBook) -> None:
        self._book = book
        self._hooks = line_hooks(book)
        self._traces: dict[int, Trace] = {}
        """The trace function of each watched code, by its id."""
        self._before: Any = None
        self._block: tuple[FrameType, Any] | None = None
        """The frame of a `with` block and its own trace function."""

    def start(self) -> None:
        """Refuse to take the place of a trace function in C, which could not go on."""
        there = sys.gettrace()
        if there is not None and not isinstance(there, FunctionType | MethodType):
            raise CannotWatchError(BUSY.format(name=type(there).__qualname__))

    def resume(self) -> None:
        """Install our trace function; it calls the one that is there."""
        self._before = sys.gettrace()
        ours = self._trace_calls()
        self._ours = ours if self._before is None else both(ours, self._before)
        self._hooks.begin()
        self._trace_block(ours)
        sys.settrace(self._ours)

    def pause(self) -> bool:
        """Restore the trace function that was there, unless the cell has set another one."""
        now = sys.gettrace()
        if now is self._ours or now is None:
            sys.settrace(self._before)
        if self._block is not None:
            frame, trace = self._block
            frame.f_trace = trace
            self._block = None
        self._hooks.end()
        return now is self._ours

    def stop(self) -> None:
        """Do nothing: nothing is kept between statements."""

    def _trace_calls(self) -> Trace:
        find, enter = self._book.find, self._hooks.enter
        make, traces = self._hooks.trace, self._traces

        def trace_calls(frame: FrameType, _event: str, _: Any) -> Trace | None:
            watched = find(frame.f_code)
            if watched is None:
                return None
            enter(watched, frame.f_lineno, frame.f_trace is None)
            key = id(watched)
            if key not in traces:
                traces[key] = make(watched)
            return traces[key]

        return trace_calls

    def _trace_block(self, trace_calls: Trace) -> None:
        """Trace the frame of a `with` block, which is already running."""
        frame = block_frame()
        if frame is not None and self._book.find(frame.f_code) is not None:
            self._block = frame, frame.f_trace
            frame.f_trace = trace_calls(frame, "call", None)


def both(ours: Trace, theirs: Trace) -> Trace:
    """Return a trace function that calls ours, and the one that was there as Python would."""

    def trace_calls(frame: FrameType, event: str, argument: Any) -> Trace | None:
        own = ours(frame, event, argument)
        other = theirs(frame, event, argument)
        return other if own is None else own if other is None else _both_local(own, other)

    return trace_calls


def _both_local(own: Trace, other: Trace) -> Trace:
    def trace_line(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal other
        own(frame, event, argument)
        other = other(frame, event, argument) or other

    return trace_line


class Monitoring:
    """The engine from Python 3.12 on; code that is not watched runs at full speed."""

    def __init__(self, book: LineBook) -> None:
        self._book = book
        self._hooks = line_hooks(book)
        self._monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
        self._tool = -1

    def start(self) -> None:
        """Claim a free place."""
        monitoring = self._monitoring
        free = [number for number in (3, 4, 2, 5, 0, 1) if monitoring.get_tool(number) is None]
        if not free:
            raise CannotWatchError(NO_TOOL)
        self._tool = free[0]
        monitoring.use_tool_id(self._tool, "nbprof")
        for event, hook in self._callbacks().items():
            monitoring.register_callback(self._tool, event, hook)
        monitoring.restart_events()  # code that an earlier profile did not watch may be now
        for code in self._book.watched():
            self._watch(code)

    def resume(self) -> None:
        """Let all code report its first call, unless that is known not to be watched."""
        events = self._monitoring.events
        self._hooks.begin()
        frame = block_frame()
        if frame is not None:
            self._call(frame.f_code, frame.f_lineno)
        wanted = events.PY_START | events.PY_UNWIND | events.PY_THROW
        self._monitoring.set_events(self._tool, wanted)

    def pause(self) -> bool:
        """Switch off what all code reports."""
        self._monitoring.set_events(self._tool, 0)
        self._hooks.end()
        return True

    def stop(self) -> None:
        """Switch off what watched code reports, and free the place."""
        if self._tool < 0:
            return
        monitoring, tool = self._monitoring, self._tool
        self._tool = -1
        monitoring.set_events(tool, 0)
        for code in self._book.watched():
            monitoring.set_local_events(tool, code, 0)
        for event in self._callbacks():
            monitoring.register_callback(tool, event, None)
        monitoring.free_tool_id(tool)

    def _watch(self, code: CodeType) -> None:
        events = self._monitoring.events
        wanted = events.LINE | events.PY_RESUME | events.PY_RETURN | events.PY_YIELD
        self._monitoring.set_local_events(self._tool, code, wanted)

    def _call(self, code: CodeType, number: int) -> bool:
        """Enter code if it is watched, which makes its lines reported; return whether it is."""
        before = len(self._book.hits)
        watched = self._book.find(code)
        if watched is None:
            return False
        if len(self._book.hits) > before:
            for found in self._book.watched():
                self._watch(found)
        self._hooks.enter(watched, number, True)
        return True

    def _callbacks(self) -> dict[int, Callable[..., Any]]:
        events, disable = self._monitoring.events, self._monitoring.DISABLE
        thread, find, call, hooks = get_ident(), self._book.find, self._call, self._hooks
        begin_line, enter, leave = hooks.line, hooks.enter, hooks.leave

        def start(code: CodeType, _: int) -> Any:
            if get_ident() != thread:
                return None
            return None if call(code, 0) else disable

        def line(_: CodeType, number: int) -> None:
            if get_ident() == thread:
                begin_line(number)

        def resume(code: CodeType, instruction: int, *_: Any) -> None:
            watched = find(code) if get_ident() == thread else None
            if watched is not None:
                enter(watched, line_at(code, instruction), False)

        def end(code: CodeType, *_: Any) -> None:
            if get_ident() == thread and find(code) is not None:
                leave()

        return {
            events.PY_START: start,
            events.LINE: line,
            events.PY_RESUME: resume,
            events.PY_THROW: resume,
            **dict.fromkeys((events.PY_RETURN, events.PY_YIELD, events.PY_UNWIND), end),
        }


def line_at(code: CodeType, instruction: int) -> int:
    """Return the line of an instruction."""
    for start, end, line in code.co_lines():
        if start <= instruction < end and line:
            return line
    return code.co_firstlineno


def block_frame() -> FrameType | None:
    """Return the frame that runs a `with nbprof.profile()` block; None in a profiled cell.

    It is the first one around ours that enters the block, which no function of ours does.
    """
    frame: FrameType | None = sys._getframe(1)
    inside = False
    while frame is not None and _is_ours(frame):
        inside = inside or frame.f_code.co_name == "__enter__"
        frame = frame.f_back
    return frame if inside else None


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] == __name__.partition(".")[0]

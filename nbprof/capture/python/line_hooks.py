"""What is done at each event of watched code: the hottest functions of nbprof.

`spent` gets the time since the event before, for the line that was running; `hits` counts lines.
State is in local variables that the hooks share, which is faster than any attribute. Times are
floats of seconds, which Python subtracts faster than whole ns.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any

from nbprof.capture.python.line_book import NOWHERE, Call, LineBook, WatchedCode

Trace = Callable[[FrameType, str, Any], Any]
"""A function as `sys.settrace` takes it."""


@dataclass(frozen=True)
class Hooks:
    """The functions that an engine calls."""

    begin: Callable[[], None]
    """The cell's statement begins."""
    end: Callable[[], None]
    """It has ended, and with it all calls that have not returned."""
    enter: Callable[[WatchedCode, int, bool], None]
    """Watched code is called or, on that line, resumed."""
    line: Callable[[int], None]
    """A line of the innermost watched code begins."""
    leave: Callable[[], None]
    """The innermost watched code returns, yields or raises."""
    trace: Callable[[WatchedCode], Trace]
    """Returns a trace function for code, which does what `line` and `leave` do."""


def line_hooks(book: LineBook) -> Hooks:  # noqa: C901, PLR0915 one scope is the fastest state
    """Return hooks that fill the book."""
    clock, hits, spent = time.perf_counter, book.hits, book.spent
    current = NOWHERE
    last, offset = 0.0, 0
    around: list[tuple[int, int, Call, float]] = []
    """For each call that has not returned: slot and offset of its caller, itself, its start."""

    def begin() -> None:
        nonlocal last
        last = clock()

    def enter(watched: WatchedCode, number: int, is_call: bool) -> None:
        nonlocal current, last, offset
        now = clock()
        spent[current] += now - last
        last = now
        call = watched.callers.get(current)
        if call is None:
            call = watched.callers[current] = Call()
        call.calls += is_call
        call.open += 1
        around.append((current, offset, call, now))
        offset = watched.offset
        current = NOWHERE if is_call else number + offset

    def line(number: int) -> None:
        nonlocal current, last
        now = clock()
        spent[current] += now - last
        last = now
        current = number + offset
        hits[current] += 1

    def leave() -> None:
        nonlocal current, last, offset
        now = clock()
        spent[current] += now - last
        last = now
        if around:
            current, offset, call, began = around.pop()
            call.open -= 1
            if not call.open:
                call.seconds += now - began

    def end() -> None:
        nonlocal current, offset
        while around:
            leave()
        current, offset = NOWHERE, 0

    def trace(watched: WatchedCode) -> Trace:
        own = watched.offset

        def trace_line(frame: FrameType, event: str, _: Any) -> None:
            nonlocal current, last
            if event == "line":
                now = clock()
                spent[current] += now - last
                last = now
                current = frame.f_lineno + own
                hits[current] += 1
            elif event == "return":
                leave()

        return trace_line

    return Hooks(begin=begin, end=end, enter=enter, line=line, leave=leave, trace=trace)

"""`nbprof.span` and `nbprof.count`: the user's own marks, recorded while a profile is.

User code imports this, so it imports no numpy. While nothing is recorded, a mark only looks whether
that is so.
"""

import threading
import time
from array import array
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from itertools import count as numbers
from typing import Any, TypeVar

from nbprof.errors import NbprofError

Function = TypeVar("Function", bound=Callable[..., Any])

NO_SPAN = -1
ASYNC_GENERATOR = (
    "nbprof.span cannot decorate {name}, an async generator; put `with nbprof.span(…):` inside it."
)

_identity, _now = threading.get_ident, time.time_ns


class MarkRecording:
    """Marks as they come, in flat arrays; `mark_log.py` makes columns of them.

    A mark is added by one call of `extend`, so that threads do not mix theirs.
    """

    def __init__(self) -> None:
        self.begins = array("q")
        """Number, name, time, thread and parent of each span."""
        self.ends = array("q")
        """Number and time of each span that ended."""
        self.counts = array("q")
        """Number, name and time of each count."""
        self.values = array("d")
        """Number and value of each count."""
        self.names: dict[str, int] = {}
        self.threads: dict[int, str] = {}
        """Names of threads by identity."""
        self.refused: set[str] = set()
        """Counters that were given something that is no number."""
        self._next_span = numbers().__next__
        self._next_count = numbers().__next__

    def begin(self, name: str, parent: int) -> int:
        """Note that a span begins and return its number."""
        number, thread = self._next_span(), _identity()
        if thread not in self.threads:
            self.threads[thread] = _thread_name(thread)
        self.begins.extend((number, self._name(name), _now(), thread, parent))
        return number

    def end(self, number: int) -> None:
        """Note that a span ends."""
        self.ends.extend((number, _now()))

    def count(self, name: str, value: Any) -> None:
        """Note a count."""
        try:
            as_number = float(value)
        except (TypeError, ValueError, OverflowError):
            self.refused.add(str(name))
            return
        number = self._next_count()
        self.values.extend((number, as_number))
        self.counts.extend((number, self._name(name), _now()))

    def _name(self, name: str) -> int:
        return self.names.setdefault(str(name), len(self.names))


class _Open:
    """A span that is open, in the context of the code that opened it."""

    __slots__ = ("is_open", "number", "outer", "owner", "recording")

    def __init__(
        self, number: int, owner: "span", outer: "_Open | None", recording: MarkRecording
    ) -> None:
        self.number = number
        self.owner = owner
        self.outer = outer
        self.recording = recording
        self.is_open = True


_recording: MarkRecording | None = None
"""Where marks go; None while nothing is recorded."""
_innermost: ContextVar[_Open | None] = ContextVar("nbprof_span", default=None)
"""The innermost span of this thread or task that may still be open."""


class span:  # noqa: N801 it reads as a verb: `with nbprof.span("load")`
    """Mark a stretch of code by a name, for the profile of the cell that runs it.

    `with nbprof.span("load"):` marks a block, `@nbprof.span("load")` every call of a function, also
    of an async one, from its start to its end, with what it awaits. A decorated generator is
    marked from its first value to its last. The profile has `profile.spans`, and lanes in its
    timeline. While nothing is profiled, a mark does nothing.
    """

    __slots__ = ("_name", "_opened")

    def __init__(self, name: str) -> None:
        self._name = name
        self._opened: list[_Open] | None = None
        """Those of this span that are open, in several threads or tasks perhaps."""

    def __enter__(self) -> "span":
        if _recording is not None:
            self._begin(_recording)
        return self

    def __exit__(self, *_: object) -> None:
        if self._opened:
            self._end(self._opened)

    def __call__(self, function: Function) -> Function:
        """Decorate a function."""
        marked: Function = _decorated(self._name, function)
        return marked

    def _begin(self, recording: MarkRecording) -> None:
        outer = _around(_innermost.get(), recording)
        number = recording.begin(self._name, NO_SPAN if outer is None else outer.number)
        opened = _Open(number, self, outer, recording)
        if self._opened is None:
            self._opened = []
        self._opened.append(opened)
        _innermost.set(opened)

    def _end(self, opened: list[_Open]) -> None:
        inner = _innermost.get()
        found = inner
        while found is not None and not (found.owner is self and found.is_open):
            found = found.outer
        if found is None:  # it was opened in another context
            found = opened[-1]
        opened.remove(found)
        found.is_open = False
        if found.recording is _recording:
            found.recording.end(found.number)
        if inner is found:
            _innermost.set(_around(found.outer, found.recording))


def _around(outer: _Open | None, recording: MarkRecording) -> _Open | None:
    """Return the innermost of these spans that is still open and part of the recording."""
    while outer is not None and not (outer.is_open and outer.recording is recording):
        outer = outer.outer
    return outer


def _decorated(name: str, function: Any) -> Any:
    import inspect

    if inspect.isasyncgenfunction(function):
        raise NbprofError(ASYNC_GENERATOR.format(name=function.__qualname__))
    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def marked(*arguments: Any, **named: Any) -> Any:
            with span(name):
                return await function(*arguments, **named)

    elif inspect.isgeneratorfunction(function):

        @wraps(function)
        def marked(*arguments: Any, **named: Any) -> Any:
            with span(name):
                return (yield from function(*arguments, **named))

    else:

        @wraps(function)
        def marked(*arguments: Any, **named: Any) -> Any:
            if _recording is None:
                return function(*arguments, **named)
            with span(name):
                return function(*arguments, **named)

    return marked


def count(name: str, value: float = 1) -> None:
    """Add a value to a counter of the profile: how many, how large, how good.

    `profile.counters` has the number of values of each counter, their sum, and so on; the timeline
    for Perfetto has a curve. While nothing is profiled, this does nothing.
    """
    if _recording is not None:
        _recording.count(name, value)


def start_marks() -> MarkRecording:
    """Record marks from now on."""
    global _recording
    _recording = MarkRecording()
    return _recording


def stop_marks() -> None:
    """Record no more marks."""
    global _recording
    _recording = None


def _thread_name(identity: int) -> str:
    """Return the name of a thread, without making `threading` list one that it does not know."""
    names = (thread.name for thread in threading.enumerate() if thread.ident == identity)
    return next(names, f"thread {identity}")

"""What Python handed to TensorFlow during a cell: which op, when, from which lines, on what shapes.

The trace of an eager op knows neither its Python line nor its input shapes. The functions through
which Python reaches the runtime are wrapped during the cell, at some microseconds a call; none of
the wrappers is on the stack when TensorFlow raises an error of the user's.
"""

import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import CodeType, FrameType
from typing import Any

import numpy as np

from nbprof.capture import compat
from nbprof.capture.capture import DispatchLog

FRAMEWORKS = frozenset(("tensorflow", "keras", "numpy", "contextlib", "functools"))
"""Packages whose frames are not the user's."""

BOTTOM = frozenset(("nbprof", "IPython"))
"""Packages that run the user's code: the stack ends where they begin."""


class DispatchWatch:
    """Records the calls of a cell while `watched()`; `log()` gives what it saw."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        """How often each op or function was called so far."""
        self._calls: list[tuple[int, int, int, int, str, tuple[Any, ...]]] = []
        self._packages: dict[CodeType, str] = {}
        self._sites: dict[tuple[tuple[CodeType, int], ...], int] = {}

    def watched(self) -> AbstractContextManager[None]:
        """Record all calls made in a block."""
        return compat.replaced_dispatchers(self._recorded)

    def log(self) -> DispatchLog:
        """Give the calls as a value."""
        numbers = [call[:4] for call in self._calls]
        start_ns, end_ns, thread, site = np.array(numbers, dtype=np.int64).reshape(-1, 4).T
        return DispatchLog(
            sites=tuple(
                tuple((code.co_filename, line, code.co_name) for code, line in frames)
                for frames in self._sites
            ),
            start_ns=start_ns,
            end_ns=end_ns,
            thread=thread,
            site=site,
            ops=[call[4] for call in self._calls],
            shapes=[call[5] for call in self._calls],
        )

    def _recorded(self, dispatch: Callable[..., Any], op_and_inputs: Callable[..., Any]) -> Any:
        """Wrap one of TensorFlow's dispatch functions."""
        calls, counts, clock = self._calls, self.counts, time.time_ns
        thread, frame, shape_of = threading.get_ident, sys._getframe, compat.shape_of

        def record(*arguments: Any) -> Any:
            __tracebackhide__ = True
            op, inputs = op_and_inputs(arguments)
            counts[op] = counts.get(op, 0) + 1
            start = clock()
            try:
                return dispatch(*arguments)
            finally:
                end = clock()
                shapes = tuple(map(shape_of, inputs))
                calls.append((start, end, thread(), self._site(frame(1)), op, shapes))

        return record

    def _site(self, frame: FrameType | None) -> int:
        """Number the place a call comes from: its frames without those of frameworks."""
        frames = []
        while frame is not None:
            package = self._package(frame)
            if package in BOTTOM:
                break
            if package not in FRAMEWORKS:
                frames.append((frame.f_code, frame.f_lineno))
            frame = frame.f_back
        return self._sites.setdefault(tuple(reversed(frames)), len(self._sites))

    def _package(self, frame: FrameType) -> str:
        known = self._packages.get(frame.f_code)
        if known is None:
            known = str(frame.f_globals.get("__name__", "")).partition(".")[0]
            self._packages[frame.f_code] = known
        return known

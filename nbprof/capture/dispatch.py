"""What Python handed to TensorFlow during a cell: when, from which lines, on which shapes.

The trace of an eager op knows neither its Python line nor its input shapes. The functions through
which Python reaches the runtime are wrapped during the cell, at some ten microseconds a call; none
of the wrappers is on the stack when TensorFlow raises an error of the user's.
"""

import sys
import threading
import time
from array import array
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import CodeType, FrameType
from typing import Any

import numpy as np

from nbprof.capture import compat
from nbprof.capture.capture import DispatchLog, Stack

FRAMEWORKS = frozenset(("tensorflow", "keras", "numpy", "contextlib", "functools"))
"""Packages whose frames are not the user's."""

BOTTOM = frozenset(("nbprof", "IPython"))
"""Packages that run the user's code: the stack ends where they begin."""


class DispatchWatch:
    """Records the calls of a cell while `watched()`; `log()` gives what it saw."""

    def __init__(self) -> None:
        self.counts: dict[str | bytes, int] = {}
        """How often each op or function was called so far."""
        # Start, end, thread, site, shapes of each call, flat: objects would set off the collector.
        self._calls = array("q")
        # Keyed by id, for Python computes the hash of a code object anew each time, and slowly.
        self._codes: dict[int, tuple[CodeType, str]] = {}
        self._sites: dict[tuple[int, ...], int] = {}
        self._shapes: dict[tuple[Any, ...], int] = {}

    def watched(self) -> AbstractContextManager[None]:
        """Record all calls made in a block."""
        return compat.replaced_dispatchers(self._recorded)

    def log(self) -> DispatchLog:
        """Give the calls as a value."""
        calls = np.array(self._calls, dtype=np.int64).reshape(-1, 5).T
        start_ns, end_ns, thread, site, shape = calls
        sites = tuple(map(self._stack, self._sites))
        return DispatchLog(sites, start_ns, end_ns, thread, site, tuple(self._shapes), shape)

    def _stack(self, site: tuple[int, ...]) -> Stack:
        codes = (self._codes[key][0] for key in site[::2])
        frames = [
            (code.co_filename, _line(code, instruction), code.co_name)
            for code, instruction in zip(codes, site[1::2], strict=True)
        ]
        return tuple(reversed(frames))

    def _recorded(self, dispatch: Callable[..., Any], op_place: int | None) -> Any:
        """Wrap one of TensorFlow's dispatch functions; `op_place` is where it is told the op."""
        calls, counts, clock = self._calls, self.counts, time.time_ns
        thread, frame = threading.get_ident, sys._getframe
        shapes, shapes_of = self._shapes, compat.input_shapes

        def record(*arguments: Any) -> Any:
            __tracebackhide__ = True
            op = "_EagerConst" if op_place is None else arguments[op_place]
            counts[op] = counts.get(op, 0) + 1
            start = clock()
            try:
                return dispatch(*arguments)
            finally:
                end = clock()
                shape = shapes.setdefault(shapes_of(arguments, op_place), len(shapes))
                calls.extend((start, end, thread(), self._site(frame(1)), shape))

        return record

    def _site(self, frame: FrameType | None) -> int:
        """Number the place a call comes from: its frames without those of frameworks."""
        site: list[int] = []
        while frame is not None:
            code = frame.f_code
            key = id(code)
            known = self._codes.get(key)
            if known is None:
                package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
                known = self._codes[key] = (code, package)
            if known[1] in BOTTOM:
                break
            if known[1] not in FRAMEWORKS:
                site += (key, frame.f_lasti)
            frame = frame.f_back
        return self._sites.setdefault(tuple(site), len(self._sites))


def _line(code: CodeType, instruction: int) -> int:
    """Find the line of an instruction; asking each frame for it would be slow."""
    for start, end, line in code.co_lines():
        if start <= instruction < end and line is not None:
            return line
    return code.co_firstlineno

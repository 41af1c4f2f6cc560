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
from weakref import ref

import numpy as np
import numpy.typing as npt

from nbprof.capture.capture import BACKWARD, LOSS, METRICS, OPTIMIZER, DispatchLog, Stack
from nbprof.capture.compat import hooks, keras_frames, tensor_shapes
from nbprof.capture.model_objects import CalledLayer

FRAMEWORKS = frozenset(("tensorflow", "keras", "numpy")) | sys.stdlib_module_names
"""Packages whose frames are not the user's."""

LAYER_CALL = "call of a Keras layer"
PARTS = (OPTIMIZER, METRICS, LOSS, BACKWARD)
LAYER, PART = -1, -2
"""Instead of a code object: what follows is the number of a layer, or of one of PARTS."""

BOTTOM = frozenset(("nbprof", "IPython"))
"""Packages that run the user's code: the stack ends where they begin."""


class DispatchWatch:
    """Records the calls of a cell while `watched()`; `log()` gives what it saw."""

    def __init__(self) -> None:
        self.counts: dict[str | bytes, int] = {}
        """How often each op or function was called so far."""
        # Start, end, thread, site, shapes, shapes and bytes given of each call, and when all that
        # was found out, flat: objects would set off the collector.
        self._calls = array("q")
        # Keyed by id, for Python computes the hash of a code object anew each time, and slowly.
        self._codes: dict[int, tuple[CodeType, str]] = {}
        self._sites: dict[tuple[int, ...], int] = {}
        self._shapes: dict[tuple[Any, ...], int] = {}
        self.layers: list[CalledLayer] = []
        """The Keras layers that were called."""
        self._layer_number: dict[int, int] = {}
        self.read: dict[int, ref[Any]] = {}
        """The handles of the variables that were read, by their ids."""

    def watched(self) -> AbstractContextManager[None]:
        """Record all calls made in a block."""
        return hooks.replaced_dispatchers(self._recorded)

    def log(self) -> DispatchLog:
        """Give the calls as a value."""
        start_ns, end_ns, thread, site, shape, output_shape, output_bytes, _ = self._columns()
        sites = tuple(map(self._stack, self._sites))
        inside = tuple(map(_inside, self._sites))
        shapes = tuple(self._shapes)
        called = sites, start_ns, end_ns, thread, site
        return DispatchLog(*called, shapes, shape, output_shape, output_bytes, inside)

    @property
    def cost_ns(self) -> int:
        """How long the calls took longer because they were watched, nearly."""
        _, end_ns, *_, found_out = self._columns()
        return int((found_out - end_ns).sum())

    def _columns(self) -> npt.NDArray[np.int64]:
        return np.array(self._calls, dtype=np.int64).reshape(-1, 8).T

    def _stack(self, site: tuple[int, ...]) -> Stack:
        frames = []
        for key, instruction in zip(site[::2], site[1::2], strict=True):
            if key not in (LAYER, PART):
                code = self._codes[key][0]
                frames.append((code.co_filename, _line(code, instruction), code.co_name))
        return tuple(reversed(frames))

    def _recorded(self, dispatch: Callable[..., Any], op_place: int | None) -> Any:
        """Wrap one of TensorFlow's dispatch functions; `op_place` is where it is told the op."""
        calls, counts, clock = self._calls, self.counts, time.time_ns
        thread, frame = threading.get_ident, sys._getframe
        shapes, shapes_of = self._shapes, tensor_shapes.input_shapes
        shape_of, size_of = tensor_shapes.output_shape, tensor_shapes.tensor_bytes
        read = self.read

        def record(*arguments: Any) -> Any:
            __tracebackhide__ = True
            op = "_EagerConst" if op_place is None else arguments[op_place]
            counts[op] = counts.get(op, 0) + 1
            if op == "ReadVariableOp" and id(handle := arguments[3]) not in read:
                read[id(handle)] = ref(handle)
            given = None
            start = clock()
            try:
                given = dispatch(*arguments)
                return given
            finally:
                end = clock()
                shape = shapes.setdefault(shapes_of(arguments, op_place), len(shapes))
                output = shapes.setdefault(shape_of(given), len(shapes))
                site = self._site(frame(1))
                calls.extend((start, end, thread(), site, shape, output, size_of(given), clock()))

        return record

    def _site(self, frame: FrameType | None) -> int:
        """Number the place a call comes from: its frames without those of frameworks."""
        site: list[int] = []
        while frame is not None:
            code = frame.f_code
            key = id(code)
            known = self._codes.get(key)
            if known is None:
                module = str(frame.f_globals.get("__name__", ""))
                known = self._codes[key] = (code, _kind_of(code, module))
            if known[1] in BOTTOM:
                break
            if known[1] == LAYER_CALL:
                site += (LAYER, self._layer(frame.f_locals.get("self")))
            elif known[1] in PARTS:
                site += (PART, PARTS.index(known[1]))
            elif known[1] not in FRAMEWORKS:
                site += (key, frame.f_lasti)
            frame = frame.f_back
        return self._sites.setdefault(tuple(site), len(self._sites))

    def _layer(self, layer: Any) -> int:
        """Number a layer; one that took the place of a dead one in memory is another."""
        number = self._layer_number.get(id(layer))
        if number is None or self.layers[number].alive() is not layer:
            number = self._layer_number[id(layer)] = len(self.layers)
            self.layers.append(CalledLayer(ref(layer), layer.name, type(layer).__name__))
        return number


def _kind_of(code: CodeType, module: str) -> str:
    """Say what a frame of this code stands for: a part of the work, else its package."""
    if keras_frames.is_layer_call(code):
        return LAYER_CALL
    return keras_frames.part_of_module(module) or module.partition(".")[0]


def _inside(site: tuple[int, ...]) -> tuple[tuple[int, ...], str]:
    """Give the layers that a site was called in, the outermost first, and the innermost part."""
    pairs = list(zip(site[::2], site[1::2], strict=True))
    part = next((PARTS[number] for key, number in pairs if key == PART), "")
    return tuple(number for key, number in pairs if key == LAYER)[::-1], part


def _line(code: CodeType, instruction: int) -> int:
    """Find the line of an instruction; asking each frame for it would be slow."""
    for start, end, line in code.co_lines():
        if start <= instruction < end and line is not None:
            return line
    return code.co_firstlineno

"""Record the calls from Python into TensorFlow: when, from which lines, on which shapes.

The trace of an eager op knows neither its Python line nor its input shapes. So the functions
through which Python reaches the runtime are wrapped during the cell, at about 10 µs a call. The
wrappers are hidden from tracebacks.
"""

import sys
import threading
import time
from array import array
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from types import CodeType, FrameType
from typing import Any
from weakref import ref

import numpy as np
import numpy.typing as npt

from nbprof.arrays import NONE
from nbprof.capture import kerases
from nbprof.capture.capture import BACKWARD, LOSS, METRICS, OPTIMIZER, DispatchLog, Stack
from nbprof.capture.compat import hooks, tensor_shapes
from nbprof.capture.forward_sites import ForwardSites
from nbprof.capture.model_objects import CalledLayer, name_of
from nbprof.float_op_table import NEEDED_ATTRIBUTES
from nbprof.library_frames import is_wrapper
from nbprof.user_files import is_users, is_users_code

RUNNERS = frozenset(("nbprof", "IPython"))
"""Packages that run the user's code; a stack ends where they begin."""

USERS = "the user's"
"""Kind of the frames of the user's files."""
WRAPPER = "only passes calls on"
"""Kind of the frames of decorators and the like, and of code that has no file of its own."""
LAYER_CALL = "call of a Keras layer"
"""Kind of the frame in which Keras calls a layer."""
PARTS = (OPTIMIZER, METRICS, LOSS, BACKWARD)
"""Kinds of frames in the parts of Keras and TensorFlow that do work outside layers."""
PART_OF_MODULE = {
    "tensorflow.python.training.optimizer": OPTIMIZER,
    "tensorflow.python.eager.backprop": BACKWARD,
}
"""The part of the work that a module of TensorFlow's does, by its name."""
GRADIENT = "gradient of an op"
"""Kind of the frame in which TensorFlow's tape computes the gradient of one eager op."""
GRADIENT_FUNCTION = ("tensorflow.python.eager.backprop", "_gradient_function")
"""Module and name of the function that does so."""

LAYER = -1
"""Key in a site, in place of a code object, that precedes the number of a layer."""
PART = -2
"""Key in a site, in place of a code object, that precedes the index of a part in PARTS."""
FORWARD = -3
"""Key in a site, in place of a code object, before the site of the op that a gradient is of."""

CALLED = -4
"""Key in a site, in place of a code object, that precedes that of the installed function which a
frame of the user's calls; it comes before that frame."""
MARKS = (LAYER, PART, FORWARD, CALLED)
"""Keys in a site that are no frames of the user's."""
CONSTANT = "_EagerConst"
"""What calls that make a constant are listed as."""

VARIABLES_USED = {
    **dict.fromkeys(("ReadVariableOp", "AssignAddVariableOp", "AssignSubVariableOp"), 1),
    **dict.fromkeys(("ResourceGather", "ResourceApplyGradientDescent"), 1),
    **dict.fromkeys(("ResourceApplyKerasMomentum", "ResourceApplyMomentum"), 2),
    **{"ResourceApplyAdagradV2": 2, "ResourceApplyRMSProp": 3, "ResourceApplyAdam": 3},
}
"""How many handles of variables an op takes before its other inputs.

Ops that set a variable regardless of its value are missing: making a model is no use of it.
"""

COLUMNS = 10
"""Numbers recorded for each call."""


class DispatchWatch:
    """Records the calls of a cell while `watched()`; `log()` returns them."""

    def __init__(self) -> None:
        self.due: Callable[[], None] | None = None
        """Called before the next call, on its thread, if set."""
        # For each call: start, end, thread, site, input shapes, output shape, output bytes,
        # attributes, op, and when recording it ended. Flat, because objects would trigger garbage
        # collections.
        self._calls = array("q")
        # Keyed by id, because hashing a code object is slow.
        self._codes: dict[int, tuple[CodeType, str]] = {}
        self._sites: dict[tuple[int, ...], int] = {}
        self._shapes: dict[tuple[Any, ...], int] = {}
        self._given: dict[tuple[Any, ...], int] = {(): 0}
        self._ops: dict[str, int] = {}
        self._threads: dict[int, str] = {}
        """The names of the threads that made calls."""
        self.layers: list[CalledLayer] = []
        """The Keras layers that were called."""
        self._layer_number: dict[int, int] = {}
        self.used: dict[int, ref[Any]] = {}
        """The handles of the variables that were used, by id."""
        self._forward = ForwardSites()
        self._gradients: set[int] = set()
        """The sites inside the gradient of an eager op; it may take the same tensors as the op."""

    def watched(self) -> AbstractContextManager[None]:
        """Record all calls made in a block."""
        return hooks.replaced_dispatchers(self._wrap)

    def log(self) -> DispatchLog:
        """Return the calls."""
        start_ns, end_ns, thread, site, *described, attributes, op, recorded_ns = self._columns()
        shape, output_shape, output_bytes = described
        return DispatchLog(
            sites=tuple(map(self._stack, self._sites)),
            start_ns=start_ns,
            end_ns=end_ns,
            thread=thread,
            site=site,
            shapes=tuple(self._shapes),
            shape=shape,
            output_shape=output_shape,
            output_bytes=output_bytes,
            given=tuple(self._given),
            attributes=attributes,
            inside=tuple(map(_inside, self._sites)),
            forward=_forward_sites(self._sites),
            ops=tuple(self._ops),
            op=op,
            recorded_ns=recorded_ns,
            paths=tuple(map(self._path, self._sites)),
            threads=dict(self._threads),
        )

    @property
    def cost_ns(self) -> int:
        """Roughly how much time watching added to the calls, in ns."""
        _, end_ns, *_, recorded_ns = self._columns()
        return int((recorded_ns - end_ns).sum())

    @property
    def calls(self) -> int:
        """How many calls have been recorded."""
        return len(self._calls) // COLUMNS

    @property
    def backends(self) -> set[str]:
        """The frameworks other than TensorFlow that Keras ran on around the calls."""
        return {kerases.backend_of(code.co_filename) for code, _ in self._codes.values()} - {""}

    def _columns(self) -> npt.NDArray[np.int64]:
        return np.array(self._calls, dtype=np.int64).reshape(-1, COLUMNS).T

    def _stack(self, site: tuple[int, ...]) -> Stack:
        frames = []
        for key, instruction in _pairs(site):
            if key not in MARKS:
                code = self._codes[key][0]
                frames.append((code.co_filename, _line(code, instruction), code.co_name))
        return tuple(reversed(frames))

    def _path(self, site: tuple[int, ...]) -> Stack:
        """Return the frames of the user's, each followed by the installed function it calls."""
        frames = []
        for key, number in _pairs(site):
            if key == CALLED:
                code = self._codes[number][0]
                frames.append((code.co_filename, code.co_firstlineno, code.co_name))
            elif key not in MARKS:
                code = self._codes[key][0]
                frames.append((code.co_filename, _line(code, number), code.co_name))
        return tuple(reversed(frames))

    def _wrap(self, dispatch: Callable[..., Any], op_place: int | None) -> Any:
        """Wrap a dispatch function of TensorFlow; `op_place` is as in `replaced_dispatchers`."""
        calls, clock = self._calls, time.time_ns
        thread, frame = threading.get_ident, sys._getframe
        shapes, shapes_of = self._shapes, tensor_shapes.input_shapes
        shape_of, size_of = tensor_shapes.output_shape, tensor_shapes.tensor_bytes
        tensor, used = tensor_shapes.eager_tensor(), self.used
        attributes_of, given, wanted = tensor_shapes.attributes, self._given, NEEDED_ATTRIBUTES
        remember, gradients = self._forward.remember, self._gradients
        ops, threads = self._ops, self._threads

        def record(*arguments: Any) -> Any:
            __tracebackhide__ = True
            if self.due is not None:
                self.due()
            op = CONSTANT if op_place is None else arguments[op_place]
            if op in VARIABLES_USED:
                inputs = arguments[3:] if op_place == 1 else arguments[3]
                for handle in inputs[: VARIABLES_USED[op]]:
                    if type(handle) is tensor and id(handle) not in used:
                        used[id(handle)] = ref(handle)
            result = None
            start = clock()
            try:
                result = dispatch(*arguments)
                return result
            finally:
                end = clock()
                shape = shapes.setdefault(shapes_of(arguments, op_place), len(shapes))
                output = shapes.setdefault(shape_of(result), len(shapes))
                stated = attributes_of(arguments, op_place, wanted[op]) if op in wanted else ()
                attributes = given.setdefault(stated, len(given))
                site = self.site(frame(1))
                if op_place is not None:
                    inputs = arguments[3:] if op_place == 1 else arguments[3]
                    remember(op, () if site in gradients else inputs, result, site)
                own = thread()
                if own not in threads:
                    threads[own] = _name_of(own)
                number = ops.setdefault(op, len(ops))
                described = (site, shape, output, size_of(result), attributes, number)
                calls.extend((start, end, own, *described, clock()))

        return record

    def site(self, frame: FrameType | None) -> int:
        """Number the place a call comes from: its frames in the user's files.

        With each comes the outermost function of those that it calls in installed files.
        """
        site: list[int] = []
        called = 0
        while frame is not None:
            code = frame.f_code
            key = id(code)
            known = self._codes.get(key)
            if known is None:
                known = self._codes[key] = (code, _kind_of(code, frame.f_globals))
            kind = known[1]
            if kind in RUNNERS:
                break
            if kind == USERS:
                if called:
                    site += (CALLED, called)
                site += (key, frame.f_lasti)
                called = 0
            elif kind != WRAPPER:
                called = key
                if kind:
                    site += self._marks(kind, frame)
            frame = frame.f_back
        number = self._sites.setdefault(tuple(site), len(self._sites))
        if FORWARD in site[::2]:
            self._gradients.add(number)
        return number

    def _marks(self, kind: str, frame: FrameType) -> tuple[int, ...]:
        """Return what a frame of Keras or TensorFlow adds to a site."""
        if kind == LAYER_CALL:
            return LAYER, self._layer(frame.f_locals.get("self"))
        if kind == GRADIENT:
            forward = self._forward.of_gradient(frame.f_locals)
            return PART, PARTS.index(BACKWARD), FORWARD, forward
        return PART, PARTS.index(kind)

    def _layer(self, layer: Any) -> int:
        """Number a layer; one that reuses the address of a dead one gets a new number."""
        number = self._layer_number.get(id(layer))
        if number is None or self.layers[number].alive() is not layer:
            number = self._layer_number[id(layer)] = len(self.layers)
            self.layers.append(CalledLayer(ref(layer), name_of(layer), type(layer).__name__))
        return number


def _kind_of(code: CodeType, names: Mapping[str, Any]) -> str:
    """Return what a frame is, given its code and global names.

    That is LAYER_CALL, GRADIENT, one of PARTS, one of RUNNERS, USERS, WRAPPER, or empty for other
    installed code.
    """
    module = str(names.get("__name__", ""))
    if (module, code.co_name) == GRADIENT_FUNCTION:
        return GRADIENT
    if kerases.is_layer_call(module, code.co_name):
        return LAYER_CALL
    part = kerases.part_of(module) or PART_OF_MODULE.get(module, "")
    package = module.partition(".")[0]
    if part or package in RUNNERS:
        return part or package
    if is_users_code(code, names):
        return USERS
    file = code.co_filename
    return WRAPPER if is_users(file) or is_wrapper(file, code.co_name) else ""


def _name_of(thread: int) -> str:
    """Return the name of a thread; asking `threading` for it would register a new one."""
    known = threading._active.get(thread)  # type: ignore[attr-defined]
    return "" if known is None else str(known.name)


def _inside(site: tuple[int, ...]) -> tuple[tuple[int, ...], str]:
    """Return the layers around a site, outermost first, and the innermost part."""
    pairs = _pairs(site)
    part = next((PARTS[number] for key, number in pairs if key == PART), "")
    return tuple(number for key, number in pairs if key == LAYER)[::-1], part


def _forward_sites(sites: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    """Return for each site that of the op whose gradient is computed, NONE if there is none.

    A gradient of a gradient belongs to the op of the latter, whose site has a lower number.
    """
    found: list[int] = []
    for site in sites:
        forward = next((number for key, number in _pairs(site) if key == FORWARD), NONE)
        found.append(forward if forward == NONE or found[forward] == NONE else found[forward])
    return tuple(found)


def _pairs(site: tuple[int, ...]) -> "list[tuple[int, int]]":
    return list(zip(site[::2], site[1::2], strict=True))


def _line(code: CodeType, instruction: int) -> int:
    """Find the line of an instruction; `frame.f_lineno` for every frame would be slow."""
    for start, end, line in code.co_lines():
        if start <= instruction < end and line is not None:
            return line
    return code.co_firstlineno

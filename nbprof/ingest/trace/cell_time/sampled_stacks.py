"""What the cell's thread was doing when its Python stack was sampled.

The innermost frame decides. C functions have no frame, so what they do is done by the line that
calls them: `time.sleep(1)` in a cell is the cell's own time. Only of a lock the system tells that
the thread waits for it.
"""

import re
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import Ints, Rows
from nbprof.user_files import is_users

if TYPE_CHECKING:
    from nbprof.capture.capture import Capture, Frame, Stack


class Activity(IntEnum):
    """What a stack shows."""

    USER = 0
    """The user's own lines, or a C function that they call."""
    LIBRARY = 1
    TENSORFLOW = 2
    """TensorFlow's Python code that neither runs nor builds anything."""
    EAGER_OP = 3
    """Inside the call that runs an op."""
    FUNCTION = 4
    """Inside the call that runs a function or a session's graph."""
    INPUT = 5
    """Inside the call that asks for a batch."""
    THREADS = 6
    """Waiting for a lock, a queue, a future, or the end of a thread."""
    BUILDING = 7
    """Building a graph."""
    TEARDOWN = 8
    """Releasing what Keras' fit and the like have used, when they return."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Samples:
    """Samples of the cell's thread in order; times in ns since the cell's start.

    Each stands for the time since the one before; the last one also for the rest of the cell.
    """

    time: Ints
    start: Ints
    """The time of the sample before, 0 for the first."""
    end: Ints
    stack: Ints
    """Index into `stacks`."""
    held: Ints
    """How much of its time a C function held the interpreter."""
    stacks: "tuple[Stack, ...]"
    activity: Rows
    """The Activity of each sample."""
    python: Rows
    """The Activity of each sample without TensorFlow's own frames."""


def read_samples(capture: "Capture") -> Samples:
    """Put the samples on the profile's clock and find out what they show."""
    log = capture.samples
    own = np.flatnonzero(log.thread == 0)
    time = np.clip(log.time_ns[own] - capture.start_ns, 0, capture.wall_ns)
    start = np.append(0, time)[: len(time)]
    end = time.copy()
    end[-1:] = capture.wall_ns
    lasts = np.flatnonzero(end > start)
    held_ns = log.held_ns[own] if len(log.held_ns) else np.zeros(len(own), np.int64)
    stack, waited = log.stack[own[lasts]], log.waited[own[lasts]]
    activity, python = (
        np.where(waited, _activities(stacks, waits=True)[stack], _activities(stacks)[stack])
        for stacks in (log.stacks, tuple(map(without_tensorflow, log.stacks)))
    )
    return Samples(
        time=time[lasts],
        start=start[lasts],
        end=end[lasts],
        stack=stack,
        held=np.minimum(held_ns[lasts], end[lasts] - start[lasts]),
        stacks=log.stacks,
        activity=activity,
        python=python,
    )


def _activities(stacks: "tuple[Stack, ...]", *, waits: bool = False) -> Rows:
    return np.array([activity_of(stack, waits=waits) for stack in stacks], dtype=np.intp)


WAITS = ("wait", "wait_for", "join", "_wait_for_tstate_lock", "acquire", "__enter__")
"""Functions of `threading.py` that wait for another thread."""
_THREADING = re.compile(r"(^|/)threading\.py$")
_ADAPTERS = re.compile(r"/data_adapters?/")
_TENSORFLOW = re.compile(r"/tensorflow/(python|_api)/")
_GENERATED = re.compile(r"/gen_\w+_ops\.py$")
_GET_NEXT = re.compile(r"(anonymous_|multi_device_)?iterator_get_next|dataset_to_single")
_REDUCE = re.compile(r"reduce_data")
_EXECUTE = re.compile(r"/eager/(execute|context)\.py$")
_FUNCTIONS = re.compile(r"/eager/(polymorphic_function/|function\.py$)")
_SESSION = re.compile(r"/client/session\.py$")
_CONSTANT = re.compile(r"/framework/(constant_op|tensor_util)\.py$")
_BUILD = ("func_graph_from_py_func", "_create_op_internal")
"""Functions of TensorFlow's that build graphs."""
_KERAS_CALL = re.compile(r"/keras/.*/traceback_utils\.py$")
"""The file of the function that Keras puts around fit, predict and evaluate."""


def activity_of(stack: "Stack", *, waits: bool = False) -> Activity:
    """Return what a stack shows; an empty one is that of a cell which has just ended.

    `waits` tells that the thread waits for another one in a C function, which has no frame.
    """
    if not stack:
        return Activity.USER
    file, _, function = stack[-1]
    if any(map(_gets_batch, stack)):
        return Activity.INPUT  # also what a pipeline runs on this thread, such as a numpy_function
    if any(function in _BUILD and is_tensorflow(file) for file, _, function in stack):
        return Activity.BUILDING
    if is_users(file):
        return Activity.THREADS if waits else Activity.USER
    if _matches(_KERAS_CALL, file) and all(is_users(file) for file, _, _ in stack[-2:-1]):
        return Activity.TEARDOWN  # it only calls, so what takes time here goes with the call
    if is_tensorflow(file):
        return _in_tensorflow(stack)
    waits |= _matches(_THREADING, file) and function in WAITS
    return _for_another_thread(stack) if waits else Activity.LIBRARY


def _for_another_thread(stack: "Stack") -> Activity:
    """Return what a library waits for: Keras' threads that read a Python dataset feed the fit."""
    feeds = any(_matches(_ADAPTERS, file) for file, _, _ in stack)
    return Activity.INPUT if feeds else Activity.THREADS


def _gets_batch(frame: "Frame") -> bool:
    """Return whether a frame is in the call that asks a pipeline for a batch."""
    file, _, function = frame
    gets = _GET_NEXT.match(function) is not None
    return gets and is_tensorflow(file) and _matches(_GENERATED, file)


def _in_tensorflow(stack: "Stack") -> Activity:
    """Return what a stack shows whose innermost frame is TensorFlow's."""
    own = list(takewhile(lambda frame: is_tensorflow(frame[0]), reversed(stack)))
    file, _, function = own[0]
    if _matches(_GENERATED, file):
        return Activity.INPUT if _REDUCE.match(function) else Activity.EAGER_OP
    if _matches(_SESSION, file) and "run" in function:
        return Activity.FUNCTION
    if _matches(_EXECUTE, file):
        calls = any(_matches(_FUNCTIONS, file) for file, _, _ in own)
        return Activity.FUNCTION if calls else Activity.EAGER_OP
    return Activity.EAGER_OP if _matches(_CONSTANT, file) else Activity.TENSORFLOW


def without_tensorflow(stack: "Stack") -> "Stack":
    """Return a stack without TensorFlow's frames at its inner end."""
    inner = sum(1 for _ in takewhile(lambda frame: is_tensorflow(frame[0]), reversed(stack)))
    return stack[: len(stack) - inner]


@cache
def is_tensorflow(file: str) -> bool:
    """Return whether a file belongs to TensorFlow."""
    return _matches(_TENSORFLOW, file)


@cache
def _matches(pattern: re.Pattern[str], file: str) -> bool:
    return pattern.search(file.replace("\\", "/")) is not None

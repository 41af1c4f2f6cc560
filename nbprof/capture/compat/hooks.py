"""Hook into TensorFlow's Python code during a cell, and remove the hooks afterwards."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

HARDWARE_TRACES = (b"\x08\x02", b"\x08\x03")
"""First bytes of a serialized RunOptions whose trace_level starts a profiler."""

STEP_STATS = {"step_num", "tf_function_call"}
"""Keywords that make a `Trace` a step: the user's, and TensorFlow's around a function."""


@contextmanager
def watch_sessions(
    give_way: Callable[[str], None], about_to_run: Callable[[Any], None]
) -> Iterator[None]:
    """Call `give_way(name)` before code in the block starts a TensorFlow profiler of its own.

    `about_to_run(graph)` is called before a v1 session runs. All hooks return before TensorFlow
    runs anything, so that no traceback of the user's shows frames of nbprof.
    """
    from tensorflow.python.client import session
    from tensorflow.python.profiler.internal import _pywrap_profiler

    new_session = _pywrap_profiler.ProfilerSession
    c_api = session.tf_session

    def new_session_after_ours() -> Any:
        give_way("tf.profiler.experimental")
        return new_session()

    def new_buffer_after_ours(data: bytes) -> Any:
        if data[:2] in HARDWARE_TRACES:
            give_way("a Session.run with FULL_TRACE")
        return c_api.TF_NewBufferFromString(data)

    def report_and_extend(handle: Any) -> None:
        about_to_run(sys._getframe(1).f_locals["self"].graph)
        c_api.ExtendSession(handle)

    # Only session.py sees this copy of the module: elsewhere other messages begin with those bytes.
    watched = ModuleType(c_api.__name__)
    watched.__dict__.update(
        vars(c_api), TF_NewBufferFromString=new_buffer_after_ours, ExtendSession=report_and_extend
    )
    try:
        _pywrap_profiler.ProfilerSession = new_session_after_ours
        session.tf_session = watched
        yield
    finally:
        _pywrap_profiler.ProfilerSession = new_session
        session.tf_session = c_api


@contextmanager
def watch_calls(enter: Callable[[str], None], leave: Callable[[], None]) -> Iterator[None]:
    """Call `enter(name)` and `leave()` around function calls and numbered Trace blocks.

    TensorFlow puts each into a `Trace`, whether a profiler runs or not. The hooks return before the
    function runs, so that no traceback of the user's shows frames of nbprof.
    """
    from tensorflow.python.eager.polymorphic_function import polymorphic_function
    from tensorflow.python.profiler.trace import Trace

    init, begin, end = Trace.__init__, Trace.__enter__, Trace.__exit__
    calling = vars(polymorphic_function)
    steps: WeakKeyDictionary[Any, str] = WeakKeyDictionary()

    def init_and_remember(self: Any, name: str, **kwargs: Any) -> None:
        init(self, name, **kwargs)
        if STEP_STATS & kwargs.keys() or sys._getframe(1).f_globals is calling:
            steps[self] = name

    def enter_and_begin(self: Any) -> Any:
        if self in steps:
            enter(steps[self])
        return begin(self)

    def leave_and_end(self: Any, *error: Any) -> None:
        if steps.pop(self, None) is not None:
            leave()
        end(self, *error)

    try:
        Trace.__init__ = init_and_remember
        Trace.__enter__, Trace.__exit__ = enter_and_begin, leave_and_end
        yield
    finally:
        Trace.__init__, Trace.__enter__, Trace.__exit__ = init, begin, end


@contextmanager
def keep_functions() -> Iterator[list[Any]]:
    """Collect and keep alive the functions made in the block, whose nodes are read after it."""
    from tensorflow.python.eager.polymorphic_function import atomic_function

    kept: list[Any] = []
    init = atomic_function.AtomicFunction.__init__

    def init_and_keep(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        kept.append(self)

    try:
        atomic_function.AtomicFunction.__init__ = init_and_keep
        yield kept
    finally:
        atomic_function.AtomicFunction.__init__ = init


@contextmanager
def replaced_dispatchers(
    wrap: Callable[[Callable[..., Any], int | None], Callable[..., Any]],
) -> Iterator[None]:
    """Replace each function through which Python runs ops with `wrap(function, op_place)`.

    `op_place` is the position of the op's name among the arguments, or None for the function that
    makes constants. Callers look these functions up on their modules at every call.
    """
    from tensorflow.python import pywrap_tfe
    from tensorflow.python.framework import constant_op

    places = {
        (pywrap_tfe, "TFE_Py_FastPathExecute"): 1,
        (pywrap_tfe, "TFE_Py_Execute"): 2,
        (pywrap_tfe, "TFE_Py_ExecuteCancelable"): 2,
        (constant_op, "convert_to_eager_tensor"): None,
    }
    before = {target: getattr(*target) for target in places}
    try:
        for target, op_place in places.items():
            setattr(*target, wrap(before[target], op_place))
        yield
    finally:
        for target, dispatch in before.items():
            setattr(*target, dispatch)

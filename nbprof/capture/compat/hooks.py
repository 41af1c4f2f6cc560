"""Hook into TensorFlow's Python code during a cell, and remove the hooks afterwards."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from nbprof.capture.compat import doors
from nbprof.capture.compat.doors import Door, replaced

HARDWARE_TRACES = (b"\x08\x02", b"\x08\x03")
"""First bytes of a serialized RunOptions whose trace_level starts a profiler."""
FIRST_HARDWARE_TRACE = 2
"""The lowest trace_level of RunOptions that starts a profiler."""

STEP_STATS = {"step_num", "tf_function_call"}
"""Keywords that make a `Trace` a step: the user's, and TensorFlow's around a function."""

GiveWay = Callable[[str], None]
AboutToRun = Callable[[Any], None]


@contextmanager
def watch_sessions(give_way: GiveWay, about_to_run: AboutToRun) -> Iterator[None]:
    """Call `give_way(name)` before code in the block starts a TensorFlow profiler of its own.

    `about_to_run(graph)` is called before a v1 session runs. All hooks return before TensorFlow
    runs anything, so that no traceback of the user's shows frames of nbprof.
    """

    def after_ours(new_session: Callable[[], Any]) -> Callable[[], Any]:
        def new_session_after_ours() -> Any:
            give_way("tf.profiler.experimental")
            return new_session()

        return new_session_after_ours

    v1 = _watch_v1_calls if doors.V1_BUFFER.open() and doors.V1_EXTEND.open() else _watch_v1_runs
    with replaced(doors.PROFILER_SESSION, after_ours), v1(give_way, about_to_run):
        yield


@contextmanager
def _watch_v1_calls(give_way: GiveWay, about_to_run: AboutToRun) -> Iterator[None]:
    """Watch the calls that v1 sessions make into TensorFlow."""
    from tensorflow.python.client import session

    c_api = session.tf_session

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
        session.tf_session = watched
        yield
    finally:
        session.tf_session = c_api


@contextmanager
def _watch_v1_runs(give_way: GiveWay, about_to_run: AboutToRun) -> Iterator[None]:
    """Watch `Session.run`, whose own frame is then in tracebacks, if its calls are hidden."""
    from tensorflow.compat.v1 import Session

    run = Session.run

    def report_and_run(
        self: Any,
        fetches: Any,
        feed_dict: Any = None,
        options: Any = None,
        run_metadata: Any = None,
    ) -> Any:
        __tracebackhide__ = True
        if options is not None and options.trace_level >= FIRST_HARDWARE_TRACE:
            give_way("a Session.run with FULL_TRACE")
        about_to_run(self.graph)
        return run(self, fetches, feed_dict, options, run_metadata)

    owner = next(kind for kind in Session.__mro__ if "run" in vars(kind))
    try:
        owner.run = report_and_run
        yield
    finally:
        owner.run = run


@contextmanager
def watch_calls(enter: Callable[[str], None], leave: Callable[[], None]) -> Iterator[None]:
    """Call `enter(name)` and `leave()` around function calls and numbered Trace blocks.

    TensorFlow puts each into a `Trace`, whether a profiler runs or not. The hooks return before the
    function runs, so that no traceback of the user's shows frames of nbprof.
    """
    Trace, functions = doors.STEP.open(), doors.STEP_OF_FUNCTION.owner()  # noqa: N806 a class
    if Trace is None or functions is None:
        yield
        return
    init, begin, end = Trace.__init__, Trace.__enter__, Trace.__exit__
    calling = vars(functions)
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
    kept: list[Any] = []

    def keeping(init: Callable[..., None]) -> Callable[..., None]:
        def init_and_keep(self: Any, *args: Any, **kwargs: Any) -> None:
            init(self, *args, **kwargs)
            kept.append(self)

        return init_and_keep

    with replaced(doors.FUNCTION_INIT, keeping):
        yield kept


@contextmanager
def replaced_dispatchers(
    wrap: Callable[..., Callable[..., Any]],
) -> Iterator[None]:
    """Replace each function through which Python runs ops with `wrap(function, op_place)`.

    `op_place` is the position of the op's name among the arguments, or None for the function that
    makes constants. Callers look these functions up on their modules at every call.
    """
    places: dict[Door, int | None] = {
        doors.FAST_EXECUTE: 1,
        doors.EXECUTE: 2,
        doors.EXECUTE_CANCELABLE: 2,
        doors.MAKE_CONSTANT: None,
    }
    tensors = (doors.EAGER_SHAPE, doors.EAGER_ELEMENTS, doors.EAGER_TYPE)
    if not all(door.open() for door in tensors):
        places = {}  # the arguments could not be described
    with ExitStack() as hooked:
        for door, op_place in places.items():
            hooked.enter_context(replaced(door, partial(wrap, op_place=op_place)))
        yield

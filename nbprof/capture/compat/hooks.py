"""Hook into TensorFlow's Python code during a cell, and remove the hooks afterwards."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from types import ModuleType
from typing import Any

from nbprof.capture.compat import doors
from nbprof.capture.compat.doors import Door, replaced

HARDWARE_TRACES = (b"\x08\x02", b"\x08\x03")
"""First bytes of a serialized RunOptions whose trace_level starts a profiler."""
FIRST_HARDWARE_TRACE = 2
"""The lowest trace_level of RunOptions that starts a profiler."""

HOW_CALLED = "tf_function_call"
"""Keyword that tells whether a call traced its function."""
STEP_STATS = {"step_num", HOW_CALLED}
"""Keywords that make a `Trace` a step: the user's, and TensorFlow's around a function."""

BEGAN = "_nbprof_began"
"""Attribute of a `Trace` that is watched: its name, and when it was made."""
BUILDING = "tf.function-graph_building"
"""Name of the `Trace` in which TensorFlow builds a graph."""

GiveWay = Callable[[str, str], None]
AboutToRun = Callable[[Any], None]


def _nothing(*_: object) -> None:
    pass


@contextmanager
def watch_sessions(
    give_way: GiveWay, about_to_run: AboutToRun, ran: Callable[[], None] = _nothing
) -> Iterator[None]:
    """Call `give_way(name, logdir)` before code in the block starts a profiler of its own.

    `about_to_run(graph)` is called before a v1 session runs, and `ran()` when it has run, where
    that can be seen. All hooks return before TensorFlow runs anything, so that no traceback of the
    user's shows frames of nbprof.
    """

    def after_ours(new_session: Callable[[], Any]) -> Callable[[], Any]:
        def new_session_after_ours() -> Any:
            logdir = sys._getframe(1).f_locals.get("logdir", "")
            give_way("tf.profiler.experimental", str(logdir or ""))
            return new_session()

        return new_session_after_ours

    v1 = _watch_v1_calls if doors.V1_BUFFER.open() and doors.V1_EXTEND.open() else _watch_v1_runs

    def build_results_after(build: Callable[..., Any]) -> Callable[..., Any]:
        def report_and_build(*arguments: Any) -> Any:
            __tracebackhide__ = True
            ran()
            return build(*arguments)

        return report_and_build

    with (
        replaced(doors.PROFILER_SESSION, after_ours),
        replaced(doors.V1_RESULTS, build_results_after),
        v1(give_way, about_to_run),
    ):
        yield


@contextmanager
def _watch_v1_calls(give_way: GiveWay, about_to_run: AboutToRun) -> Iterator[None]:
    """Watch the calls that v1 sessions make into TensorFlow."""
    from tensorflow.python.client import session

    c_api = session.tf_session

    def new_buffer_after_ours(data: bytes) -> Any:
        if data[:2] in HARDWARE_TRACES:
            give_way("a Session.run with FULL_TRACE", "")
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
            give_way("a Session.run with FULL_TRACE", "")
        about_to_run(self.graph)
        return run(self, fetches, feed_dict, options, run_metadata)

    owner = next(kind for kind in Session.__mro__ if "run" in vars(kind))
    try:
        owner.run = report_and_run
        yield
    finally:
        owner.run = run


@contextmanager
def watch_calls(
    enter: Callable[[str, int], None],
    leave: Callable[[str], None],
    built: Callable[[], None] = _nothing,
) -> Iterator[None]:
    """Call `enter(name, start_ns)` and `leave(name)` around function calls and Trace blocks.

    Only numbered blocks count, and those named BUILDING, inside calls. `built()` is called before
    `leave(name)` if a call has traced its function. TensorFlow puts each call into a `Trace`,
    whether a profiler runs or not. The hooks return before the function runs, so that no traceback
    of the user's shows frames of nbprof.
    """
    Trace, functions = doors.STEP.open(), doors.STEP_OF_FUNCTION.owner()  # noqa: N806 a class
    if Trace is None or functions is None:
        yield
        return
    init, calling, watching = Trace.__init__, vars(functions), True

    class WatchedTrace(Trace):  # type: ignore[misc, valid-type]
        """A `Trace` that reports its beginning and its end while the block lasts."""

        def __enter__(self) -> Any:
            if watching:
                enter(*getattr(self, BEGAN))
            return super().__enter__()

        def set_metadata(self, **kwargs: Any) -> None:
            super().set_metadata(**kwargs)
            if watching and str(kwargs.get(HOW_CALLED, "")).startswith("traced"):
                built()

        def __exit__(self, *error: object) -> None:
            super().__exit__(*error)
            if watching:
                leave(getattr(self, BEGAN)[0])

    def init_and_watch(self: Any, name: str, **kwargs: Any) -> None:
        # TensorFlow makes one for each constant, too: those pay only for this question.
        if (
            sys._getframe(1).f_globals is calling
            or (kwargs and not STEP_STATS.isdisjoint(kwargs))
            or name == BUILDING
        ) and type(self) is Trace:
            self.__class__ = WatchedTrace
            setattr(self, BEGAN, (name, time.time_ns()))  # making it begins the event in the trace
        init(self, name, **kwargs)

    try:
        Trace.__init__ = init_and_watch
        yield
    finally:
        Trace.__init__ = init
        watching = False


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

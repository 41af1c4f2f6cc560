"""Every place where nbprof touches TensorFlow, so that a new release is met in one file.

Written for TensorFlow 2.21. What is undocumented there is looked up by name and may be missing;
each function then says what is lost instead of failing.
"""

import ctypes
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from nbprof.capture.capture import BACKWARD, LOSS, METRICS, OPTIMIZER, Variable

IDLE, DEFAULT_LEVEL, EVERY_RUN_LEVEL = -1, 2, 3
"""Values of TensorFlow's trace level: no session, a session, every op run of it."""

WARNING = 1
ABSL_RELEASES = ("20260107", "20250814", "20250512", "20250127", "20240722", "20240116")

HARDWARE_TRACES = (b"\x08\x02", b"\x08\x03")
"""How a serialized RunOptions begins whose trace_level makes Session.run start a profiler."""


PARTS = {
    "keras.src.optimizers": OPTIMIZER,
    "tensorflow.python.training.optimizer": OPTIMIZER,
    "keras.src.metrics": METRICS,
    "keras.src.losses": LOSS,
    "tensorflow.python.eager.backprop": BACKWARD,
}
"""Which parts of the work these modules do."""

STEP_STATS = {"step_num", "tf_function_call"}
"""What a `Trace` is given that is a step: by the user, or by TensorFlow around a function."""

BYTES_OF_STRING = 24
"""What a string takes in a tensor, its text elsewhere."""


def installed() -> bool:
    """Tell whether TensorFlow could be imported, without importing it."""
    return "tensorflow" in sys.modules or importlib.util.find_spec("tensorflow") is not None


def imported() -> bool:
    """Tell whether this process has imported TensorFlow, to the end and with success."""
    return hasattr(sys.modules.get("tensorflow"), "__version__")


def version() -> str:
    """Import TensorFlow, if need be, and give its version; raise ImportError if it is broken."""
    from tensorflow import __version__

    return str(__version__)


@cache
def _library() -> ctypes.CDLL | None:
    import tensorflow as tf

    found = sorted(Path(tf.__file__).parent.glob("libtensorflow_framework*"))
    try:
        return ctypes.CDLL(str(found[0])) if found else None
    except OSError:
        return None


@cache
def _trace_level() -> ctypes.c_int | None:
    """Find the level that every TraceMe of the process is compared with."""
    library = _library()
    if library is None:
        return None
    try:
        return ctypes.c_int.in_dll(library, "_ZN3tsl8profiler8internal13g_trace_levelE")
    except ValueError:
        return None


def record_every_run() -> bool:
    """Make the running session record cheap ops too; False where that is not possible.

    At its own level TensorFlow drops an op from the trace once it has proved cheap (about nine of
    ten runs in a warm Keras fit), and it ignores the level asked for in ProfilerOptions.
    """
    level = _trace_level()
    if level is None or level.value != DEFAULT_LEVEL:
        return False
    level.value = EVERY_RUN_LEVEL
    return True


def running_profiler() -> str | None:
    """Name the TensorFlow profiler that runs now, or give None."""
    from tensorflow.python.profiler import profiler_v2

    if profiler_v2._profiler is not None:
        return "tf.profiler.experimental"
    level = _trace_level()
    if level is not None and level.value != IDLE:
        return "another TensorFlow profiler session of this process"
    return None


class AlreadyProfilingError(Exception):
    """Another profiler session is active."""


def start_session(folder: str) -> Any:
    """Start a profiler session of our own; `export` on it ends it and writes into `folder`."""
    from tensorflow.python.framework import errors
    from tensorflow.python.profiler.internal import _pywrap_profiler

    # Not tf.profiler.experimental.start: the user's own start and stop must find that API as idle
    # as it is in a bare cell.
    session = _pywrap_profiler.ProfilerSession()
    with quiet_logs():
        try:
            session.start(folder, {})
        except errors.AlreadyExistsError as error:
            raise AlreadyProfilingError from error
    return session


def drop_session(session: Any) -> None:
    """End a session without its trace; a reference to it somewhere would keep it running."""
    with quiet_logs():
        session.stop()


def mark_thread(name: str) -> None:
    """Leave an event of this name in the trace, on the thread that calls."""
    from tensorflow.python.profiler.internal import _pywrap_traceme

    _pywrap_traceme.TraceMe(name).Stop()


def export_session(session: Any) -> None:
    """End a session and write its trace."""
    with quiet_logs():
        session.export_to_tb()


@contextmanager
def quiet_logs() -> Iterator[None]:
    """Keep the profiler's C++ log lines out of the notebook, where ipykernel would show them."""
    switch = _log_level()
    if switch is None:
        yield
        return
    get, put = switch
    before = get()
    try:
        put(max(before, WARNING))
        yield
    finally:
        put(before)


@cache
def _log_level() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """Find absl's MinLogLevel and SetMinLogLevel, whose symbols carry the absl release."""
    library = _library()
    if library is None:
        return None
    for release in ABSL_RELEASES:
        prefix = f"_ZN4absl12lts_{release}"
        try:
            return (
                library[f"{prefix}11MinLogLevelEv"],
                library[f"{prefix}14SetMinLogLevelENS0_18LogSeverityAtLeastE"],
            )
        except AttributeError:
            continue
    return None


@contextmanager
def watch_sessions(
    give_way: Callable[[str], None], about_to_run: Callable[[Any], None]
) -> Iterator[None]:
    """Call `give_way(name)` before code in the block starts a TensorFlow profiler of its own.

    `about_to_run(graph)` is called before a v1 session runs. All hooks return before TensorFlow
    does anything, so that none of nbprof's frames stands in a traceback of the user's.
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

    def extend_and_tell(handle: Any) -> None:
        about_to_run(sys._getframe(1).f_locals["self"].graph)
        c_api.ExtendSession(handle)

    # A copy of the module for session.py alone: elsewhere other messages begin with those bytes.
    watched = ModuleType(c_api.__name__)
    watched.__dict__.update(
        vars(c_api), TF_NewBufferFromString=new_buffer_after_ours, ExtendSession=extend_and_tell
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
    """Call `enter(name)` and `leave()` around calls of functions and Trace blocks with a number.

    TensorFlow puts each into a `Trace`, whether a profiler runs or not. The hooks return before it
    does anything, so that none of nbprof's frames stands in a traceback of the user's.
    """
    from tensorflow.python.eager.polymorphic_function import polymorphic_function
    from tensorflow.python.profiler.trace import Trace

    init, begin, end = Trace.__init__, Trace.__enter__, Trace.__exit__
    calling = vars(polymorphic_function)
    told: WeakKeyDictionary[Any, str] = WeakKeyDictionary()

    def init_and_know(self: Any, name: str, **kwargs: Any) -> None:
        init(self, name, **kwargs)
        if STEP_STATS & kwargs.keys() or sys._getframe(1).f_globals is calling:
            told[self] = name

    def begin_and_tell(self: Any) -> Any:
        if self in told:
            enter(told[self])
        return begin(self)

    def end_and_tell(self: Any, *error: Any) -> None:
        if told.pop(self, None) is not None:
            leave()
        end(self, *error)

    try:
        Trace.__init__, Trace.__enter__, Trace.__exit__ = (
            *(init_and_know, begin_and_tell),
            end_and_tell,
        )
        yield
    finally:
        Trace.__init__, Trace.__enter__, Trace.__exit__ = init, begin, end


@contextmanager
def keep_functions() -> Iterator[list[Any]]:
    """Collect the functions made in the block: dead ones cannot be asked for their nodes."""
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
    """Replace the functions through which Python runs ops by `wrap(function, place of the op)`.

    The place is that of the op's name among the arguments, None for the one that makes constants.
    Their callers look them up on these modules at every call.
    """
    from tensorflow.python import pywrap_tfe
    from tensorflow.python.framework import constant_op

    ways = {
        (pywrap_tfe, "TFE_Py_FastPathExecute"): 1,
        (pywrap_tfe, "TFE_Py_Execute"): 2,
        (pywrap_tfe, "TFE_Py_ExecuteCancelable"): 2,
        (constant_op, "convert_to_eager_tensor"): None,
    }
    before = {way: getattr(*way) for way in ways}
    try:
        for way, op_place in ways.items():
            setattr(*way, wrap(before[way], op_place))
        yield
    finally:
        for way, dispatch in before.items():
            setattr(*way, dispatch)


@cache
def _eager_tensor() -> Any:
    from tensorflow.python.framework import ops

    return ops.EagerTensor


def input_shapes(arguments: tuple[Any, ...], op_place: int | None) -> tuple[Any, ...]:
    """Give the shapes of the inputs among a dispatcher's arguments, None for other values.

    `TFE_Py_FastPathExecute` has the inputs one by one, and attributes after them, each led in by
    its name; the others have a list of inputs.
    """
    if op_place is None:
        return ()
    tensor = _eager_tensor()
    shapes: list[Any] = []
    for value in arguments[3:] if op_place == 1 else arguments[3]:
        if type(value) is tensor:
            shapes.append(value._shape_tuple())
        elif type(value) is list:
            shapes += [item._shape_tuple() if type(item) is tensor else None for item in value]
        elif type(value) is str and op_place == 1:
            break
        else:
            shapes.append(None)
    return tuple(shapes)


def tensor_bytes(given: Any) -> int:
    """Give the size of what a dispatcher returned: a tensor, a list of them, or nothing."""
    if type(given) is _eager_tensor():
        return int(given._num_elements()) * element_size(given._datatype_enum())
    return sum(map(tensor_bytes, given)) if type(given) is list else 0


@cache
def element_size(number: int) -> int:
    """Give the bytes of an element of a type; handles of resources have none of their own."""
    from tensorflow.python.framework import dtypes

    if number in (dtypes.resource.as_datatype_enum, dtypes.variant.as_datatype_enum):
        return 0
    if number == dtypes.string.as_datatype_enum:
        return BYTES_OF_STRING
    return int(dtypes.as_dtype(number).size)


def is_layer_call(code: CodeType) -> bool:
    """Tell whether this is the method through which every Keras layer is called."""
    keras = sys.modules.get("keras")
    return hasattr(keras, "layers") and code is _layer_call(keras)


def part_of_module(module: str) -> str:
    """Say which part of the work besides layers a module does, or give an empty text."""
    return next((part for prefix, part in PARTS.items() if module.startswith(prefix)), "")


@cache
def _layer_call(keras: Any) -> CodeType | None:
    # What stands in the class is a wrapper of Keras', whose code many methods share.
    return getattr(inspect.unwrap(keras.layers.Layer.__call__), "__code__", None)


@cache
def function_size(name: str) -> int:
    """Count the nodes of a function and of those it calls."""
    message = function_def(name)
    if message is None:
        return 1
    called = (
        function.name
        for node in message.node_def
        for value in node.attr.values()
        for function in (value.func, *value.list.func)
        if function.name and function.name != name
    )
    return len(message.node_def) + sum(map(function_size, called))


def function_stacks(name: str) -> bytes | None:
    """Give the GraphDebugInfo of a function, the Python stacks that made its nodes, or None."""
    from tensorflow.python import pywrap_tfe
    from tensorflow.python.client import pywrap_tf_session
    from tensorflow.python.eager import context
    from tensorflow.python.framework import c_api_util, errors

    if not _has_context():
        return None
    try:
        with c_api_util.tf_buffer() as buffer:
            pywrap_tfe.TFE_ContextGetGraphDebugInfo(context.context()._handle, name, buffer)
            return bytes(pywrap_tf_session.TF_GetBuffer(buffer))
    except errors.NotFoundError:
        return None


def function_def(name: str) -> Any:
    """Give the FunctionDef of a function the runtime knows, or None."""
    from tensorflow.python.eager import context
    from tensorflow.python.framework import errors

    if not _has_context():
        return None
    try:
        return context.context().get_function_def(name)
    except errors.NotFoundError:
        return None


def dataset_functions() -> list[str]:
    """List the functions that tf.data made of the user's."""
    from tensorflow.python.eager import context

    if not _has_context():
        return []
    names = context.context().list_function_names()
    return sorted(name for name in names if name.startswith("__inference_Dataset_"))


def graph_as_function(graph: Any) -> Any:
    """Give the nodes of a v1 graph as a FunctionDef whose arguments are its variables."""
    from tensorflow.core.framework.function_pb2 import FunctionDef

    function = FunctionDef(node_def=graph.as_graph_def().node)
    for node in function.node_def:
        if node.op in VARIABLE_OPS:
            function.signature.input_arg.add(name=node.name)
    return function


def functions_of_graph(graph: Any) -> dict[str, Any]:
    """Give the FunctionDefs in the library of a v1 graph, by name."""
    return {function.signature.name: function for function in graph.as_graph_def().library.function}


def graph_stacks(graph: Any) -> bytes:
    """Give the GraphDebugInfo of a v1 graph."""
    from tensorflow.python.util import tf_stack

    builder = tf_stack.GraphDebugInfoBuilder()
    for operation in graph.get_operations():
        if operation.traceback is not None:
            builder.AccumulateStackTrace("", operation.name, operation.traceback)
    return bytes(builder.Build().SerializeToString())


VARIABLE_OPS = frozenset(("Variable", "VariableV2", "AutoReloadVariable", "VarHandleOp"))


def graph_variables(graph: Any) -> list[Variable]:
    """List the variables of a v1 graph."""
    trainable = {variable.op.name for variable in graph.get_collection("trainable_variables")}
    found = []
    for operation in graph.get_operations():
        if operation.type in VARIABLE_OPS:
            shape = operation.get_attr("shape")
            dims = tuple(dimension.size for dimension in shape.dim)
            known = not shape.unknown_rank and all(size >= 0 for size in dims)
            found.append(
                Variable(
                    operation.name,
                    dims if known else None,
                    operation.name in trainable,
                    itemsize=int(operation.get_attr("dtype").size),
                    op_type=operation.type,
                )
            )
    return found


def _has_context() -> bool:
    """Tell whether the eager runtime is up; starting it would fix the user's device settings."""
    from tensorflow.python.eager import context

    return context.context()._context_handle is not None


@contextmanager
def allocations_recorded() -> Iterator[bool]:
    """Have CPU allocations traced in the block; gives False where that is not possible."""
    library = _library()
    before = allocator_statistics_on()
    if library is None or before is None:
        yield False
        return
    try:
        library["_ZN3tsl23EnableCPUAllocatorStatsEv"]()
        yield True
    finally:
        if not before:
            library["_ZN3tsl24DisableCPUAllocatorStatsEv"]()


def allocator_statistics_on() -> bool | None:
    """Tell whether the CPU allocator keeps statistics; None where it cannot be asked."""
    library = _library()
    if library is None:
        return None
    try:
        is_on = library["_ZN3tsl24CPUAllocatorStatsEnabledEv"]
    except AttributeError:
        return None
    is_on.restype = ctypes.c_bool
    return bool(is_on())

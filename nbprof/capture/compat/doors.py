"""The private parts of TensorFlow that nbprof uses, and what a report lacks without each.

Any of them may be missing: a release moves it, a platform names it differently, a build leaves it
out. Code that uses a door then does nothing, and the report has the door's sentence instead.
"""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

LIBRARY = "libtensorflow_framework"
"""Place of the doors that are symbols of TensorFlow's shared library."""

TRACE, FULL_TRACE, STEPS = "every trace", "a trace that is not -light", "steps without a trace"
"""What uses a door."""

NO_PROFILER = (
    "this TensorFlow was built without its profiler, as conda-forge builds it, so the cell ran "
    "unprofiled; pip install tensorflow installs one that has it"
)
NO_CALLABLES = (
    "this TensorFlow hides its v1 sessions from nbprof: graphs run by make_callable have no "
    "lines, shapes or params"
)
NO_KEEPING = (
    "this TensorFlow does not let nbprof keep functions: ops of those deleted during the cell "
    "have no shapes or layers, and of their lines only the one that ran them"
)
NO_CALLS = (
    "this TensorFlow does not let nbprof watch calls into it: eager ops lack lines, input shapes, "
    "float_ops and layers, and graph ops the line that ran them"
)
NO_NODES = (
    "this TensorFlow does not show nbprof the nodes of functions: graph ops have the names they "
    "ran under, and many lack layers, params and the line that made them"
)
NO_LINES = (
    "this TensorFlow does not tell nbprof where functions were written: graph ops lack the line "
    "that made them"
)
NO_V1_LINES = (
    "this TensorFlow does not tell nbprof where v1 graphs were written: their ops lack the "
    "line that made them"
)
NO_MEMORY = "memory was not recorded: this TensorFlow does not let nbprof trace the CPU's allocator"
MAYBE_ONEDNN = (
    "this TensorFlow does not say whether it uses oneDNN: if it does, memory figures are lower "
    "bounds"
)
NO_STEPS = "this TensorFlow does not let nbprof see where steps begin, so no steps are shown"


@dataclass(frozen=True, kw_only=True)
class Door:
    """A private part of TensorFlow."""

    place: str
    """A module, or LIBRARY."""
    name: str
    """The attribute of the module, after those that lead to it; or the symbol of the library."""
    without: str = ""
    """What the report says if it is missing; empty if nothing is lost."""
    used_by: str = TRACE
    """TRACE, FULL_TRACE or STEPS."""

    @property
    def attribute(self) -> str:
        """Name of the attribute of `owner()`."""
        return self.name.rpartition(".")[2]

    def owner(self) -> Any:
        """Return the object that has the attribute, or None."""
        try:
            owner: Any = import_module(self.place)
            for part in self.name.split(".")[:-1]:
                owner = getattr(owner, part)
        except (ImportError, AttributeError):
            return None
        return owner if hasattr(owner, self.attribute) else None

    def open(self) -> Any:
        """Return what is behind the door, or None if it is missing."""
        if self.place == LIBRARY:
            try:
                return library()[self.name]  # type: ignore[index]
            except (AttributeError, TypeError):
                return None
        owner = self.owner()
        return None if owner is None else getattr(owner, self.attribute)


_PROFILER = "tensorflow.python.profiler"
_FUNCTIONS = "tensorflow.python.eager.polymorphic_function"
_CONTEXT = "tensorflow.python.eager.context"
_EAGER = {"place": "tensorflow.python.pywrap_tfe", "without": NO_CALLS}

PROFILER_SESSION = Door(
    place=f"{_PROFILER}.internal._pywrap_profiler", name="ProfilerSession", without=NO_PROFILER
)
RUNNING_PROFILER = Door(place=f"{_PROFILER}.profiler_v2", name="_profiler")
"""Only names the profiler that is running; starting a second one fails anyway."""

V1_SESSION = "tensorflow.python.client.session"
V1_BUFFER = Door(place=V1_SESSION, name="tf_session.TF_NewBufferFromString", without=NO_CALLABLES)
V1_EXTEND = Door(place=V1_SESSION, name="tf_session.ExtendSession", without=NO_CALLABLES)
V1_RESULTS = Door(place=V1_SESSION, name="_FetchHandler.build_results")
"""Called when a session has run; without it, steps of v1 sessions have no length outside traces."""

FUNCTION_INIT = Door(
    place=f"{_FUNCTIONS}.atomic_function", name="AtomicFunction.__init__", without=NO_KEEPING
)
CONTEXT = Door(place=_CONTEXT, name="context", without=NO_NODES)
CONTEXT_HANDLE = Door(place=_CONTEXT, name="Context._handle", without=NO_NODES)
FUNCTION_DEF = Door(place=_CONTEXT, name="Context.get_function_def", without=NO_NODES)
FUNCTION_NAMES = Door(place=_CONTEXT, name="Context.list_function_names", without=NO_NODES)
FUNCTION_STACKS = Door(place=_CONTEXT, name="Context.get_graph_debug_info", without=NO_LINES)
GRAPH_STACKS = Door(
    place="tensorflow.python.util.tf_stack", name="GraphDebugInfoBuilder", without=NO_V1_LINES
)

FAST_EXECUTE = Door(**_EAGER, name="TFE_Py_FastPathExecute", used_by=FULL_TRACE)
EXECUTE = Door(**_EAGER, name="TFE_Py_Execute", used_by=FULL_TRACE)
EXECUTE_CANCELABLE = Door(**_EAGER, name="TFE_Py_ExecuteCancelable", used_by=FULL_TRACE)
MAKE_CONSTANT = Door(
    place="tensorflow.python.framework.constant_op",
    name="convert_to_eager_tensor",
    without=NO_CALLS,
    used_by=FULL_TRACE,
)
EAGER_SHAPE, EAGER_ELEMENTS, EAGER_TYPE = (
    Door(
        place="tensorflow.python.framework.ops",
        name=f"EagerTensor.{method}",
        without=NO_CALLS,
        used_by=FULL_TRACE,
    )
    for method in ("_shape_tuple", "_num_elements", "_datatype_enum")
)

ALLOCATOR_IS_WATCHED, WATCH_ALLOCATOR, UNWATCH_ALLOCATOR = (
    Door(place=LIBRARY, name=symbol, without=NO_MEMORY, used_by=FULL_TRACE)
    for symbol in (
        "_ZN3tsl24CPUAllocatorStatsEnabledEv",
        "_ZN3tsl23EnableCPUAllocatorStatsEv",
        "_ZN3tsl24DisableCPUAllocatorStatsEv",
    )
)
IS_ONEDNN = Door(
    place="tensorflow.python.util._pywrap_util_port",
    name="IsMklEnabled",
    without=MAYBE_ONEDNN,
    used_by=FULL_TRACE,
)

STEP = Door(place=f"{_PROFILER}.trace", name="Trace", without=NO_STEPS, used_by=STEPS)
STEP_OF_FUNCTION = Door(
    place=f"{_FUNCTIONS}.polymorphic_function",
    name="Function",
    without=NO_STEPS,
    used_by=STEPS,
)


def missing(*users: str) -> list[str]:
    """Return what to say about the missing doors of these users, each sentence once."""
    doors = [thing for thing in globals().values() if isinstance(thing, Door)]
    used = (door for door in doors if door.used_by in users and door.without)
    return list(dict.fromkeys(door.without for door in used if door.open() is None))


@contextmanager
def replaced(door: Door, make: Callable[[Any], Any]) -> Iterator[None]:
    """Put `make(what is there)` behind a door during the block, unless the door is missing."""
    owner, before = door.owner(), door.open()
    if owner is None:
        yield
        return
    try:
        setattr(owner, door.attribute, make(before))
        yield
    finally:
        setattr(owner, door.attribute, before)


@cache
def library() -> ctypes.CDLL | None:
    """Return TensorFlow's shared library, or None."""
    import tensorflow as tf

    found = sorted(Path(tf.__file__).parent.glob(f"{LIBRARY}*"))
    try:
        return ctypes.CDLL(str(found[0])) if found else None
    except OSError:
        return None

"""Capture: what was recorded of one stretch of code, before anybody has read it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nbprof.arrays import Ints

CALLING_THREAD = "nbprof: the cell begins"
"""The name of the event that marks the thread of the cell in the trace."""

ONLY_LARGE = (
    "memory is at least what is shown: with oneDNN, TensorFlow records allocations of 256 KiB and "
    "more only; {} records all with TF_ENABLE_ONEDNN_OPTS=0 set before TensorFlow is imported"
)

Frame = tuple[str, int, str]
"""File, line, function."""
Stack = tuple[Frame, ...]
"""Frames, the outermost first."""


@dataclass(frozen=True, eq=False)
class DispatchLog:
    """The calls from Python into TensorFlow, one entry each; times by `time.time_ns`."""

    sites: tuple[Stack, ...]
    """The distinct places calls came from."""
    start_ns: Ints
    end_ns: Ints
    thread: Ints
    site: Ints
    """Which of `sites` called."""
    shapes: tuple[tuple[Any, ...], ...]
    """The distinct shapes of tensors: a tuple of numbers for each, None for what is no tensor."""
    shape: Ints
    """Which of `shapes` the inputs had."""
    output_shape: Ints
    """Which of them what the call gave had; only the first tensor of several counts."""
    output_bytes: Ints
    """How large the tensors are that the call gave."""
    inside: tuple[tuple[tuple[int, ...], str], ...] = ()
    """For each of `sites`, the layers of the `Model` it was called in, the outermost first, and
    which other part of Keras or TensorFlow called, if it is one of those named below."""


def no_dispatches() -> DispatchLog:
    """Make the log of code that was not watched."""
    none = np.zeros(0, dtype=np.int64)
    return DispatchLog((), none, none, none, none, (), none, none, none)


@dataclass(frozen=True, eq=False)
class SessionLog:
    """The runs of v1 sessions, in order; times by `time.time_ns`."""

    start_ns: Ints
    graph: Ints
    """Which of the graphs seen was run; `session_group` has its name."""


def no_sessions() -> SessionLog:
    """Make the log of code without sessions."""
    none = np.zeros(0, dtype=np.int64)
    return SessionLog(none, none)


def session_group(graph: int) -> str:
    """Name a graph that sessions run, as if it were a function."""
    return f"session_{graph}" if graph else "session"


OPTIMIZER, METRICS, LOSS, BACKWARD = "optimizer", "metrics", "loss", "backward"
"""Parts of the work that are no layers; optimizers and metrics have variables, too."""
STATE = "state"
"""The role of the variables of random generators; parameters have none."""


@dataclass(frozen=True)
class Variable:
    """A variable that the recorded code held."""

    name: str
    dims: tuple[int, ...] | None
    """None where they are not known."""
    trainable: bool
    role: str = ""
    itemsize: int = 0
    """Bytes of an element."""
    op_type: str = "VarHandleOp"


@dataclass(frozen=True)
class Layer:
    """A Keras layer: its sublayers and variables as numbers of those of a Model."""

    name: str
    kind: str
    """The name of its class."""
    sublayers: tuple[int, ...]
    weights: tuple[int, ...]
    states: tuple[int, ...] = ()
    """What its random generators remember: variables, but no parameters."""


@dataclass(frozen=True, eq=False)
class Model:
    """The variables and layers that the recorded code used."""

    variables: tuple[Variable, ...] = ()
    """Also those of layers that were not used."""
    layers: tuple[Layer, ...] = ()
    """All that are alive."""
    used: tuple[int, ...] = ()
    """The variables that were used, whether by functions, graphs or eager code."""
    arguments: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """`{function: {argument: variable}}`."""
    signatures: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """`{function: {parameter: the type it was traced for}}`, also of other traces of the same."""


def _no_model(_functions: Collection[str]) -> Model:
    return Model()


def _no_function(_name: str) -> None:
    return None


@dataclass(frozen=True, eq=False)
class Capture:
    """The raw result of recording; `ingest.read` turns it into a Profile."""

    trace: bytes | None
    """An XSpace as TensorFlow wrote it; None when nothing could be recorded."""
    what: str
    """What was recorded, such as `In [3]`."""
    how: str
    start_ns: int
    """When the code started, by the clock of `time.time_ns`."""
    wall_ns: int
    cost_ns: int
    """Time spent on starting and stopping the recording."""
    function_def: Callable[[str], Any] = _no_function
    """Gives the FunctionDef of a function by its name, or None."""
    captured_functions: Callable[[], Sequence[str]] = tuple
    """Lists the functions that input pipelines may run, by their names."""
    notes: tuple[str, ...] = ()
    has_memory: bool = False
    """Whether allocations were recorded."""
    only_large: bool = False
    """Whether of the CPU's allocations only those of 256 KiB and more were."""
    function_stacks: Callable[[str], Any] = _no_function
    """Gives the GraphDebugInfo of a function by its name, or None."""
    dispatches: DispatchLog = field(default_factory=no_dispatches)
    cells: Mapping[str, str] = field(default_factory=dict)
    """What the notebook calls the files of its cells: `In [3]`."""
    traced_ns: int = 0
    """How much of `wall_ns` was traced, from the start."""
    sessions: SessionLog = field(default_factory=no_sessions)
    model: Callable[[Collection[str]], Model] = _no_model
    """Gives the variables and layers behind functions and graphs, by their names."""

"""Capture: the raw recording of one stretch of code, before anything is read from it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nbprof.arrays import Ints

CALLING_THREAD = "nbprof: the cell begins"
"""Name of the events that mark the cell's thread in the trace."""

Frame = tuple[str, int, str]
"""File, line number, function name."""
Stack = tuple[Frame, ...]
"""Frames, outermost first."""


@dataclass(frozen=True, eq=False)
class DispatchLog:
    """Calls from Python into TensorFlow, one entry each; times as `time.time_ns` reports them."""

    sites: tuple[Stack, ...]
    """The distinct call sites."""
    start_ns: Ints
    end_ns: Ints
    thread: Ints
    site: Ints
    """Index into `sites`."""
    shapes: tuple[tuple[Any, ...], ...]
    """The distinct lists of shapes: a tuple of dimensions per tensor, None for a non-tensor."""
    shape: Ints
    """Index into `shapes` for the inputs."""
    output_shape: Ints
    """Index into `shapes` for the first tensor the call returned."""
    output_bytes: Ints
    """Total size in bytes of the tensors the call returned."""
    inside: tuple[tuple[tuple[int, ...], str], ...] = ()
    """For each of `sites`: the enclosing layers of the `Model`, outermost first, and the part of
    Keras or TensorFlow that made the call: `OPTIMIZER` and the like, or empty."""


def no_dispatches() -> DispatchLog:
    """Return the empty log of code that was not watched."""
    none = np.zeros(0, dtype=np.int64)
    return DispatchLog((), none, none, none, none, (), none, none, none)


@dataclass(frozen=True, eq=False)
class SessionLog:
    """Runs of v1 sessions in order; times as `time.time_ns` reports them."""

    start_ns: Ints
    graph: Ints
    """Number of the graph that ran; `session_group` returns its name."""


def no_sessions() -> SessionLog:
    """Return the empty log of code that used no sessions."""
    none = np.zeros(0, dtype=np.int64)
    return SessionLog(none, none)


def session_group(graph: int) -> str:
    """Return the name under which a session's graph is listed, as if it were a function."""
    return f"session_{graph}" if graph else "session"


OPTIMIZER, METRICS, LOSS, BACKWARD = "optimizer", "metrics", "loss", "backward"
"""Parts of the work outside layers; optimizers and metrics also own variables."""
STATE = "state"
"""Role of the variables of random generators and counters; parameters have an empty role."""


@dataclass(frozen=True)
class Variable:
    """A variable of the recorded code."""

    name: str
    dims: tuple[int, ...] | None
    """None if the shape is unknown."""
    trainable: bool
    role: str = ""
    itemsize: int = 0
    """Size of one element in bytes."""
    op_type: str = "VarHandleOp"


@dataclass(frozen=True)
class Layer:
    """A Keras layer; sublayers and variables are indices into those of the Model."""

    name: str
    kind: str
    """Class name."""
    sublayers: tuple[int, ...]
    weights: tuple[int, ...]
    states: tuple[int, ...] = ()
    """Variables in which it counts and draws, which are not parameters."""
    problem: str = ""
    """Why its variables and sublayers could not be read, empty if they could."""


@dataclass(frozen=True, eq=False)
class Model:
    """The variables and layers that the recorded code used."""

    variables: tuple[Variable, ...] = ()
    """All variables, including those of unused layers."""
    layers: tuple[Layer, ...] = ()
    """All live layers."""
    used: tuple[int, ...] = ()
    """Indices of the variables that functions, graphs or eager code used."""
    arguments: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """`{function: {argument: variable}}`."""
    signatures: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """`{function: {parameter: type it was traced for}}`, including earlier traces."""


@dataclass(frozen=True)
class Elsewhere:
    """What the recorded code may have run where TensorFlow's profiler does not see it."""

    in_part: str = ""
    """Note for code that ran TensorFlow's ops, too; empty if nothing ran elsewhere."""
    all_of_it: str = ""
    """Possible reason why TensorFlow ran no op; empty if none is known."""


def _no_model(_functions: Collection[str]) -> Model:
    return Model()


def _no_function(_name: str) -> None:
    return None


@dataclass(frozen=True, eq=False, kw_only=True)
class Capture:
    """The raw result of a recording; `ingest.read` turns it into a Profile."""

    trace: bytes | None
    """The XSpace as TensorFlow wrote it; None if nothing could be recorded."""
    what: str
    """Name of the recorded code, such as `In [3]`."""
    how: str
    """How it was recorded, for the report's headline."""
    start_ns: int
    """When the code started, as `time.time_ns` reports it."""
    wall_ns: int
    """How long the code ran, in ns."""
    cost_ns: int
    """Time spent starting and stopping the recording, in ns."""
    function_def: Callable[[str], Any] = _no_function
    """Returns the FunctionDef of a function by name, or None."""
    captured_functions: Callable[[], Sequence[str]] = tuple
    """Returns the names of the functions that input pipelines may run."""
    known_functions: Callable[[], Sequence[str]] = tuple
    """Returns the names of all functions."""
    notes: Sequence[str] = ()
    """What is missing and why; grows while functions and objects are looked up."""
    has_memory: bool = False
    """Whether allocations were recorded."""
    only_large: bool = False
    """Whether CPU allocations below 256 KiB are missing."""
    function_stacks: Callable[[str], Any] = _no_function
    """Returns the GraphDebugInfo of a function by name, or None."""
    dispatches: DispatchLog = field(default_factory=no_dispatches)
    cells: Mapping[str, str] = field(default_factory=dict)
    """`{file of a cell: its name in the notebook}`, such as `In [3]`."""
    traced_ns: int = 0
    """How much of `wall_ns` was traced, from the start, in ns."""
    sessions: SessionLog = field(default_factory=no_sessions)
    marks: tuple[tuple[int, int], ...] = ()
    """What `time.time_ns` read just before and after each mark on the cell's thread."""
    keeps_threads: bool = True
    """Whether the trace has all events of threads that ended."""
    model: Callable[[Collection[str]], Model] = _no_model
    """Returns the variables and layers behind functions and graphs, given their names."""
    elsewhere: Elsewhere = Elsewhere()

"""Capture: the raw recording of one stretch of code, before anything is read from it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

from nbprof.arrays import Floats, Ints, Mask
from nbprof.capture.python.mark_log import MarkLog, no_marks

CALLING_THREAD = "nbprof: the cell begins"
"""Name of the events that mark the cell's thread in the trace."""
OTHER_THREAD = "nbprof: a window begins"
"""Name of the marks in a trace that another thread began."""

HELD_PER_BYTE = 8
"""Roughly how many bytes TensorFlow holds for each byte of events before it writes them."""

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
    given: tuple[tuple[tuple[str, Any], ...], ...] = ()
    """The distinct attributes: pairs of a name and a value, as far as float_ops need them."""
    attributes: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Index into `given`, or empty if no attributes were recorded."""
    inside: tuple[tuple[tuple[int, ...], str], ...] = ()
    """For each of `sites`: the enclosing layers of the `Model`, outermost first, and the part of
    Keras or TensorFlow that made the call: `OPTIMIZER` and the like, or empty."""
    forward: tuple[int, ...] = ()
    """For each of `sites`: the site of the eager op whose gradient the calls compute, or -1."""
    ops: tuple[str | bytes, ...] = ()
    """The distinct names of ops and functions."""
    op: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Index into `ops`, or empty if the names were not recorded."""
    recorded_ns: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """When recording the call ended, which took the time since its end."""
    paths: tuple[Stack, ...] = ()
    """For each of `sites`: its frames, each followed by the installed function that it calls."""
    threads: Mapping[int, str] = field(default_factory=dict)
    """The names of threads, as far as Python knows them."""


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
    site: Ints
    """Where the run was asked for: index into `sites` of the DispatchLog, -1 if not watched."""


def no_sessions() -> SessionLog:
    """Return the empty log of code that used no sessions."""
    none = np.zeros(0, dtype=np.int64)
    return SessionLog(none, none, none)


def session_group(graph: int) -> str:
    """Return the name under which a session's graph is listed, as if it were a function."""
    return f"session_{graph}" if graph else "session"


@dataclass(frozen=True, eq=False)
class SampleLog:
    """Samples of Python stacks in order, each standing for the time since the one before.

    Times are as `time.time_ns` reports them.
    """

    stacks: tuple[Stack, ...]
    """The distinct stacks."""
    time_ns: Ints
    thread: Ints
    """0 for the cell's thread; others are sampled at the same moments, if at all."""
    stack: Ints
    """Index into `stacks`."""
    waited: Mask
    """Whether the thread did nothing but wait for another one since the sample before."""
    held_ns: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """How long before each sample a C function held the interpreter; empty if that is unknown."""
    names: tuple[str, ...] = ("",)
    """The names of the threads; the cell's has none."""


def no_samples() -> SampleLog:
    """Return the empty log of code whose stacks were not sampled."""
    none = np.zeros(0, dtype=np.int64)
    return SampleLog((), none, none, none, none.astype(bool))


@dataclass(frozen=True, eq=False, kw_only=True)
class TraceWindow:
    """A stretch of the recorded code in which TensorFlow's profiler ran."""

    trace: bytes
    """The XSpace as TensorFlow wrote it."""
    event_bytes: int = 0
    """The size of its events: `trace` also has the programs that XLA compiled."""
    began_ns: int = 0
    """When it began, on the clock of the Capture; `ended_ns` likewise."""
    ended_ns: int = 0
    paused_ns: int = 0
    """How long the code had been paused before; the clock of `trace` is ahead by that time."""
    marks: tuple[tuple[int, int], ...] = ()
    """What `time.time_ns` read just before and after each mark that was left in `trace`."""


@dataclass(frozen=True, eq=False, kw_only=True)
class StepLog:
    """Every step of the recorded code in order of their start, traced or not."""

    start_ns: Ints
    end_ns: Ints
    """NO_END where the end of a step could not be seen."""
    thread: Ints
    """What `threading.get_ident` returned."""
    name: Ints
    """Index into `names`."""
    names: tuple[str, ...]
    """The distinct names."""
    built: Mask
    """Whether the step traced a function."""


NO_END = -1
"""In place of the time when a step ended: it could not be seen, or the step never ended."""


def no_steps() -> StepLog:
    """Return the empty log of code without steps."""
    none = np.zeros(0, dtype=np.int64)
    return StepLog(
        start_ns=none, end_ns=none, thread=none, name=none, names=(), built=none.astype(bool)
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class Pauses:
    """When the recorded code had to wait for the recorder, as `time.time_ns` reports it."""

    start_ns: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    end_ns: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def total_ns(self) -> int:
        """How long the code was paused altogether."""
        return int((self.end_ns - self.start_ns).sum())

    def cut(self, time_ns: Ints) -> Ints:
        """Put times on the clock of the Capture: moments within a pause become its start."""
        cut = time_ns.copy()
        for start, end in zip(self.start_ns.tolist(), self.end_ns.tolist(), strict=True):
            cut -= np.clip(time_ns - start, 0, end - start)
        return cut


class WhyBare(Enum):
    """Why part of the recorded code ran without a trace."""

    BUDGET = "the trace had used up its budget"
    STEPS = "only some steps were asked for"
    LIMIT = "the limit in seconds had passed"
    OTHER = "for a reason that a note tells, if any"


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
    """The raw result of a recording; `ingest.read` turns it into a Profile.

    Its clock is that of `time.time_ns`, without the pauses: as if the code had never stopped.
    """

    windows: tuple[TraceWindow, ...] = ()
    """What was traced, in order of time; outside of them the code ran bare."""
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
    watched_ns: int = 0
    """How much of `wall_ns` went into watching calls into TensorFlow, in ns."""
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
    """How much of `wall_ns` was traced, in ns."""
    why_bare: WhyBare = WhyBare.OTHER
    """Why the rest was not."""
    steps: StepLog = field(default_factory=no_steps)
    thread: int = 0
    """The cell's thread, as `threading.get_ident` returned it."""
    pauses: Pauses = field(default_factory=Pauses)
    """Already cut out of all times; what else was recorded then is to be left out."""
    sessions: SessionLog = field(default_factory=no_sessions)
    samples: SampleLog = field(default_factory=no_samples)
    marks: MarkLog = field(default_factory=no_marks)
    watched: tuple[str, ...] = ("ops",)
    """What was recorded, in the words of `ViewKind.needs`; "threads": samples of others, too."""
    refused: str = ""
    """Why Python could not be watched as asked for, in a sentence; empty if it was."""
    recorded: Mapping[str, Any] = field(default_factory=dict)
    """What watching Python recorded besides samples, by `ViewKind.needs`: a CallLog for `calls`."""
    keeps_threads: bool = True
    """Whether the trace has all events of threads that ended."""
    model: Callable[[Collection[str]], Model] = _no_model
    """Returns the variables and layers behind functions and graphs, given their names."""
    elsewhere: Elsewhere = Elsewhere()

    @property
    def trace(self) -> bytes:
        """The traces of all windows, one after the other: as protobuf sees it, one XSpace."""
        return b"".join(window.trace for window in self.windows)

    def traced(self, start_ns: Ints, end_ns: Ints) -> Mask:
        """Mark the stretches of time that lie within a window."""
        inside = np.zeros(len(start_ns), dtype=bool)
        for window in self.windows:
            inside |= (start_ns >= window.began_ns) & (end_ns <= window.ended_ns)
        return inside

    def held_by_tracing(self, time_ns: Ints) -> Floats:
        """Estimate how many bytes the trace took at each moment, on the clock of the Capture.

        TensorFlow holds the events of an open window; afterwards their bytes are held.
        """
        held = np.zeros(len(time_ns))
        for window in self.windows:
            length = max(window.ended_ns - window.began_ns, 1)
            share = np.clip((time_ns - window.began_ns) / length, 0, 1)
            growing = HELD_PER_BYTE * window.event_bytes * share
            held += np.where(time_ns > window.ended_ns, len(window.trace), growing)
        return held

"""Capture: what was recorded of one stretch of code, before anybody has read it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

CALLING_THREAD = "nbprof: the cell begins"
"""The name of the event that marks the thread of the cell in the trace."""

Frame = tuple[str, int, str]
"""File, line, function."""
Stack = tuple[Frame, ...]
"""Frames, the outermost first."""

Ints = npt.NDArray[np.int64]


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
    """The distinct shapes of inputs: a tuple of numbers for each, None for what is no tensor."""
    shape: Ints
    """Which of `shapes` the inputs had."""


def no_dispatches() -> DispatchLog:
    """Make the log of code that was not watched."""
    none = np.zeros(0, dtype=np.int64)
    return DispatchLog((), none, none, none, none, (), none)


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
    notes: tuple[str, ...] = ()
    has_memory: bool = False
    """Whether allocations were recorded."""
    function_stacks: Callable[[str], bytes | None] = _no_function
    """Gives the GraphDebugInfo of a function by its name, or None."""
    dispatches: DispatchLog = field(default_factory=no_dispatches)
    cells: Mapping[str, str] = field(default_factory=dict)
    """What the notebook calls the files of its cells: `In [3]`."""
    traced_ns: int = 0
    """How much of `wall_ns` was traced, from the start."""

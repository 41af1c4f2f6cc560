"""Capture: what was recorded of one stretch of code, before anybody has read it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


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

"""What was allocated in Python while code was recorded, by the lines that allocated it."""

import tracemalloc
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from nbprof.arrays import Floats

Line = tuple[str, int]
"""A file and the number of a line in it."""
Traceback = tuple[Line, ...]
"""The lines that led to an allocation, innermost first, as tracemalloc has them."""

PACKAGE = str(Path(__file__).parents[2])
"""The folder of nbprof's own files."""


@dataclass(frozen=True, eq=False, kw_only=True)
class AllocationLog:
    """Blocks of Python's memory by where they were allocated, one entry per traceback."""

    tracebacks: tuple[Traceback, ...] = ()
    """The distinct tracebacks."""
    frames: int = 0
    """How many frames of a traceback were kept at most."""
    left_bytes: Floats = field(default_factory=lambda: np.zeros(0))
    """What the code left behind, in bytes; NaN if that is not known."""
    left_count: Floats = field(default_factory=lambda: np.zeros(0))
    """In how many blocks."""
    peak_bytes: Floats = field(default_factory=lambda: np.zeros(0))
    """What was there when the code held the most; NaN if that is not known."""
    before_bytes: Floats = field(default_factory=lambda: np.zeros(0))
    """What was there before; NaN if that is not known."""
    notes: tuple[str, ...] = ()
    """What is not known, and what tracing cost."""


@cache
def is_profilings(file: str) -> bool:
    """Return whether a file belongs to nbprof or to what it measures with."""
    return file.startswith(PACKAGE) or file == tracemalloc.__file__

"""Find the line of the user's that each allocation belongs to.

That is the innermost of the user's lines in its traceback; the lines of packages that it ran are
below it. What nbprof allocates by itself is left out.
"""

import ast
import linecache
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from nbprof.capture.python.allocation_log import (
    PACKAGE,
    AllocationLog,
    Line,
    Traceback,
    is_profilings,
)
from nbprof.ingest.trace.attribution.notebook_source import typed_line
from nbprof.user_files import is_users

SITES = {
    **{"file": object, "line": np.int64, "function": object, "source": object},
    **{"framework": bool, "inner": object},
}
"""Columns of the table of sites that say where it is."""
SIZES = ("left_bytes", "left_count", "peak_bytes", "before_bytes")
"""Its columns of numbers, which the log has, too."""

UNKNOWN = "<unknown>"
"""The file that tracemalloc names for allocations without a line of Python."""
OWN, WATCHER, LIBRARY, GENERATED, USERS = range(5)
"""Kinds of files: nbprof's own; those of nbprof's that run the cell's calls; installed ones; no
files, such as the methods of dataclasses; the user's."""

Place = tuple[Line, Traceback]
"""A line, and the lines of packages that it ran, outermost first."""


def site_table(log: AllocationLog, cells: Mapping[str, str]) -> pd.DataFrame:
    """List the sites; `cells` maps the files of cells to their names."""
    finder = _Finder(cells, log.frames)
    number: dict[Place, int] = {}
    found = [finder.place(traceback) for traceback in log.tracebacks]
    kept = np.array([place is not None for place in found], dtype=bool)
    numbers = [number.setdefault(place, len(number)) for place in found if place is not None]
    rows = np.array(numbers, dtype=np.intp)
    places = pd.DataFrame([*map(finder.described, number)], columns=[*SITES]).astype(SITES)
    sums = {
        name: np.bincount(rows, weights=getattr(log, name)[kept], minlength=len(number))
        for name in SIZES
    }
    return places.assign(**{name: values.astype(np.float64) for name, values in sums.items()})


@dataclass(frozen=True, eq=False)
class _Finder:
    cells: Mapping[str, str]
    frames: int
    """How many lines a traceback has at most."""

    def place(self, traceback: Traceback) -> Place | None:
        """Return the user's line and the lines below it; None for what nbprof allocated.

        Without a line of the user's, it is the innermost line.
        """
        kinds = [self._kind(file) for file, _ in traceback]
        if kinds[0] in (OWN, WATCHER):
            return None
        users = next((row for row, kind in enumerate(kinds) if kind in (OWN, USERS)), None)
        if users is None:
            if WATCHER in kinds and len(traceback) < self.frames:
                return None  # a thread of nbprof's
            users = kinds.index(GENERATED) if GENERATED in kinds else 0
            users = users if traceback[users][0] != UNKNOWN else 0
        if kinds[users] == OWN:
            return None
        inner = (line for row, line in enumerate(traceback[:users]) if kinds[row] == LIBRARY)
        return traceback[users], tuple(inner)[::-1]

    def described(self, place: Place) -> tuple[object, ...]:
        """Return a place as a row of the table."""
        (file, line), inner = place
        name = self.cells.get(file, file)
        installed = self._kind(file) == LIBRARY or file == UNKNOWN
        function = "" if installed else _function_at(file, line)
        source = "" if installed else typed_line(linecache.getline(file, line).strip())
        texts = tuple(f"{shown}:{number}" for shown, number in inner)
        readable = name.encode("utf-8", "replace").decode()
        return readable, line, function, source, installed, texts

    def _kind(self, file: str) -> int:
        return USERS if file in self.cells else _kind_of(file)


@cache
def _kind_of(file: str) -> int:
    if is_profilings(file):
        inside = file.removeprefix(PACKAGE).replace("\\", "/")
        return WATCHER if inside.startswith("/capture/") else OWN
    if not is_users(file):
        return LIBRARY
    return GENERATED if file.startswith("<") else USERS


def _function_at(file: str, line: int) -> str:
    """Return the name of the innermost function around a line, as a traceback has it."""
    functions = _functions(file, tuple(linecache.getlines(file)))
    around = [(begin, name) for begin, end, name in functions if begin <= line <= end]
    return max(around)[1] if around else "<module>"


@cache
def _functions(_file: str, lines: tuple[str, ...]) -> list[tuple[int, int, str]]:
    """List the functions of a file with their first and last lines; none if it is no Python."""
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError, RecursionError):
        return []
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    nodes = (node for node in ast.walk(tree) if isinstance(node, kinds))
    return [(node.lineno, node.end_lineno or node.lineno, node.name) for node in nodes]

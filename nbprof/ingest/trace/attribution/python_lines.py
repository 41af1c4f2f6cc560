"""Map op runs to lines of Python.

A graph node was made where its function was traced, and the function's debug information has that
stack. An eager op ran inside a watched call, whose call site is known. JAX's profiler puts the
stacks of HLO ops into the trace. The text of the lines is looked up right after the cell, before
files change.
"""

import linecache
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from nbprof.arrays import NONE, Rows
from nbprof.capture.capture import Frame, Stack
from nbprof.ingest.trace.program.python_stacks import below_runners, in_cells, is_framework

if TYPE_CHECKING:
    from nbprof.ingest.trace.attribution.watched_calls import WatchedCalls
    from nbprof.ingest.trace.stages import Program
    from nbprof.ingest.trace.work.op_runs import Runs

FRAMES = {
    **{"stack": np.int64, "file": object, "line": np.int64},
    **{"function": object, "source": object, "framework": bool},
}
"""Columns of the table of frames."""
CELLS = {"file": object, "line": np.int64, "text": object}
"""Columns of the table of cells."""

MAGIC_AS_COMMENT = re.compile(r"^# (?=%%(tfprof|memit|mprun|memobj)\b)")
"""Matches the prefix that turns a magic's line into a comment for compilation."""


@dataclass(frozen=True, eq=False)
class Sources:
    """The Python stack of each run."""

    stack: Rows
    """Number of the stack: those in `stacks` come first, then `module_stacks`; NONE if unknown."""
    stacks: list[Stack]
    """Stacks of this process, whose source lines can be looked up."""
    module_stacks: list[Stack]
    """Stacks that the trace states; their files may be from another time or machine."""


def find_sources(
    runs: "Runs", program: "Program", calls: "WatchedCalls", cells: Mapping[str, str]
) -> Sources:
    """Find the Python stack of each run; `cells` maps the files of cells to their names."""
    numbers = _StackNumbers()
    found = [program.graph_stacks.of(place.function, place.origin) for place in program.nodes]
    number = {stack: numbers.of(in_cells(stack.of_user, cells)) for stack in dict.fromkeys(found)}
    of_run = np.array([number[stack] for stack in found], dtype=np.intp)[runs.node]
    sites = [numbers.of(in_cells(below_runners(site), cells)) for site in calls.log.sites]
    eager = np.full(len(runs.node), NONE, dtype=np.intp)
    eager[calls.run] = np.array([*sites, NONE], dtype=np.intp)[calls.log.site[calls.call]]
    of_run = np.where(of_run != NONE, of_run, eager)

    module_stacks = list(dict.fromkeys(filter(None, program.module_stacks)))
    if module_stacks:
        first = len(numbers.stacks)
        module_number = {stack: first + row for row, stack in enumerate(module_stacks)}
        of_node = np.array(
            [module_number.get(stack, NONE) for stack in program.module_stacks], np.intp
        )
        of_run = np.where(of_run == NONE, of_node[runs.node], of_run)
    return Sources(of_run, numbers.stacks, module_stacks)


class _StackNumbers:
    """Numbers the distinct stacks; one without a frame of the user's counts as unknown."""

    def __init__(self) -> None:
        self.stacks: list[Stack] = []
        self._place: dict[Stack, int] = {}

    def of(self, stack: Stack) -> int:
        """Return the number of a stack, or NONE."""
        if all(is_framework(file) for file, _, _ in stack):
            return NONE
        place = self._place.setdefault(stack, len(self.stacks))
        if place == len(self.stacks):
            self.stacks.append(stack)
        return place


def line_texts(stacks: list[Stack], cells: Mapping[str, str]) -> dict[Frame, str]:
    """Look up the lines of all frames outside frameworks; a missing line is an empty text."""
    files = {name: file for file, name in cells.items()}
    return {
        (file, line, function): linecache.getline(files.get(file, file), line).strip()
        for file, line, function in set[Frame]().union(*stacks)
        if not is_framework(file)
    }


def cell_texts(stacks: Iterable[Stack], cells: Mapping[str, str]) -> dict[str, list[str]]:
    """Look up all lines of the cells that occur in a stack."""
    used = {file for file, _, _ in set[Frame]().union(*stacks)}
    return {name: linecache.getlines(file) for file, name in cells.items() if name in used}


def frame_table(
    stacks: list[Stack], module_stacks: list[Stack], texts: Mapping[Frame, str]
) -> pd.DataFrame:
    """List the frames of all stacks; only those of `stacks` have source lines."""
    rows = []
    for number, stack in enumerate((*stacks, *module_stacks)):
        known = texts if number < len(stacks) else {}
        for file, line, function in stack:
            text = known.get((file, line, function), "")
            rows.append((number, file, line, function, text, is_framework(file)))
    columns = zip(FRAMES.items(), zip(*rows, strict=True) if rows else ((),) * 6, strict=True)
    return pd.DataFrame({name: np.array(values, dtype) for (name, dtype), values in columns})


def cell_table(texts: Mapping[str, list[str]]) -> pd.DataFrame:
    """List the lines of cells; the line of a magic is shown as it was typed."""
    rows = [
        (name, number, (MAGIC_AS_COMMENT.sub("", text) if number == 1 else text).rstrip("\n"))
        for name, lines in texts.items()
        for number, text in enumerate(lines, start=1)
    ]
    columns = zip(CELLS.items(), zip(*rows, strict=True) if rows else ((),) * 3, strict=True)
    return pd.DataFrame({name: np.array(values, dtype) for (name, dtype), values in columns})

"""Map op runs to lines of Python.

An op ran inside or for a watched call, whose call site is known: that of the eager op itself, or of
the function or session. A graph node was made where its function was traced, and the function's
debug information has that stack. JAX's profiler puts the stacks of HLO ops into the trace. The text
of the lines is looked up right after the cell, before files change.
"""

import linecache
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from nbprof.arrays import NONE, Rows, distinct_pairs
from nbprof.capture.capture import Frame, Stack
from nbprof.ingest.trace.attribution.notebook_source import typed_line, typed_lines
from nbprof.ingest.trace.attribution.traced_frames import TracedFrames
from nbprof.ingest.trace.program.python_stacks import below_runners, in_cells
from nbprof.user_files import is_users

if TYPE_CHECKING:
    from nbprof.ingest.trace.attribution.watched_calls import WatchedCalls
    from nbprof.ingest.trace.stages import Program
    from nbprof.ingest.trace.work.op_runs import Runs

FRAMES = {
    **{"stack": np.int64, "file": object, "line": np.int64},
    **{"function": object, "source": object, "framework": bool},
}
"""Columns of the table of frames."""
NumberedLines = list[tuple[int, str]]
"""Lines of a file, each after its number."""
AROUND = 40
"""Lines shown before and after a line that ran, so that most functions are shown in full."""
LONGEST_LINE = 400
"""Most characters of a line in a file."""
MOST_LINES = 10_000
"""Most lines of files; a file that does not fit any more is left out."""
CELLS = {"file": object, "line": np.int64, "text": object}
"""Columns of the table of cells."""


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
    """Find the Python stack of each run; `cells` maps the files of cells to their names.

    First come the lines that ran it, then those that made it, as far as both are known.
    """
    numbers = _StackNumbers()
    of_run = _numbers_of_runs(runs, program, calls, numbers, cells)
    module_stacks = list(dict.fromkeys(filter(None, program.module_stacks)))
    if module_stacks:
        first = len(numbers.stacks)
        module_number = {stack: first + row for row, stack in enumerate(module_stacks)}
        of_node = np.array(
            [module_number.get(stack, NONE) for stack in program.module_stacks], np.intp
        )
        of_run = np.where(of_run == NONE, of_node[runs.node], of_run)
    return Sources(of_run, numbers.stacks, module_stacks)


def _numbers_of_runs(
    runs: "Runs",
    program: "Program",
    calls: "WatchedCalls",
    numbers: "_StackNumbers",
    cells: Mapping[str, str],
) -> Rows:
    """Number the stack of each run."""
    running = _StackNumbers()
    sites = [running.of(in_cells(below_runners(site), cells)) for site in calls.log.sites]
    ran = np.array([*sites, NONE], dtype=np.intp)[calls.site_of_dispatch[calls.dispatch]]
    ran = _gradients_where_forward_ran(runs, program, ran)
    frames = TracedFrames(program)
    kinds: dict[Stack, int] = {}
    inside, whole = (
        np.array([kinds.setdefault(of(place), len(kinds)) for place in program.nodes], np.intp)
        for of in (frames.inside, frames.whole)
    )
    made = np.where(ran == NONE, whole[runs.node], inside[runs.node])
    ran_kinds, made_kinds, pair = distinct_pairs(ran + 1, made, len(kinds) + 1)
    stacks = [(), *running.stacks]
    listed = [in_cells(stack, cells) for stack in kinds]
    pairs = zip(ran_kinds.tolist(), made_kinds.tolist(), strict=True)
    number = [numbers.of(_joined(stacks[ran], listed[made])) for ran, made in pairs]
    return np.array(number, dtype=np.intp)[pair]


def _joined(running: Stack, made: Stack) -> Stack:
    """Append the frames that made a node to those that ran it, without those common to both."""
    common = 0
    while common < min(len(running), len(made)) and running[common] == made[common]:
        common += 1
    return running + made[common:]


def _gradients_where_forward_ran(runs: "Runs", program: "Program", ran: Rows) -> Rows:
    """Move the gradients of a function to where Python called it, if that is one place."""
    functions: dict[str, int] = {}
    of_node = [functions.setdefault(node.function, len(functions)) for node in runs.nodes]
    function = np.array(of_node, dtype=np.intp)[runs.node]
    for name, number in functions.items():
        body = program.functions.body(name) if name else None
        forward = functions.get(body.forward, NONE) if body and body.forward else NONE
        places = np.unique(ran[function == forward]) if forward != NONE else np.zeros(0)
        if len(places) == 1 and places[0] != NONE:
            ran = np.where(function == number, places[0], ran)
    return ran


class _StackNumbers:
    """Numbers the distinct stacks; one without a frame of the user's counts as unknown."""

    def __init__(self) -> None:
        self.stacks: list[Stack] = []
        self._place: dict[Stack, int] = {}

    def of(self, stack: Stack) -> int:
        """Return the number of a stack, or NONE."""
        if not any(is_users(file) for file, _, _ in stack):
            return NONE
        place = self._place.setdefault(stack, len(self.stacks))
        if place == len(self.stacks):
            self.stacks.append(stack)
        return place


def line_texts(stacks: list[Stack], cells: Mapping[str, str]) -> dict[Frame, str]:
    """Look up the lines of all frames of the user's; a missing line is an empty text."""
    files = {name: file for file, name in cells.items()}
    return {
        (file, line, function): typed_line(linecache.getline(files.get(file, file), line).strip())
        for file, line, function in set[Frame]().union(*stacks)
        if is_users(file)
    }


def cell_texts(stacks: Iterable[Stack], cells: Mapping[str, str]) -> dict[str, list[str]]:
    """Look up all lines of the cells that occur in a stack."""
    used = {file for file, _, _ in set[Frame]().union(*stacks)}
    return {name: linecache.getlines(file) for file, name in cells.items() if name in used}


def file_texts(stacks: Iterable[Stack], cells: Mapping[str, str]) -> dict[str, NumberedLines]:
    """Look up the user's lines in files and those around them, the files met most often first."""
    names = set(cells.values())
    stacks_with = Counter(frame for stack in stacks for frame in set(stack))
    met: dict[str, Counter[int]] = {}
    for (file, line, _), count in stacks_with.items():
        if file not in names and is_users(file):
            met.setdefault(file, Counter())[line] += count
    texts: dict[str, NumberedLines] = {}
    room = MOST_LINES
    for file in sorted(met, key=lambda file: -met[file].total()):
        found = lines_around(file, met[file])
        room -= len(found)
        if found and room >= 0:
            texts[_readable(file)] = found
    return texts


def lines_around(file: str, numbers: Iterable[int]) -> NumberedLines:
    """Look up lines of a file and those around them; none if the file cannot be read."""
    lines = linecache.getlines(file)
    shown: set[int] = set()
    for number in numbers:
        shown.update(range(max(number - AROUND, 1), min(number + AROUND, len(lines)) + 1))
    return [(number, lines[number - 1].rstrip()[:LONGEST_LINE]) for number in sorted(shown)]


def frame_table(
    stacks: list[Stack],
    module_stacks: list[Stack],
    texts: Mapping[Frame, str],
    sampled: list[Stack],
) -> pd.DataFrame:
    """List the frames of all stacks; those of `module_stacks` have no source lines."""
    rows = []
    for number, stack in enumerate((*stacks, *module_stacks, *sampled)):
        known = {} if 0 <= number - len(stacks) < len(module_stacks) else texts
        for file, line, function in stack:
            text = known.get((file, line, function), "")
            rows.append((number, _readable(file), line, function, text, not is_users(file)))
    columns = zip(FRAMES.items(), zip(*rows, strict=True) if rows else ((),) * 6, strict=True)
    return pd.DataFrame({name: np.array(values, dtype) for (name, dtype), values in columns})


def _readable(file: str) -> str:
    """Replace what is not UTF-8 in the name of a file, which pandas would refuse."""
    return file.encode("utf-8", "replace").decode()


def cell_table(cells: Mapping[str, list[str]], files: Mapping[str, NumberedLines]) -> pd.DataFrame:
    """List the lines of cells as they were typed, then those of files."""
    texts = {name: enumerate(typed_lines(lines), start=1) for name, lines in cells.items()}
    rows = [
        (name, number, text)
        for name, lines in [*texts.items(), *files.items()]
        for number, text in lines
    ]
    columns = zip(CELLS.items(), zip(*rows, strict=True) if rows else ((),) * 3, strict=True)
    return pd.DataFrame({name: np.array(values, dtype) for (name, dtype), values in columns})

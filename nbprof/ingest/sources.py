"""From op runs to lines of Python.

A graph node was made where its function was traced: its FunctionDef's debug information has the
stack. An eager op ran inside a call from Python that was watched: the call's window in time, on the
same thread, has it.
"""

import re
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from nbprof.ingest import nesting
from nbprof.ingest.kinds import Kind
from nbprof.ingest.nesting import NONE, Rows
from nbprof.ingest.stacks import read_stacks, users

if TYPE_CHECKING:
    from nbprof.capture.capture import Capture, DispatchLog, Stack
    from nbprof.ingest.host import HostEvents
    from nbprof.ingest.names import Resolved
    from nbprof.ingest.runs import Runs

Ints = npt.NDArray[np.int64]

_OPTIMISED = re.compile(
    r"(ArithmeticOptimizer/[A-Za-z]+_+|ConstantFolding/|ConstantFoldingCtrl/|/unary_ops_composition$)"
)
"""What the optimiser adds to the names of nodes that it makes from others."""


class Stacks:
    """The distinct stacks, numbered; an empty one counts as unknown."""

    def __init__(self) -> None:
        self.found: list[Stack] = []
        self._place: dict[Stack, int] = {}

    def number(self, stack: "Stack") -> int:
        """Give the number of a stack, NONE for an empty one."""
        if not stack:
            return NONE
        place = self._place.setdefault(stack, len(self.found))
        if place == len(self.found):
            self.found.append(stack)
        return place


def find_sources(
    runs: "Runs",
    resolved: list["Resolved"],
    capture: "Capture",
    dispatch: Rows,
) -> tuple[Rows, list["Stack"]]:
    """Give the stack of each run, or NONE, and the stacks.

    `resolved` says where each node comes from, `dispatch` in which watched call each run was made.
    """
    stacks = Stacks()
    of_node = _stacks_of_nodes(resolved, capture, stacks)
    sites = [stacks.number(users(site, capture.cells)) for site in capture.dispatches.sites]
    of_dispatch = np.array([*sites, NONE], dtype=np.intp)[
        np.append(capture.dispatches.site, len(sites))
    ]
    eager = of_dispatch[dispatch]
    return np.where(of_node[runs.node] != NONE, of_node[runs.node], eager), stacks.found


def _stacks_of_nodes(resolved: list["Resolved"], capture: "Capture", stacks: Stacks) -> Rows:
    known: dict[str, dict[str, Stack]] = {"": {}}
    numbers = []
    for place in resolved:
        if place.function not in known:
            info = capture.function_stacks(place.function)
            known[place.function] = read_stacks(info, place.function) if info else {}
        stack = _stack_of(known[place.function], place.node)
        numbers.append(stacks.number(users(stack, capture.cells)))
    return np.array(numbers, dtype=np.intp)


def _stack_of(known: dict[str, "Stack"], node: str) -> "Stack":
    """Find a node's stack; what TensorFlow made of a node, or around a loop, has that node's."""
    original = _OPTIMISED.sub("", node)
    while original and original not in known:
        original = original.rpartition("/")[0]
    return known.get(original, ())


def match_dispatches(host: "HostEvents", runs: "Runs", log: "DispatchLog", began_ns: int) -> Rows:
    """Find the watched call in which each run was made, NONE for runs on executors."""
    dispatched = host.inside(host.of(Kind.EAGER))[runs.event]
    dispatched = np.where((runs.event == NONE) | runs.accelerator, NONE, dispatched)
    found = np.full(len(runs.node), NONE, dtype=np.intp)
    rows = np.flatnonzero(dispatched != NONE)
    start = host.start[dispatched[rows]] // 1000 + began_ns
    end = host.end[dispatched[rows]] // 1000 + began_ns
    for line in np.unique(runs.line[rows]).tolist():
        here = runs.line[rows] == line
        found[rows[here]] = _best_thread(start[here], end[here], log)
    return found


def _best_thread(start: Ints, end: Ints, log: "DispatchLog") -> Rows:
    """Match the ops of one line of the trace with the Python thread that fits most of them."""
    best = np.full(len(start), NONE, dtype=np.intp)
    for thread in np.unique(log.thread).tolist():
        calls = np.flatnonzero(log.thread == thread)
        matched = _windows(start, end, calls, log)
        if np.count_nonzero(matched != NONE) > np.count_nonzero(best != NONE):
            best = matched
    return best


def _windows(start: Ints, end: Ints, calls: Rows, log: "DispatchLog") -> Rows:
    """Find the innermost of a thread's calls that spans each op."""
    line = np.zeros(len(calls), dtype=np.int32)
    opened, closed = log.start_ns[calls], log.end_ns[calls]
    order = nesting.sort_order(line, opened, closed - opened)
    opened, closed = opened[order], closed[order]
    outer = np.append(nesting.parents(line, opened, closed), NONE)
    place = np.searchsorted(opened, start, side="right") - 1
    while True:
        outside = (place != NONE) & (closed[place] < end)
        if not outside.any():
            break
        place[outside] = outer[place[outside]]
    return np.append(calls[order], NONE)[place]

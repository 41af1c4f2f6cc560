"""From op runs to lines of Python.

A graph node was made where its function was traced: its FunctionDef's debug information has the
stack. An eager op ran inside a call from Python that was watched: the call's window in time, on the
same thread, has it.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from nbprof.arrays import NONE, Ints, Rows
from nbprof.ingest.trace.event_kinds import Kind
from nbprof.ingest.trace.nesting import Nesting, sort_order
from nbprof.ingest.trace.python_stacks import (
    NodeStack,
    below_runners,
    in_cells,
    is_framework,
    read_stacks,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbprof.capture.capture import Capture, DispatchLog, Stack
    from nbprof.ingest.trace.host_events import HostEvents
    from nbprof.ingest.trace.node_names import Resolved
    from nbprof.ingest.trace.op_runs import Runs


NO_STACK = NodeStack(())


class GraphStacks:
    """The Python stacks that made the nodes of functions and graphs, frameworks included."""

    def __init__(self, function_stacks: "Callable[[str], Any]") -> None:
        self._ask = function_stacks
        self._known: dict[str, dict[str, NodeStack]] = {"": {}}

    def of(self, function: str, node: str) -> NodeStack:
        """Give a node's stack; what TensorFlow makes around a loop has the loop's."""
        if function not in self._known:
            info = self._ask(function)
            self._known[function] = {} if info is None else read_stacks(info)
        known = self._known[function]
        while known and node and node not in known:
            node = node.rpartition("/")[0]
        return known.get(node, NO_STACK)


class Stacks:
    """The distinct stacks, numbered; one without a frame of the user's counts as unknown."""

    def __init__(self) -> None:
        self.found: list[Stack] = []
        self._place: dict[Stack, int] = {}

    def number(self, stack: "Stack") -> int:
        """Give the number of a stack, or NONE."""
        if all(is_framework(file) for file, _, _ in stack):
            return NONE
        place = self._place.setdefault(stack, len(self.found))
        if place == len(self.found):
            self.found.append(stack)
        return place


def find_sources(
    runs: "Runs",
    resolved: list["Resolved"],
    capture: "Capture",
    graph_stacks: GraphStacks,
    dispatch: Rows,
) -> tuple[Rows, list["Stack"]]:
    """Give the stack of each run, or NONE, and the stacks.

    `resolved` says where each node comes from, `dispatch` in which watched call each run was made.
    """
    stacks = Stacks()
    found = [graph_stacks.of(place.function, place.main) for place in resolved]
    cells = capture.cells
    number = {made: stacks.number(in_cells(made.of_user, cells)) for made in dict.fromkeys(found)}
    of_node = np.array([number[made] for made in found], dtype=np.intp)
    sites = [
        stacks.number(in_cells(below_runners(site), cells)) for site in capture.dispatches.sites
    ]
    of_dispatch = np.array([*sites, NONE], dtype=np.intp)[
        np.append(capture.dispatches.site, len(sites))
    ]
    eager = of_dispatch[dispatch]
    return np.where(of_node[runs.node] != NONE, of_node[runs.node], eager), stacks.found


def match_dispatches(host: "HostEvents", runs: "Runs", log: "DispatchLog", began_ns: int) -> Rows:
    """Find the watched call in which each run was made, NONE for runs on executors."""
    dispatched = np.append(host.inside_of(Kind.EAGER), NONE)[runs.event]
    # A function called from Python may run some of its ops on the caller's thread.
    eager = np.array([not function for function, _, _ in runs.nodes], dtype=bool)[runs.node]
    dispatched = np.where((runs.event == NONE) | runs.accelerator | ~eager, NONE, dispatched)
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
    best_fit = (0, 0)
    length = np.append(log.end_ns - log.start_ns, 0)
    for thread in np.unique(log.thread).tolist():
        calls = np.flatnonzero(log.thread == thread)
        matched = _windows(start, end, calls, log)
        # Of two that span as many, the tighter: one long call may span the ops of all threads.
        fit = (int(np.count_nonzero(matched != NONE)), -int(length[matched].sum()))
        if fit > best_fit:
            best, best_fit = matched, fit
    return best


def _windows(start: Ints, end: Ints, calls: Rows, log: "DispatchLog") -> Rows:
    """Find the innermost of a thread's calls that spans each op."""
    line = np.zeros(len(calls), dtype=np.int32)
    opened, closed = log.start_ns[calls], log.end_ns[calls]
    order = sort_order(line, opened, closed - opened)
    opened, closed = opened[order], closed[order]
    outer = np.append(Nesting(line, opened, closed).parent, NONE)
    place = np.searchsorted(opened, start, side="right") - 1
    while True:
        outside = (place != NONE) & (closed[place] < end)
        if not outside.any():
            break
        place[outside] = outer[place[outside]]
    return np.append(calls[order], NONE)[place]

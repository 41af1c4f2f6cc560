"""From op runs to lines of Python.

A graph node was made where its function was traced, and the function's debug information has that
stack. An eager op ran inside a watched call, whose call site is known. JAX' profiler puts the
stacks of HLO ops into the trace.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nbprof.arrays import NONE, Rows
from nbprof.ingest.trace.python_stacks import (
    NodeStack,
    below_runners,
    in_cells,
    is_framework,
    read_stacks,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from nbprof.capture.capture import Stack
    from nbprof.ingest.trace.op_runs import Runs
    from nbprof.ingest.trace.stages import Program
    from nbprof.ingest.trace.watched_calls import WatchedCalls

NO_STACK = NodeStack(())


class GraphStacks:
    """The Python stacks that made the nodes of functions and graphs, framework frames included."""

    def __init__(self, function_stacks: "Callable[[str], Any]") -> None:
        self._function_stacks = function_stacks
        self._known: dict[str, dict[str, NodeStack]] = {"": {}}

    def of(self, function: str, node: str) -> NodeStack:
        """Return a node's stack; nodes that TensorFlow adds around a loop have the loop's."""
        if function not in self._known:
            info = self._function_stacks(function)
            self._known[function] = {} if info is None else read_stacks(info)
        known = self._known[function]
        while known and node and node not in known:
            node = node.rpartition("/")[0]
        return known.get(node, NO_STACK)


@dataclass(frozen=True, eq=False)
class Sources:
    """The Python stack of each run."""

    stack: Rows
    """Number of the stack: those in `stacks` come first, then `module_stacks`; NONE if unknown."""
    stacks: list["Stack"]
    """Stacks of this process, whose source lines can be looked up."""
    module_stacks: list["Stack"]
    """Stacks that the trace states, whose files may be of another time or machine."""


def find_sources(
    runs: "Runs", program: "Program", calls: "WatchedCalls", cells: "Mapping[str, str]"
) -> Sources:
    """Find the Python stack of each run; `cells` maps the files of cells to their names."""
    numbers = _StackNumbers()
    found = [program.graph_stacks.of(place.function, place.main) for place in program.nodes]
    number = {made: numbers.of(in_cells(made.of_user, cells)) for made in dict.fromkeys(found)}
    stack = np.array([number[made] for made in found], dtype=np.intp)[runs.node]
    sites = [numbers.of(in_cells(below_runners(site), cells)) for site in calls.log.sites]
    eager = np.full(len(runs.node), NONE, dtype=np.intp)
    eager[calls.run] = np.array([*sites, NONE], dtype=np.intp)[calls.log.site[calls.call]]
    stack = np.where(stack != NONE, stack, eager)

    module_stacks = list(dict.fromkeys(filter(None, program.module_stacks)))
    if module_stacks:
        first = len(numbers.stacks)
        place = {made: first + row for row, made in enumerate(module_stacks)}
        of_node = np.array([place.get(made, NONE) for made in program.module_stacks], np.intp)
        stack = np.where(stack == NONE, of_node[runs.node], stack)
    return Sources(stack, numbers.stacks, module_stacks)


class _StackNumbers:
    """Numbers the distinct stacks; one without a frame of the user's counts as unknown."""

    def __init__(self) -> None:
        self.stacks: list[Stack] = []
        self._place: dict[Stack, int] = {}

    def of(self, stack: "Stack") -> int:
        """Return the number of a stack, or NONE."""
        if all(is_framework(file) for file, _, _ in stack):
            return NONE
        place = self._place.setdefault(stack, len(self.stacks))
        if place == len(self.stacks):
            self.stacks.append(stack)
        return place

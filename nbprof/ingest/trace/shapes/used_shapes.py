"""Shapes of outputs as the ops that use them state them: an event has the shapes of its inputs."""

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import NONE, Rows
from nbprof.op_types import kernel_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nbprof.ingest.trace.program.function_defs import Functions
    from nbprof.ingest.trace.program.node_names import Resolved
    from nbprof.ingest.trace.shapes.flops import Dims
    from nbprof.ingest.trace.shapes.run_shapes import ShapeList
    from nbprof.ingest.trace.work.op_runs import Runs


Shapes = Sequence["Dims | None"]

COMMUTATIVE = ("Add", "AddV2", "Mul", "Maximum", "Minimum", "SquaredDifference")
"""Ops whose inputs the optimiser may swap."""
PASSES_ON = ("Identity", "Reshape", "Squeeze", "ExpandDims", "StopGradient")
"""Ops that the optimiser removes if they change nothing."""


class UsedShapes:
    """Looks up the shapes on which the users of a node's output ran."""

    def __init__(
        self,
        runs: "Runs",
        nodes: "list[Resolved]",
        functions: "Functions",
        lists: "list[ShapeList]",
        inputs: Rows,
    ) -> None:
        """`inputs` is the row of `lists` that holds the input shapes of each run."""
        self._runs = runs
        self._nodes = nodes
        self._functions = functions
        self._lists = lists
        self._inputs = inputs

    def of(
        self, node: int, inputs: Shapes, tensor: str, fits: "Callable[[Dims], bool]"
    ) -> "Dims | None":
        """Return the shape of a tensor of a node's function, in the node's runs on `inputs`.

        Return None if nothing that uses the tensor ran, or if several shapes fit.
        """
        steps = self._steps(node, inputs)
        for row, places in self._users(self._nodes[node], tensor):
            shapes = {shape for place in places for shape in self._shapes_at(row, place, steps)}
            fitting = {shape for shape in shapes if shape is not None and fits(shape)}
            if len(fitting) == 1 and (None not in shapes):
                return fitting.pop()
        return None

    def output(self, node: int, inputs: Shapes, fits: "Callable[[Dims], bool]") -> "Dims | None":
        """Return the shape of a node's only output in its runs on `inputs`."""
        place = self._nodes[node]
        body = self._functions.body(place.function)
        tensors = body.outputs.get(place.origin, ()) if body else ()
        return self.of(node, inputs, next(iter(tensors)), fits) if len(tensors) == 1 else None

    def _users(self, place: "Resolved", tensor: str) -> "Iterator[tuple[int, Sequence[int]]]":
        """Yield the executed nodes that use a tensor, and which of their inputs it may be.

        Look through nodes that pass the tensor on and that the optimiser removed.
        """
        body = self._functions.body(place.function)
        waiting = [tensor] if body else []
        while body and waiting:
            for user, at in body.users.get(waiting.pop(), ()):
                rows = self._executed.get((place.owner, place.function, user))
                if rows is None and body.op(user) in PASSES_ON and at == 0:
                    waiting += body.outputs.get(user, ())
                for row in rows or ():
                    yield row, (0, 1) if body.op(user) in COMMUTATIVE else (at,)

    def _shapes_at(self, node: int, at: int, steps: Rows) -> "set[Dims | None]":
        """Return the shapes that one of a node's inputs had in these steps."""
        rows = self._runs_of(node)
        rows = rows[np.isin(self._runs.step[rows], steps)]
        lists = (self._lists[number] for number in np.unique(self._inputs[rows]).tolist())
        return {shapes[at] if at < len(shapes) else None for shapes in lists}

    def _steps(self, node: int, inputs: Shapes) -> Rows:
        """Return the steps in which a node ran on these inputs."""
        rows = self._runs_of(node)
        numbers = [
            number
            for number in np.unique(self._inputs[rows]).tolist()
            if self._lists[number] == tuple(inputs)
        ]
        return np.unique(self._runs.step[rows[np.isin(self._inputs[rows], numbers)]])

    def _runs_of(self, node: int) -> Rows:
        order, sorted_nodes = self._by_node
        first, last = np.searchsorted(sorted_nodes, (node, node + 1))
        return order[first:last]

    @cached_property
    def _by_node(self) -> tuple[Rows, Rows]:
        """The runs ordered by their nodes, and those nodes."""
        order = np.argsort(self._runs.node, kind="stable")
        return order, self._runs.node[order]

    @cached_property
    def _executed(self) -> "dict[tuple[str, str, str], list[int]]":
        """The executed nodes, without kernels that have other inputs than the program wrote."""
        found: defaultdict[tuple[str, str, str], list[int]] = defaultdict(list)
        for row, (place, executed) in enumerate(zip(self._nodes, self._runs.nodes, strict=True)):
            kernel = kernel_of(executed.op_type)
            rows = found[place.owner, place.function, place.origin]
            if place.inside == NONE and kernel.main == place.op_type and not kernel.before:
                rows.append(row)
        return found

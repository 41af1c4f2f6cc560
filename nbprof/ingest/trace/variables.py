"""Which nodes take which variables, and how much the reading ones get."""

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbprof.capture.capture import Model
    from nbprof.ingest.trace.node_names import Functions, Resolved

Taken = Mapping[str, tuple[str, set[int]]]
"""For each node, the function that defines it, and the variables that it takes."""


class VariableNodes:
    """The nodes of functions and the variables they take, asked for function by function."""

    def __init__(self, functions: "Functions", model: "Model") -> None:
        self._functions = functions
        self._model = model
        self._known: dict[str, Taken] = {}

    def of(self, owner: str) -> Taken:
        """Give the nodes of a function, with those of the loops and branches in it."""
        if owner not in self._known:
            arguments = self._model.arguments.get(owner, {})
            self._known[owner] = self._functions.variables_of_nodes(owner, arguments)
        return self._known[owner]

    def read_bytes(self, resolved: list["Resolved"]) -> dict[int, int]:
        """Give the bytes that a node gets that reads one variable, by the node's number."""
        sizes = {}
        for number, place in enumerate(resolved):
            if not place.node.rpartition("/")[2].startswith("ReadVariableOp"):
                continue
            _, variables = self.of(place.owner).get(place.node, ("", set[int]()))
            if len(variables) == 1:
                variable = self._model.variables[next(iter(variables))]
                if variable.dims is not None:
                    sizes[number] = prod(variable.dims) * variable.itemsize
        return sizes

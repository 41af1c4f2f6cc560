"""Find which nodes take which variables, and how many bytes they read."""

from collections.abc import Iterator, Mapping
from math import prod
from typing import TYPE_CHECKING

from nbprof.ingest.trace.function_names import is_traced

if TYPE_CHECKING:
    from nbprof.capture.capture import Model
    from nbprof.ingest.trace.program.function_defs import DefinedNode, Functions
    from nbprof.ingest.trace.program.node_names import Resolved

Taken = Mapping[str, tuple[str, set[int]]]
"""`{node: (function that defines it, variables it takes)}`."""

BRANCHES = ("then_branch", "else_branch", "branches")
"""Attributes whose functions do not receive the node's first input, which selects the branch."""


class VariableNodes:
    """The variables that the nodes of functions take, found for one function at a time."""

    def __init__(self, functions: "Functions", model: "Model") -> None:
        self._functions = functions
        self._model = model
        self._known: dict[str, Taken] = {}

    def of(self, owner: str) -> Taken:
        """Return the nodes of a function and of its loops and branches, with their variables."""
        if owner not in self._known:
            self._known[owner] = self._find(owner)
        return self._known[owner]

    def read_bytes(self, nodes: list["Resolved"]) -> dict[int, int]:
        """Return `{node: bytes}` for the nodes that read exactly one variable."""
        sizes = {}
        for number, place in enumerate(nodes):
            if not place.node.rpartition("/")[2].startswith("ReadVariableOp"):
                continue
            _, variables = self.of(place.owner).get(place.node, ("", set[int]()))
            if len(variables) == 1:
                variable = self._model.variables[next(iter(variables))]
                if variable.dims is not None:
                    sizes[number] = prod(variable.dims) * variable.itemsize
        return sizes

    def _find(self, owner: str) -> Taken:
        found: dict[str, tuple[str, set[int]]] = {}
        waiting = [(owner, dict(self._model.arguments.get(owner, {})))]
        seen = set()
        while waiting:
            function, variable_of = waiting.pop()
            body = self._functions.body(function)
            if body is None or function in seen:
                continue
            seen.add(function)
            for name, node in body.nodes.items():
                arguments = node.arguments.values()
                variables = {variable_of[taken] for taken in arguments if taken in variable_of}
                found.setdefault(name, (function, variables))
                waiting += self._callees(node, variable_of)
        return found

    def _callees(
        self, node: "DefinedNode", variable_of: Mapping[str, int]
    ) -> Iterator[tuple[str, dict[str, int]]]:
        """Yield the loops and branches that a node runs, with the variables passed to them."""
        for attribute, functions in node.calls.items():
            for function in functions:
                body = self._functions.body(function)
                if body is None or is_traced(function):
                    continue
                parameter = dict(enumerate(body.arguments, 1 if attribute in BRANCHES else 0))
                yield (
                    function,
                    {
                        parameter[place]: variable_of[argument]
                        for place, argument in node.arguments.items()
                        if place in parameter and argument in variable_of
                    },
                )

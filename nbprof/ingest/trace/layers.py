"""From op runs to Keras layers, and to what else trains a model.

Every call of a layer opens a name scope, but the scope's text is not the layer's name: layer
`dense` may run in scope `dense_1`. A scope is a layer's if the layer's `__call__` stands in the
stack of its nodes, if it reads the layer's variables, and if its text is the layer's name with, at
most, a number behind it. Where several layers still fit, those that fit nowhere else come first,
then the order of the model decides.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from nbprof.arrays import NONE, Rows
from nbprof.capture.capture import BACKWARD, METRICS, OPTIMIZER
from nbprof.ingest.trace.node_names import INPUT_PIPELINE
from nbprof.ingest.trace.python_lines import GraphStacks

if TYPE_CHECKING:
    from nbprof.capture.capture import DispatchLog, Model
    from nbprof.ingest.trace.node_names import Functions, Resolved
    from nbprof.ingest.trace.op_runs import Runs
    from nbprof.ingest.trace.variables import VariableNodes

PIPELINE, OUTSIDE = "input pipeline", "outside layers"

Chain = tuple[int, ...]
"""Layers of a model by their numbers, the outermost first."""
Place = tuple[Chain, str]
"""In which layers, or, without any, in which other part of the work."""

_GRADIENT = re.compile(r"(?:gradient_tape/|(?:^|.*/)gradients(?:_\d+)?/)(?P<forward>.+)")
_GRADIENT_OP = re.compile(r"(?P<forward>.+?)_grad(?:_\d+)?(?:/.*)?")
_INPUT_OP = re.compile(r".*Dataset(V\d+)?|.*Iterator.*|Optional.*")


@dataclass(eq=False)
class _Open:
    """A name scope of a function, with what its nodes tell."""

    variables: set[int] = field(default_factory=set)
    calls: int = 0
    """How many calls of layers stand around its nodes, at most."""
    inner: "dict[str, _Open]" = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Placed:
    """Where in the model each run belongs."""

    rows: list[tuple[str, str, int]]
    """Name, kind and parent of the parts of the work, a parent before its children."""
    row: Rows
    backward: npt.NDArray[np.bool_]
    of_variable: dict[int, int]
    """The row that each variable of the model belongs to, for those that count."""


def place_runs(
    runs: "Runs",
    resolved: Sequence["Resolved"],
    functions: "Functions",
    variables: "VariableNodes",
    stacks: GraphStacks,
    model: "Model",
    log: "DispatchLog",
    dispatch: Rows,
) -> Placed:
    """Find the layer, or other part of the work, of every run."""
    finder = _Finder(functions, variables, stacks, model)
    nodes = [
        finder.place(where, op_type)
        for where, (_, _, op_type) in zip(resolved, runs.nodes, strict=True)
    ]
    rows = _Rows(model)
    of_node = np.array([rows.number(place) for place, _ in nodes], dtype=np.intp)
    backward = np.array([back for _, back in nodes], dtype=bool)[runs.node]
    row = of_node[runs.node]
    called = np.flatnonzero(dispatch != NONE)
    site = log.site[dispatch[called]]
    told = np.array([rows.number(_place_of_site(*it)) for it in log.inside] + [NONE])[site]
    backward[called] |= np.array([part == BACKWARD for _, part in log.inside] + [False])[site]
    # Input ops stay what they are, wherever they are called.
    is_input = np.array([place == ((), PIPELINE) for place, _ in nodes], dtype=bool)
    moved = np.flatnonzero((told != NONE) & ~is_input[runs.node[called]])
    row[called[moved]] = told[moved]
    return Placed(rows.found, row, backward, rows.variables())


def _place_of_site(layers: Chain, part: str) -> Place:
    return layers, OUTSIDE if part in ("", BACKWARD) else part


class _Finder:
    """Tells where in the model a node of a graph belongs."""

    def __init__(
        self,
        functions: "Functions",
        variables: "VariableNodes",
        stacks: GraphStacks,
        model: "Model",
    ) -> None:
        self._functions = functions
        self._variables = variables
        self._stacks = stacks
        self._model = model
        self._weights_of: dict[int, frozenset[int]] = {}
        self._owners: dict[str, tuple[Mapping[str, Chain], Mapping[str, str]]] = {}

    def place(self, where: "Resolved", op_type: str) -> tuple[Place, bool]:
        """Give the place of a node, and whether it is a part of the backward pass."""
        if where.owner.startswith(INPUT_PIPELINE) or _is_input_op(op_type):
            return ((), PIPELINE), False
        scopes, parts = self._owner(where.owner)
        name, backward = forward_name(where.main)
        chain = _longest(scopes, name)
        if chain:
            return (chain, ""), backward
        stack = self._stacks.of(where.function, where.main)
        if not backward:
            return ((), stack.part or OUTSIDE), stack.in_tape
        while name and name not in parts:
            name = name.rpartition("/")[0]
        return ((), parts.get(name, OUTSIDE)), True

    def _owner(self, owner: str) -> tuple[Mapping[str, Chain], Mapping[str, str]]:
        """Read the scopes of a function once, and the parts of its nodes outside layers."""
        if owner not in self._owners:
            nodes = self._variables.of(owner)
            top = _Open()
            parts: dict[str, str] = {}
            for name, (function, variables) in nodes.items():
                if forward_name(name)[1]:
                    continue
                stack = self._stacks.of(function, name)
                parts[name] = parts[name.rpartition("/")[0]] = stack.part or OUTSIDE
                _note(top, name, variables, stack.layer_calls)
            found: dict[str, Chain] = {}
            self._name_scopes(top, "", (), found)
            self._owners[owner] = found, parts
        return self._owners[owner]

    def _name_scopes(self, scope: _Open, path: str, chain: Chain, found: dict[str, Chain]) -> None:
        """Find the layers of the scopes inside a scope, and so on down."""
        candidates = {
            text: self._candidates(text, inner, chain)
            for text, inner in scope.inner.items()
            if inner.calls > len(chain)
        }
        layers = settle({text: fitting for text, fitting in candidates.items() if fitting})
        for text, inner in scope.inner.items():
            below = (*chain, layers[text]) if text in layers else chain
            found[path + text] = below
            self._name_scopes(inner, f"{path}{text}/", below, found)

    def _candidates(self, text: str, scope: _Open, chain: Chain) -> list[int]:
        layers = self._model.layers
        expected = layers[chain[-1]].sublayers if chain else self._outermost
        return self._fitting(text, scope, expected) or self._fitting(
            text, scope, [number for number in range(len(layers)) if self._weights(number)]
        )

    @property
    def _outermost(self) -> list[int]:
        layers = self._model.layers
        inner = {number for layer in layers for number in layer.sublayers}
        return [number for number in range(len(layers)) if number not in inner]

    def _fitting(self, text: str, scope: _Open, expected: Sequence[int]) -> list[int]:
        """List the layers that a scope of this text can be a call of."""
        return [
            number
            for number in expected
            if _is_numbered(text, self._model.layers[number].name)
            and (not self._weights(number) or self._weights(number) & scope.variables)
        ]

    def _weights(self, number: int) -> frozenset[int]:
        """Give the variables of a layer and of all below it."""
        if number not in self._weights_of:
            layer = self._model.layers[number]
            below = (self._weights(sublayer) for sublayer in layer.sublayers)
            self._weights_of[number] = frozenset(layer.weights).union(*below)
        return self._weights_of[number]


@cache
def _is_input_op(op_type: str) -> bool:
    return _INPUT_OP.fullmatch(op_type) is not None


def settle(candidates: dict[str, list[int]]) -> dict[str, int]:
    """Choose a layer for each scope, so that as many layers as can be get a scope."""
    left = {text: list(fitting) for text, fitting in candidates.items()}
    chosen: dict[str, int] = {}
    while left:
        text = next((text for text, fitting in left.items() if len(fitting) == 1), next(iter(left)))
        chosen[text] = left.pop(text)[0]
        for fitting in left.values():
            if len(fitting) > 1 and chosen[text] in fitting:
                fitting.remove(chosen[text])
    return chosen


def forward_name(name: str) -> tuple[str, bool]:
    """Give the name of the node whose gradient this node computes, or the node's own."""
    backward = False
    while "gradient" in name and (found := _GRADIENT.fullmatch(name)):
        backward, name = True, found["forward"]
    op = _GRADIENT_OP.fullmatch(name) if backward else None
    return op["forward"] if op else name, backward


def _note(top: _Open, name: str, variables: set[int], calls: int) -> None:
    """Note what a node tells of the scopes that it is in."""
    scope = top
    for text in name.split("/")[:-1]:
        scope = scope.inner.setdefault(text, _Open())
        scope.variables |= variables
        scope.calls = max(scope.calls, calls)


def _longest(scopes: Mapping[str, Chain], name: str) -> Chain:
    while name and name not in scopes:
        name = name.rpartition("/")[0]
    return scopes.get(name, ())


def _is_numbered(text: str, name: str) -> bool:
    """Tell whether a scope's text is this name, or the name with a number to make it unique."""
    rest = text.removeprefix(name)
    return text.startswith(name) and (not rest or (rest[0] == "_" and rest[1:].isdigit()))


class _Rows:
    """Numbers the parts of the work: a row for each chain of layers and each other part."""

    def __init__(self, model: "Model") -> None:
        self.found: list[tuple[str, str, int]] = []
        self._model = model
        self._of_place: dict[Place, int] = {}

    def number(self, place: Place) -> int:
        """Give the row of a place; those of the layers around it are made before it."""
        chain, part = place
        key = (chain, "" if chain else part)
        if key not in self._of_place:
            self._of_place[key] = self._add(*key)
        return self._of_place[key]

    def _add(self, chain: Chain, part: str) -> int:
        if not chain:
            self.found.append((part, "", NONE))
            return len(self.found) - 1
        above = self.number((chain[:-1], "")) if len(chain) > 1 else NONE
        layer = self._model.layers[chain[-1]]
        name = f"{self.found[above][0]}/{layer.name}" if above != NONE else layer.name
        self.found.append((name, layer.kind, above))
        return len(self.found) - 1

    def variables(self) -> dict[int, int]:
        """Give each variable its row; layers of a model that did not run get theirs, too.

        A layer that ran inside a model and on its own, as in its building, has them in the model.
        """
        model = self._model
        rows: dict[int, int] = {}
        chains = [chain for chain, _ in self._of_place if chain]
        for chain in sorted(chains, key=len, reverse=True):
            for inner in self._below(chain):
                for variable in model.layers[inner[-1]].weights:
                    rows.setdefault(variable, self.number((inner, "")))
        for variable in model.used:
            role = model.variables[variable].role
            if variable not in rows and role in ("", OPTIMIZER, METRICS):
                rows[variable] = self.number(((), role or OUTSIDE))
        return rows

    def _below(self, chain: Chain) -> Iterator[Chain]:
        yield chain
        for sublayer in self._model.layers[chain[-1]].sublayers:
            if sublayer not in chain:
                yield from self._below((*chain, sublayer))

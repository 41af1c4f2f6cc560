"""Map op runs to Keras layers, and to the other parts of training.

Every call of a layer opens a name scope, but the scope is not named exactly like the layer: layer
`dense` may run in scope `dense_1`. A scope belongs to a layer if a layer's `__call__` is on the
stack of its nodes, if it reads the layer's variables, and if its name is the layer's, perhaps with
a number appended. Where several layers still fit, scopes with a single candidate choose first, then
the order in the model decides.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import NONE, Mask, Rows
from nbprof.capture.capture import BACKWARD, METRICS, OPTIMIZER
from nbprof.ingest.trace.function_names import INPUT_PIPELINE
from nbprof.ingest.trace.program.gradients import Gradients, forward_name

if TYPE_CHECKING:
    from nbprof.capture.capture import Model
    from nbprof.ingest.trace.attribution.watched_calls import WatchedCalls
    from nbprof.ingest.trace.program.node_names import Call, Resolved
    from nbprof.ingest.trace.stages import Program
    from nbprof.ingest.trace.work.op_runs import Runs

PIPELINE = "input pipeline"
OUTSIDE = "outside layers"

UNREAD = (
    "layer {name} could not be read ({problem}), so its parameters are missing from its row: those "
    "that the cell used count as outside layers"
)
"""Note on a layer of the cell that raised an error when it was read."""

Chain = tuple[int, ...]
"""Nested layers as indices into the model's, outermost first."""
Place = tuple[Chain, str]
"""The enclosing layers or, outside layers, the part of the work."""

_INPUT_OP = re.compile(r".*Dataset(V\d+)?|.*Iterator.*|Optional.*")


@dataclass(eq=False)
class _Scope:
    """A name scope of a function, with what is known about its nodes."""

    variables: set[int] = field(default_factory=set)
    calls: int = 0
    """The most layer calls on the stack of any of its nodes."""
    inner: "dict[str, _Scope]" = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Placed:
    """The part of the model that each run belongs to."""

    rows: list[tuple[str, str, int]]
    """Name, kind and parent of each part of the work; parents come before their children."""
    row: Rows
    """Index into `rows` for each run."""
    backward: Mask
    """Whether each run is part of the backward pass."""
    of_variable: dict[int, int]
    """`{variable: row}` for the variables of the model that are shown."""
    notes: tuple[str, ...]


def place_runs(runs: "Runs", program: "Program", calls: "WatchedCalls") -> Placed:
    """Find the layer, or other part of the work, of every run."""
    finder = _PlaceFinder(program)
    nodes = [
        finder.place(where, executed.op_type)
        for where, executed in zip(program.nodes, runs.nodes, strict=True)
    ]
    rows = _PlaceRows(program.model)
    row = np.array([rows.number(place) for place, _ in nodes], dtype=np.intp)[runs.node]
    backward = np.array([back for _, back in nodes], dtype=bool)[runs.node]
    # An eager op belongs where it was called, except that input ops stay in the input pipeline.
    site = calls.log.site[calls.call]
    places = [rows.number(_place_of_site(*inside)) for inside in calls.log.inside]
    called_in = np.array([*places, NONE])[site]
    is_input = np.array([place == ((), PIPELINE) for place, _ in nodes], dtype=bool)
    moved = np.flatnonzero((called_in != NONE) & ~is_input[runs.node[calls.run]])
    row[calls.run[moved]] = called_in[moved]
    in_tape = [part == BACKWARD for _, part in calls.log.inside]
    backward[calls.run] |= np.array([*in_tape, False])[site]
    of_variable = rows.variables()
    return Placed(rows.found, row, backward, of_variable, rows.notes())


def _place_of_site(layers: Chain, part: str) -> Place:
    return layers, OUTSIDE if part in ("", BACKWARD) else part


class _PlaceFinder:
    """Finds where in the model the nodes of graphs belong."""

    def __init__(self, program: "Program") -> None:
        self._variables = program.variables
        self._stacks = program.graph_stacks
        self._gradients = Gradients(program.functions)
        self._model = program.model
        self._weights_of: dict[int, frozenset[int]] = {}
        self._owners: dict[str, tuple[Mapping[str, Chain], Mapping[str, str]]] = {}
        self._calls: dict[Call, tuple[Chain, bool]] = {}

    def place(self, where: "Resolved", op_type: str) -> tuple[Place, bool]:
        """Return the place of a node, and whether it is part of the backward pass."""
        if where.owner.startswith(INPUT_PIPELINE) or _is_input_op(op_type):
            return ((), PIPELINE), False
        scopes, parts = self._owner(where.owner)
        name, backward = forward_name(where.origin)
        chain = _longest(scopes, name.rpartition("/")[0])
        if chain:
            return (chain, ""), backward
        for call in reversed(where.calls):
            chain, in_backward = self._around(call)
            if chain:
                return (chain, ""), backward or in_backward
        stack = self._stacks.of(where.function, where.origin)
        if not backward:
            return ((), stack.part or OUTSIDE), stack.in_tape
        while name and name not in parts:
            name = name.rpartition("/")[0]
        return ((), parts.get(name, OUTSIDE)), True

    def _around(self, call: "Call") -> tuple[Chain, bool]:
        """Return the layers around the call of a function, and whether it computes a gradient."""
        if call not in self._calls:
            gradients = self._gradients
            forward_call = gradients.forward_call(call.function, call.node)
            name, backward = forward_name(forward_call or call.node)
            backward = backward or bool(gradients.called(call.function, call.node))
            scopes, _ = self._owner(call.owner)
            chain = _longest(scopes, name.rpartition("/")[0])
            self._calls[call] = chain, backward
        return self._calls[call]

    def _owner(self, owner: str) -> tuple[Mapping[str, Chain], Mapping[str, str]]:
        """Return the layers of a function's scopes, and the parts of its nodes outside layers."""
        if owner not in self._owners:
            nodes = self._variables.of(owner)
            top = _Scope()
            parts: dict[str, str] = {}
            for name, (function, variables) in nodes.items():
                if forward_name(name)[1]:
                    continue
                stack = self._stacks.of(function, name)
                parts[name] = parts[name.rpartition("/")[0]] = stack.part or OUTSIDE
                _add_node(top, name, variables, stack.layer_calls)
            found: dict[str, Chain] = {}
            self._find_layers(top, "", (), found)
            self._owners[owner] = found, parts
        return self._owners[owner]

    def _find_layers(self, scope: _Scope, path: str, chain: Chain, found: dict[str, Chain]) -> None:
        """Find the layers of all scopes inside a scope."""
        candidates = {
            text: self._candidates(text, inner, chain)
            for text, inner in scope.inner.items()
            if inner.calls > len(chain)
        }
        layers = settle({text: fitting for text, fitting in candidates.items() if fitting})
        for text, inner in scope.inner.items():
            below = (*chain, layers[text]) if text in layers else chain
            found[path + text] = below
            self._find_layers(inner, f"{path}{text}/", below, found)

    def _candidates(self, text: str, scope: _Scope, chain: Chain) -> list[int]:
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

    def _fitting(self, text: str, scope: _Scope, expected: Sequence[int]) -> list[int]:
        """Return the layers that a scope of this name can be a call of."""
        return [
            number
            for number in expected
            if _is_numbered(text, self._model.layers[number].name)
            and (not self._weights(number) or self._weights(number) & scope.variables)
        ]

    def _weights(self, number: int) -> frozenset[int]:
        """Return the variables of a layer and of all its sublayers."""
        if number not in self._weights_of:
            layer = self._model.layers[number]
            below = (self._weights(sublayer) for sublayer in layer.sublayers)
            self._weights_of[number] = frozenset(layer.weights).union(*below)
        return self._weights_of[number]


@cache
def _is_input_op(op_type: str) -> bool:
    return _INPUT_OP.fullmatch(op_type) is not None


def settle(candidates: dict[str, list[int]]) -> dict[str, int]:
    """Choose a layer for each scope, one not chosen before if possible.

    Scopes with a single candidate choose first.
    """
    left = {text: list(fitting) for text, fitting in candidates.items()}
    chosen: dict[str, int] = {}
    while left:
        text = next((text for text, fitting in left.items() if len(fitting) == 1), next(iter(left)))
        chosen[text] = left.pop(text)[0]
        for fitting in left.values():
            if len(fitting) > 1 and chosen[text] in fitting:
                fitting.remove(chosen[text])
    return chosen


def _add_node(top: _Scope, name: str, variables: set[int], calls: int) -> None:
    """Add a node's variables and layer calls to all scopes that it is in."""
    scope = top
    for text in name.split("/")[:-1]:
        scope = scope.inner.setdefault(text, _Scope())
        scope.variables |= variables
        scope.calls = max(scope.calls, calls)


def _longest(scopes: Mapping[str, Chain], name: str) -> Chain:
    while name and name not in scopes:
        name = name.rpartition("/")[0]
    return scopes.get(name, ())


def _is_numbered(text: str, name: str) -> bool:
    """Return whether a scope has this name, perhaps with a number appended to make it unique."""
    rest = text.removeprefix(name)
    return text.startswith(name) and (not rest or (rest[0] == "_" and rest[1:].isdigit()))


class _PlaceRows:
    """Numbers the places: a row for each chain of layers and for each other part of the work."""

    def __init__(self, model: "Model") -> None:
        self.found: list[tuple[str, str, int]] = []
        self._model = model
        self._of_place: dict[Place, int] = {}

    def number(self, place: Place) -> int:
        """Return the row of a place, adding it and the layers around it if they are new."""
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
        """Return `{variable: row}`; layers of a model that did not run get a row as well.

        The variables of a layer that ran both inside a model and on its own, as when it was built,
        belong to the row inside the model.
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

    def notes(self) -> tuple[str, ...]:
        """Name the layers with a row that could not be read."""
        shown = {chain[-1]: row for (chain, _), row in self._of_place.items() if chain}
        layers = ((self.found[row][0], self._model.layers[layer]) for layer, row in shown.items())
        return tuple(
            UNREAD.format(name=name, problem=layer.problem)
            for name, layer in layers
            if layer.problem
        )

    def _below(self, chain: Chain) -> Iterator[Chain]:
        yield chain
        for sublayer in self._model.layers[chain[-1]].sublayers:
            if sublayer not in chain:
                yield from self._below((*chain, sublayer))

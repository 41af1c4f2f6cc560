"""Read the nodes of FunctionDefs: their types, inputs, calls, attributes and devices."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from nbprof.ingest.trace.program.content_cache import ContentCache
from nbprof.ingest.trace.program.node_attributes import (
    CONSTANT,
    CONSTANT_INPUT,
    Attributes,
    read_attributes,
    read_constant,
)


class DefinedNode(NamedTuple):
    """A node as its function defines it."""

    op: str
    inputs: tuple[str, ...]
    """The nodes or arguments that produce its inputs, then those that only run before it."""
    tensors: tuple[str, ...]
    """Its inputs: `argument` or `node:output:0`."""
    arguments: Mapping[int, str]
    """`{input position: argument of the function}`."""
    calls: Mapping[str, Sequence[str]]
    """`{attribute: functions it calls}`."""
    attributes: Attributes
    device: str
    """The device it was assigned to, empty if none."""


FORWARD = "forward_function_name"
"""Attribute of a function that computes the gradient of another."""

UNDEFINED = DefinedNode(
    op="", inputs=(), tensors=(), arguments={}, calls={}, attributes={}, device=""
)
"""Stands for a node whose definition is not known."""


@dataclass(frozen=True, eq=False)
class FunctionBody:
    """The arguments and nodes of a function, in order of definition."""

    arguments: Mapping[str, int]
    """`{name: position}`."""
    nodes: Mapping[str, DefinedNode]
    forward: str = ""
    """The function whose gradient it computes, empty if none."""
    returned: tuple[str, ...] = ()
    """The nodes whose results it returns."""

    def defines(self, name: str) -> bool:
        """Return whether this is a node or an argument of the function."""
        return name in self.nodes or name in self.arguments

    def op(self, node: str) -> str:
        """Return a node's op type, empty for anything else."""
        return self.nodes.get(node, UNDEFINED).op

    def callee(self, node: str) -> str:
        """Return the function that a node calls, empty if it calls none or has branches."""
        return next(iter(self.nodes.get(node, UNDEFINED).calls.get("f", ())), "")

    @cached_property
    def users(self) -> Mapping[str, Sequence[tuple[str, int]]]:
        """The nodes that use each tensor, and at which of their inputs."""
        found = defaultdict(list)
        for name, node in self.nodes.items():
            for place, tensor in enumerate(node.tensors):
                found[tensor].append((name, place))
        return dict(found)

    @cached_property
    def outputs(self) -> Mapping[str, set[str]]:
        """The tensors of each node that other nodes use."""
        found = defaultdict(set)
        for tensor in self.users:
            found[_producer(tensor)].add(tensor)
        return dict(found)

    @cached_property
    def by_scope(self) -> Mapping[str, Sequence[str]]:
        """The nodes directly in each name scope, those without a scope under an empty text."""
        found = defaultdict(list)
        for name in self.nodes:
            found[name.rpartition("/")[0]].append(name)
        return dict(found)

    @cached_property
    def callers(self) -> Mapping[str, Sequence[str]]:
        """The nodes that call each function."""
        found = defaultdict(list)
        for name in self.nodes:
            found[self.callee(name)].append(name)
        return dict(found)

    def calling_node(self, executed: str) -> str | None:
        """Return the longest prefix of an executed name that is a node calling a function."""
        prefix = executed
        while "/" in prefix:
            prefix = prefix.rpartition("/")[0]
            if prefix in self.nodes and self.nodes[prefix].calls:
                return prefix
        return None


class Functions:
    """The functions of a process, each read on first use."""

    def __init__(self, function_def: Callable[[str], Any]) -> None:
        self._function_def = function_def
        self._bodies: dict[str, FunctionBody | None] = {}

    def body(self, function: str) -> FunctionBody | None:
        """Return a function's body, None if it has no definition."""
        if function not in self._bodies:
            message = self._function_def(function)
            self._bodies[function] = None if message is None else _read_cached(message)
        return self._bodies[function]

    def node(self, function: str, name: str) -> DefinedNode:
        """Return a node's definition, or UNDEFINED."""
        body = self.body(function)
        return body.nodes.get(name, UNDEFINED) if body else UNDEFINED


_cache = ContentCache[FunctionBody]()


def _read_cached(message: Any) -> FunctionBody:
    return _cache.get(message.SerializeToString(), lambda: _read_function(message))


def _read_function(message: Any) -> FunctionBody:
    names = (argument.name for argument in message.signature.input_arg)
    arguments = {name: position for position, name in enumerate(names)}
    nodes = {node.name: _read_node(node, arguments) for node in message.node_def}
    constants = {node.name: node for node in message.node_def if node.op == "Const"}
    for name, node in nodes.items():
        place = CONSTANT_INPUT.get(node.op, len(node.inputs))
        source = constants.get("".join(node.inputs[place : place + 1]))
        constant = source and read_constant(source)
        if constant is not None:
            nodes[name] = node._replace(attributes={**node.attributes, CONSTANT: constant})
    attributes = getattr(message, "attr", {})
    forward = attributes[FORWARD].s.decode() if FORWARD in attributes else ""
    returned = tuple(map(_producer, getattr(message, "ret", {}).values()))
    return FunctionBody(arguments, nodes, forward, returned)


def _read_node(node: Any, arguments: Mapping[str, int]) -> DefinedNode:
    calls = ((key, _called(value)) for key, value in node.attr.items())
    return DefinedNode(
        op=node.op,
        inputs=tuple(map(_producer, node.input)),
        tensors=tuple(text for text in node.input if not text.startswith("^")),
        arguments={place: name for place, name in enumerate(node.input) if name in arguments},
        calls={key: functions for key, functions in calls if functions},
        attributes=read_attributes(node),
        device=node.device,
    )


def _producer(text: str) -> str:
    """Return the node that an input (`name`, `name:output:0` or `^name`) comes from."""
    return text.removeprefix("^").partition(":")[0]


def _called(attribute: Any) -> list[str]:
    if attribute.HasField("func"):
        return [attribute.func.name]
    return [function.name for function in attribute.list.func]

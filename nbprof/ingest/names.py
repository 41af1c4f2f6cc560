"""From the names of executed nodes to the names of the functions' own nodes.

The runtime inlines called functions and names their nodes by the way it took
(`StatefulPartitionedCall/while/body/_12/while/dense/MatMul`). Only the FunctionDefs say which parts
of such a name are calls; they are followed here, and the node's own name remains (`dense/MatMul`).
"""

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

INPUT_PIPELINE = "tf.data"
SESSION = "session"
"""Where nodes run that belong to no tf.function; eager ops belong to "", nowhere."""

_BRANCH = re.compile(r"(then|else|cond|body)/_\d+/(.+)|branch(\d+)/_\d+/(.+)")
_RUNTIME_MADE = re.compile(
    r"(?P<kind>_(?:send|recv|arg|retval)_)(?P<node>.+?)(?P<number>(?:_\d+)+)"
)
_TRACED = re.compile(r"__(?:inference|forward|backward)_(?P<name>.*)_\d+")
_HLO_MODULE = re.compile(r"a_inference_(?P<name>.*)_\d+__Xla.*")
_ATTRIBUTE = {"then": "then_branch", "else": "else_branch", "cond": "cond", "body": "body"}


@dataclass(frozen=True)
class _Function:
    nodes: frozenset[str]
    calls: dict[str, dict[str, Sequence[str]]]
    """`{node: {attribute: called functions}}`."""


class Functions:
    """The functions of a process, asked for one by one."""

    def __init__(self, function_def: Callable[[str], Any]) -> None:
        self._function_def = function_def
        self._read: dict[str, _Function | None] = {}

    def resolve(self, function: str, executed: str) -> tuple[str, str]:
        """Give the function that defines an executed node, and the node's name there."""
        made = _RUNTIME_MADE.fullmatch(executed)
        if made:
            function, node = self.resolve(function, made["node"])
            return function, made["kind"] + node + made["number"]
        seen = set()
        while (function, executed) not in seen:
            seen.add((function, executed))
            body = self._body(function)
            if body is None or executed in body.nodes:
                break
            called = _longest_call(body, executed)
            if called is None:
                break
            callee = _enter(body.calls[called], executed[len(called) + 1 :])
            if callee is None:  # the node is a part of the lowered loop or branch itself
                break
            function, executed = callee
        return function, executed

    def _body(self, name: str) -> _Function | None:
        if name not in self._read:
            message = self._function_def(name)
            self._read[name] = None if message is None else _read_function(message)
        return self._read[name]


def _read_function(message: Any) -> _Function:
    calls: dict[str, dict[str, Sequence[str]]] = {}
    for node in message.node_def:
        called = ((key, _called(value)) for key, value in node.attr.items())
        by_attribute: dict[str, Sequence[str]] = {key: names for key, names in called if names}
        if by_attribute:
            calls[node.name] = by_attribute
    arguments = (argument.name for argument in message.signature.input_arg)
    return _Function(frozenset([*(node.name for node in message.node_def), *arguments]), calls)


def _called(attribute: Any) -> list[str]:
    if attribute.HasField("func"):
        return [attribute.func.name]
    return [function.name for function in attribute.list.func]


def _longest_call(body: _Function, executed: str) -> str | None:
    prefix = executed
    while "/" in prefix:
        prefix = prefix.rpartition("/")[0]
        if prefix in body.calls:
            return prefix
    return None


def _enter(called: dict[str, Sequence[str]], rest: str) -> tuple[str, str] | None:
    """Follow a call; `rest` is what the runtime's name says after the calling node."""
    branch = _BRANCH.fullmatch(rest)
    if branch:
        which, inside, number, inside_case = branch.groups()
        names = called.get("branches" if number else _ATTRIBUTE[which], ())
        chosen = int(number or 0)
        return (names[chosen], inside_case or inside) if chosen < len(names) else None
    plain = called.get("f", ())
    return (plain[0], rest) if plain else None


def short_name(function: str) -> str:
    """Give the Python name of a traced function, or of a compiled one."""
    found = _TRACED.fullmatch(function) or _HLO_MODULE.fullmatch(function)
    return found["name"] if found else function


def tell_apart(nodes: Sequence[tuple[str, str]]) -> list[str]:
    """Name each (function, node) so that nodes of different functions stay different.

    A node keeps its own name unless its function shares a node name with another one under the
    same first scope; then the function's name comes before all the function has in that scope.
    """
    owners = defaultdict(set)
    for function, node in nodes:
        owners[node].add(function)
    shared = {
        (function, _first_scope(node))
        for node, functions in owners.items()
        if len(functions) > 1
        for function in functions
    }
    labels = _labels({function for function, _ in shared})
    return [
        f"{labels[function]}/{node}"
        if function and (function, _first_scope(node)) in shared
        else node
        for function, node in nodes
    ]


def _labels(functions: set[str]) -> dict[str, str]:
    """Give each function its Python name, or its runtime name when two share the Python name."""
    names = [short_name(function) for function in functions]
    return {
        function: name if names.count(name) == 1 else function.strip("_").partition("_")[2]
        for function, name in zip(functions, names, strict=True)
    }


def _first_scope(node: str) -> str:
    return node.partition("/")[0]

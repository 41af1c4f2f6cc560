"""From the names of executed nodes to the names of the functions' own nodes.

The runtime inlines called functions and names their nodes by the way it took
(`StatefulPartitionedCall/while/body/_12/while/dense/MatMul`). Only the FunctionDefs say which parts
of such a name are calls; they are followed here, and the node's own name remains (`dense/MatMul`).
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from nbprof.ingest.trace.content_cache import Remembered
from nbprof.ingest.trace.fusion import find_fused
from nbprof.ingest.trace.node_attributes import Attribute, Attributes, read_attributes
from nbprof.op_types import is_fused, main_type

INPUT_PIPELINE, NOT_KNOWN = "tf.data", "unknown"
"""What nodes belong to that are in no tf.function; eager ops belong to "", nowhere, and those of a
session to its graph, which is named like a function."""

_BRANCH = re.compile(r"(then|else|cond|body)/_\d+/(.+)|branch(\d+)/_\d+/(.+)")
_RUNTIME_MADE = re.compile(
    r"(?P<kind>_(?:send|recv|arg|retval)_)(?P<node>.+?)(?P<number>(?:_\d+)+)"
)
_HELPER = re.compile(rf"{_RUNTIME_MADE.pattern}|.*_RetVal")
_TRACED = re.compile(r"__(?:inference|forward|backward)_(?P<name>.*)_\d+")
_HLO_MODULE = re.compile(r"a(?P<function>_inference_.*_\d+)__.*")
_OPTIMISED = re.compile(
    r"(ArithmeticOptimizer/[A-Za-z]+_+|ConstantFolding/|ConstantFoldingCtrl/|/unary_ops_composition$)"
)
"""What the optimiser adds to the names of nodes that it makes from others."""
_CALLS = re.compile(
    r"(?:(?:Stateful)?PartitionedCall(?:_\d+)?/)+"
    r"|[^/]+/(?:then|else|cond|body)/_\d+/|[^/]+/branch\d+/_\d+/"
)
"""What a call, a loop or a branch puts before a node's own name."""
_ATTRIBUTE = {"then": "then_branch", "else": "else_branch", "cond": "cond", "body": "body"}


@dataclass(frozen=True)
class _Function:
    nodes: frozenset[str]
    order: tuple[str, ...]
    """The nodes as they were made."""
    calls: dict[str, dict[str, Sequence[str]]]
    """`{node: {attribute: called functions}}`."""
    attributes: dict[str, dict[str, Attribute]]
    """`{node: {name: value}}` of the attributes that are needed, for those that have any."""
    arguments: tuple[str, ...]
    takes: dict[str, dict[int, str]]
    """`{node: {place among its inputs: argument of the function}}`."""
    ops: dict[str, str]
    inputs: dict[str, tuple[str, ...]]
    """`{node: the nodes or arguments that make its inputs}`."""
    devices: dict[str, str]
    """`{node: where it was asked to run}`, as far as that was asked for."""


class Resolved(NamedTuple):
    """Where an executed node comes from."""

    function: str
    """The function that defines it: also the body of a loop or a branch."""
    node: str
    owner: str
    """The tf.function, or other group, that it belongs to."""
    origin: str
    """The node it was made of: the runtime and the optimiser add nodes of their own."""
    main: str
    """The node that does the work: of several that were fused, which are called like the last."""
    fused: tuple[str, ...] | None = None
    """The op types of the others that were fused with it; None where that is not known."""


class Functions:
    """The functions of a process, asked for one by one."""

    def __init__(self, function_def: Callable[[str], Any]) -> None:
        self._function_def = function_def
        self._read: dict[str, _Function | None] = {}

    def resolve_all(
        self, nodes: Sequence[tuple[str, str, str]], captured: Callable[[], Sequence[str]]
    ) -> list[Resolved]:
        """Resolve (function, executed name, op type) one by one.

        Functions that input pipelines run have numbers for names; they are found by their nodes
        among those that `captured` lists.
        """
        pipelines = {one for one, _, _ in nodes if one.startswith(f"{INPUT_PIPELINE}:")}
        ran = defaultdict(set)
        for function, executed, _ in nodes:
            if function in pipelines:
                ran[function].add(executed)
        known = captured() if ran else ()
        names = {function: self._with_nodes(found, known) for function, found in ran.items()}
        resolved = []
        for function, executed, _ in nodes:
            place = self.resolve(names.get(function) or function, executed)
            if function in names:
                owner = f"{INPUT_PIPELINE}:{names[function]}" if names[function] else INPUT_PIPELINE
                place = place._replace(owner=owner)
            resolved.append(place)
        return self._with_fused(resolved, [op_type for _, _, op_type in nodes])

    def _with_fused(self, resolved: list[Resolved], op_types: list[str]) -> list[Resolved]:
        """Find what was fused into nodes: it did not run by itself."""
        ran = defaultdict(set)
        for place in resolved:
            ran[place.function].add(place.origin)
        for row, (place, op_type) in enumerate(zip(resolved, op_types, strict=True)):
            body = self._body(place.function) if is_fused(op_type) else None
            if body is not None:
                known = body.ops, body.inputs, place.origin
                main, fused = find_fused(*known, main_type(op_type), ran[place.function])
                resolved[row] = place._replace(main=main, fused=fused)
        return resolved

    def _with_nodes(self, executed: set[str], captured: Sequence[str]) -> str:
        """Find the function that has all these nodes, or calls what has them.

        Of several of one name, which are the same made again, the last; of different ones none.
        """
        own = {name for name in executed if not _HELPER.fullmatch(name)}
        if not own:
            return ""
        found = [name for name in captured if all(self._has(name, node) for node in own)]
        same = len({short_name(name) for name in found}) == 1
        return max(found, key=_number) if same else ""

    def _has(self, function: str, executed: str) -> bool:
        body = self._body(function)
        if body is None:
            return False
        name = _OPTIMISED.sub("", executed)
        return name in body.nodes or _longest_call(body, name) is not None

    def resolve(self, function: str, executed: str) -> Resolved:
        """Follow the calls in an executed name to the function that defines the node."""
        made = _RUNTIME_MADE.fullmatch(executed)
        if made:
            served = self.resolve(function, made["node"])
            return served._replace(node=made["kind"] + served.node + made["number"])
        owner = function
        while True:  # and each call makes the name shorter
            body = self._body(function)
            if body is None:
                executed = _without_calls(executed)
                break
            if executed in body.nodes:
                break
            called = _longest_call(body, executed)
            if called is None:
                break
            callee = _enter(body.calls[called], executed[len(called) + 1 :])
            if callee is None:  # the node is a part of the lowered loop or branch itself
                break
            function, executed = callee
            if _TRACED.fullmatch(function):
                owner = function
        origin = _OPTIMISED.sub("", executed)
        return Resolved(function, executed, owner, origin, origin)

    def attributes(self, function: str, node: str) -> Attributes:
        """Give those attributes of a node that its shapes and flops depend on."""
        body = self._body(function)
        return body.attributes.get(node, {}) if body else {}

    def device(self, function: str, node: str) -> str:
        """Give the device that a node was asked to run on, or an empty text."""
        body = self._body(function)
        return body.devices.get(node, "") if body else ""

    def data_format(self, function: str, node: str) -> str:
        """Give the order of a node's dimensions, such as `NHWC`, or an empty text."""
        known = self.attributes(function, node).get("data_format")
        return known.decode("utf-8", "replace") if isinstance(known, bytes) else ""

    def inputs(self, function: str, node: str) -> tuple[str, ...]:
        """Name the nodes that make a node's inputs."""
        body = self._body(function)
        return body.inputs.get(node, ()) if body else ()

    def variables_of_nodes(
        self, owner: str, arguments: Mapping[str, int]
    ) -> dict[str, tuple[str, set[int]]]:
        """Tell for the nodes of a function, loops and branches in it included, what they take.

        `arguments` says which arguments of the function are which variables. Given is, for each
        node in the order of the function, the function that defines it and the variables.
        """
        found: dict[str, tuple[str, set[int]]] = {}
        waiting = [(owner, dict(arguments))]
        seen = set()
        while waiting:
            function, known = waiting.pop()
            body = self._body(function)
            if body is None or function in seen:
                continue
            seen.add(function)
            for node in body.order:
                taken = body.takes.get(node, {})
                variables = {known[name] for name in taken.values() if name in known}
                found.setdefault(node, (function, variables))
                waiting += self._callees(body, node, taken, known)
        return found

    def _callees(
        self, body: "_Function", node: str, taken: Mapping[int, str], known: Mapping[str, int]
    ) -> Iterator[tuple[str, dict[str, int]]]:
        """Give the loops and branches that a node runs, with the variables handed to them."""
        for attribute, names in body.calls.get(node, {}).items():
            for name in names:
                callee = self._body(name)
                if callee is None or _TRACED.fullmatch(name):
                    continue
                # The first input of a branch is what decides it.
                first = 1 if attribute in ("then_branch", "else_branch", "branches") else 0
                inputs = dict(enumerate(callee.arguments, first))
                yield (
                    name,
                    {
                        inputs[place]: known[argument]
                        for place, argument in taken.items()
                        if place in inputs and argument in known
                    },
                )

    def _body(self, name: str) -> _Function | None:
        if name not in self._read:
            message = self._function_def(name)
            self._read[name] = None if message is None else _remember(message)
        return self._read[name]


_remembered = Remembered[_Function]()


def _remember(message: Any) -> _Function:
    return _remembered.of(message.SerializeToString(), lambda: _read_function(message))


def _read_function(message: Any) -> _Function:
    calls: dict[str, dict[str, Sequence[str]]] = {}
    for node in message.node_def:
        called = ((key, _called(value)) for key, value in node.attr.items())
        by_attribute: dict[str, Sequence[str]] = {key: names for key, names in called if names}
        if by_attribute:
            calls[node.name] = by_attribute
    attributes = {node.name: read_attributes(node) for node in message.node_def}
    arguments = tuple(argument.name for argument in message.signature.input_arg)
    order = tuple(node.name for node in message.node_def)
    known = set(arguments)
    takes = {
        node.name: {place: name for place, name in enumerate(node.input) if name in known}
        for node in message.node_def
    }
    return _Function(
        frozenset((*order, *arguments)),
        order,
        calls,
        {node: known for node, known in attributes.items() if known},
        arguments,
        {node: taken for node, taken in takes.items() if taken},
        {node.name: node.op for node in message.node_def},
        {node.name: tuple(map(_source, node.input)) for node in message.node_def if node.input},
        {node.name: node.device for node in message.node_def if node.device},
    )


def _source(text: str) -> str:
    """Give the node of an input: `name`, `name:output:0` or `^name`."""
    return text.removeprefix("^").partition(":")[0]


def _called(attribute: Any) -> list[str]:
    if attribute.HasField("func"):
        return [attribute.func.name]
    return [function.name for function in attribute.list.func]


def _without_calls(executed: str) -> str:
    """Take the calls off a name as far as their usual names show, for want of definitions."""
    while found := _CALLS.match(executed):
        executed = executed[found.end() :]
    return executed


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


def function_of_module(module: str) -> str:
    """Give the function that XLA compiled, by the name of its module or of its call."""
    found = _HLO_MODULE.fullmatch(module)
    # Modules are named after functions with all but letters, digits and `_` made `_`.
    return re.sub(r"\W", "_", f"_{found['function']}" if found else module)


def _number(function: str) -> int:
    digits = function.rpartition("_")[2]
    return int(digits) if digits.isdigit() else 0


def short_name(function: str) -> str:
    """Give the Python name of a traced function."""
    pipeline, colon, captured = function.partition(":")
    found = _TRACED.fullmatch(captured if colon else function)
    name = found["name"] if found else pipeline
    return "<lambda>" if name == "_lambda_" else name


def tell_apart(nodes: Sequence[tuple[str, str]]) -> list[str]:
    """Name each (function, node) so that nodes of different functions stay different.

    A node keeps its own name unless its function shares a node name with another one under the
    same first scope; then the function's name comes before all the function has in that scope. A
    name that begins with `/` always stands under its function.
    """
    owners = defaultdict(set)
    for function, node in nodes:
        owners[node].add(function)
    shared = {
        (function, _first_scope(node))
        for node, functions in owners.items()
        if len(functions) > 1 or node.startswith("/")
        for function in functions
    }
    labels = _labels({function for function, _ in shared})
    return [
        f"{labels[function]}/{node.lstrip('/')}".rstrip("/")
        if function and (function, _first_scope(node)) in shared
        else node
        for function, node in nodes
    ]


def _labels(functions: set[str]) -> dict[str, str]:
    """Give each function its Python name, or its numbered name when two share the Python name."""
    names = Counter(short_name(function) for function in functions)
    return {
        function: short_name(function)
        if names[short_name(function)] == 1
        else re.sub(rf"^({INPUT_PIPELINE}:)?__(inference|forward|backward)_", "", function)
        for function in functions
    }


def _first_scope(node: str) -> str:
    return node.partition("/")[0]

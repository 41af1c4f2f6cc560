"""Map the names of executed nodes to the nodes that functions define.

The runtime inlines called functions and prefixes the names of their nodes with the calls
(`StatefulPartitionedCall/while/body/_12/while/dense/MatMul`). Only the FunctionDefs show which
parts of such a name are calls; following them leaves the node's own name (`dense/MatMul`).
"""

import re
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from nbprof.ingest.trace.program.function_names import (
    INPUT_PIPELINE,
    NOT_KNOWN,
    is_of_pipeline,
    is_traced,
    short_name,
    trace_number,
)
from nbprof.op_types import is_fused, main_type

if TYPE_CHECKING:
    from nbprof.ingest.trace.program.function_defs import FunctionBody, Functions
    from nbprof.ingest.trace.work.op_runs import Executed

_BRANCH = re.compile(r"(then|else|cond|body)/_\d+/(.+)|branch(\d+)/_\d+/(.+)")
_ATTRIBUTE = {"then": "then_branch", "else": "else_branch", "cond": "cond", "body": "body"}
_RUNTIME_ADDED = re.compile(
    r"(?P<kind>_(?:send|recv|arg|retval)_)(?P<node>.+?)(?P<number>(?:_\d+)+)"
)
_HELPER = re.compile(rf"{_RUNTIME_ADDED.pattern}|.*_RetVal")
_OPTIMISED = re.compile(
    r"(ArithmeticOptimizer/[A-Za-z]+_+|ConstantFolding/|ConstantFoldingCtrl/|/unary_ops_composition$)"
)
"""Matches what the optimiser adds to the names of nodes that it derives from others."""
_CALLS = re.compile(
    r"(?:(?:Stateful)?PartitionedCall(?:_\d+)?/)+"
    r"|[^/]+/(?:then|else|cond|body)/_\d+/|[^/]+/branch\d+/_\d+/"
)
"""Matches the prefix that a call, a loop or a branch adds to a node's own name."""

MOST_FUSED = 64
"""Maximum number of nodes to visit when searching for those fused into one."""


class Call(NamedTuple):
    """A node that calls a tf.function."""

    function: str
    """The function that defines the node."""
    node: str
    owner: str
    """The tf.function, or other group, that the node belongs to."""


class Resolved(NamedTuple):
    """Where an executed node comes from."""

    function: str
    """The function that defines it, which may be the body of a loop or a branch."""
    node: str
    owner: str
    """The tf.function, or other group, that it belongs to."""
    origin: str
    """The defined node it derives from: the runtime and the optimiser add nodes of their own."""
    main: str
    """The node that does the work; a fused op is named after the last of its nodes."""
    fused: tuple[str, ...] | None = None
    """The op types fused with the main one, None if unknown."""
    calls: tuple[Call, ...] = ()
    """The calls that lead to the function, outermost first."""


def resolve_nodes(
    functions: "Functions",
    nodes: Sequence["Executed"],
    captured: Callable[[], Sequence[str]],
    known: Callable[[], Sequence[str]] = tuple,
) -> list[Resolved]:
    """Resolve the executed nodes.

    The functions of input pipelines run under numbers instead of names; they are recognised by
    their nodes among the functions that `captured` lists. So are functions whose start is not in
    the trace, among all that are `known`.
    """
    names = _named_by_nodes(functions, nodes, INPUT_PIPELINE, captured)
    lost = _named_by_nodes(functions, nodes, NOT_KNOWN, known)
    resolved = []
    for function, executed, _ in nodes:
        name = names.get(function) or lost.get(function) or function
        place = resolve(functions, name, executed)
        if function in names or is_of_pipeline(name):
            owner = f"{INPUT_PIPELINE}:{name}" if name != function else INPUT_PIPELINE
            place = place._replace(owner=owner)
        elif function in lost and name == function:
            place = place._replace(function=NOT_KNOWN, owner=NOT_KNOWN)
        resolved.append(place)
    return _with_fused(functions, resolved, nodes)


def resolve(functions: "Functions", function: str, executed: str) -> Resolved:
    """Follow the calls in an executed name to the function that defines the node."""
    added = _RUNTIME_ADDED.fullmatch(executed)
    if added:
        served = resolve(functions, function, added["node"])
        return served._replace(node=added["kind"] + served.node + added["number"])
    owner = function
    calls: tuple[Call, ...] = ()
    while True:  # ends, because each call makes the name shorter
        body = functions.body(function)
        if body is None:
            executed = _without_calls(executed)
            break
        callee = _callee(body, executed)
        if callee is None:
            break
        if is_traced(callee[0]):
            calls += (Call(function, executed[: -len(callee[1]) - 1], owner),)
            owner = callee[0]
        function, executed = callee
    origin = _OPTIMISED.sub("", executed)
    return Resolved(function, executed, owner, origin, origin, calls=calls)


def _callee(body: "FunctionBody", executed: str) -> tuple[str, str] | None:
    """Return the function that a name leads into and the rest of the name, or None.

    Also None for a name that is part of the lowered loop or branch itself.
    """
    caller = None if body.defines(executed) else body.calling_node(executed)
    if caller is None:
        return None
    calls, rest = body.nodes[caller].calls, executed[len(caller) + 1 :]
    branch = _BRANCH.fullmatch(rest)
    if branch:
        which, inside, number, inside_case = branch.groups()
        names = calls.get("branches" if number else _ATTRIBUTE[which], ())
        chosen = int(number or 0)
        return (names[chosen], inside_case or inside) if chosen < len(names) else None
    plain = calls.get("f", ())
    return (plain[0], rest) if plain else None


def _without_calls(executed: str) -> str:
    """Strip calls by their usual names, since there are no definitions to follow."""
    while found := _CALLS.match(executed):
        executed = executed[found.end() :]
    return executed


def _named_by_nodes(
    functions: "Functions",
    nodes: Sequence["Executed"],
    group: str,
    candidates: Callable[[], Sequence[str]],
) -> Mapping[str, str]:
    """Return the real name of each numbered function of a group, "" if unknown."""
    ran = defaultdict(set)
    for function, executed, _ in nodes:
        if function.startswith(f"{group}:"):
            ran[function].add(executed)
    known = candidates() if ran else ()
    return {function: _with_nodes(functions, names, known) for function, names in ran.items()}


def _with_nodes(functions: "Functions", executed: set[str], captured: Sequence[str]) -> str:
    """Return the function that has all these nodes, directly or through its calls, or "".

    If several match and share a Python name, they are traces of one function and the latest is
    returned; if their names differ, none is.
    """
    own = {name for name in executed if not _HELPER.fullmatch(name)}
    if not own:
        return ""
    found = [name for name in captured if all(_has_node(functions, name, node) for node in own)]
    same = len({short_name(name) for name in found}) == 1
    return max(found, key=trace_number) if same else ""


def _has_node(functions: "Functions", function: str, executed: str) -> bool:
    body = functions.body(function)
    if body is None:
        return False
    name = _OPTIMISED.sub("", executed)
    return body.defines(name) or body.calling_node(name) is not None


def _with_fused(
    functions: "Functions", resolved: list[Resolved], nodes: Sequence["Executed"]
) -> list[Resolved]:
    """Add which nodes were fused into each one: those that did not run by themselves."""
    ran = defaultdict(set)
    for place in resolved:
        ran[place.function].add(place.origin)
    for row, (place, executed) in enumerate(zip(resolved, nodes, strict=True)):
        body = functions.body(place.function) if is_fused(executed.op_type) else None
        if body is not None:
            main, fused = _find_fused(
                body, place.origin, main_type(executed.op_type), ran[place.function]
            )
            resolved[row] = place._replace(main=main, fused=fused)
    return resolved


def _find_fused(
    body: "FunctionBody", node: str, main_type: str, ran: Collection[str]
) -> tuple[str, tuple[str, ...] | None]:
    """Return the nearest node of the main type before a node, and the op types in between.

    Without such a node, return the node itself and None.
    """
    region: dict[str, None] = {node: None}  # nearest first
    main = None
    waiting = deque(region)
    while waiting and len(region) < MOST_FUSED:
        here = waiting.popleft()
        if body.op(here) == main_type:
            main = main or here
            continue
        new = [name for name in _fusable_inputs(body, here, ran) if name not in region]
        region.update(dict.fromkeys(new))
        waiting.extend(new)
    if main is None:
        return node, None
    candidates = [name for name in region if body.op(name) != main_type]
    after = _downstream(body, main, candidates)
    return main, tuple(body.op(name) for name in candidates if name in after)


def _fusable_inputs(body: "FunctionBody", node: str, ran: Collection[str]) -> list[str]:
    """Return the nodes that produce a node's inputs and did not run by themselves."""
    inputs = body.nodes[node].inputs if node in body.nodes else ()
    return [name for name in inputs if name in body.nodes and name not in ran]


def _downstream(body: "FunctionBody", node: str, candidates: Collection[str]) -> set[str]:
    """Return the candidates that depend on a node."""
    found = {node}
    left = {name for name in candidates if name in body.nodes}
    while more := {name for name in left if found.intersection(body.nodes[name].inputs)}:
        found |= more
        left -= more
    return found

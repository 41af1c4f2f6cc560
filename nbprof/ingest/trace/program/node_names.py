"""Map the names of executed nodes to the nodes that functions define.

The runtime inlines called functions and prefixes the names of their nodes with the calls
(`StatefulPartitionedCall/while/body/_12/while/dense/MatMul`). Only the FunctionDefs show which
parts of such a name are calls; following them leaves the node's own name (`dense/MatMul`).
"""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from nbprof.arrays import NONE
from nbprof.ingest.trace.function_names import (
    INPUT_PIPELINE,
    NOT_KNOWN,
    is_of_pipeline,
    is_traced,
    short_name,
    trace_number,
)
from nbprof.ingest.trace.program.fused_nodes import find_fusion
from nbprof.ingest.trace.work.stream_texts import COPY_TYPES
from nbprof.op_types import CHAIN, kernel_of

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


class Call(NamedTuple):
    """A node that calls a tf.function."""

    function: str
    """The function that defines the node."""
    node: str
    owner: str
    """The tf.function, or other group, that the node belongs to."""


class Resolved(NamedTuple):
    """Where an executed node comes from; for a fused one, the node that does the work."""

    function: str
    """The function that defines it, which may be the body of a loop or a branch."""
    node: str
    owner: str
    """The tf.function, or other group, that it belongs to."""
    origin: str
    """The defined node it derives from: the runtime and the optimiser add nodes of their own."""
    op_type: str = ""
    """The type that the program wrote; that of the kernel if no definition is known."""
    fused: tuple[str, ...] | None = None
    """The nodes fused into it, None if they are unknown."""
    inside: int = NONE
    """The executed node that it was fused into, NONE if it ran by itself."""
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
    return _with_types(functions, resolved, nodes)


def name_copies(places: list[Resolved], nodes: Sequence["Executed"]) -> list[Resolved]:
    """Put each copy below the node that asked for it."""
    named = list(places)
    for row, (place, executed) in enumerate(zip(places, nodes, strict=True)):
        if executed.op_type in COPY_TYPES and executed.name != executed.op_type:
            name = f"{place.node.rstrip('/')}/{executed.op_type}"
            named[row] = place._replace(node=name, origin=name, op_type=executed.op_type)
    return named


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
    return Resolved(function, executed, owner, _OPTIMISED.sub("", executed), calls=calls)


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


def _with_types(
    functions: "Functions", resolved: list[Resolved], nodes: Sequence["Executed"]
) -> list[Resolved]:
    """Add the types that the program wrote and the nodes that were fused."""
    ran = defaultdict(set)
    for place in resolved:
        ran[place.function].add(place.origin)
    return [
        _with_type(functions, place, executed.op_type, ran[place.function])
        for place, executed in zip(resolved, nodes, strict=True)
    ]


def _with_type(
    functions: "Functions", place: Resolved, executed_type: str, ran: set[str]
) -> Resolved:
    kernel = kernel_of(executed_type)
    if kernel.main == CHAIN:
        last = functions.node(place.function, place.origin).op
        kernel = replace(kernel, main=last or CHAIN)
    if kernel.is_fused:
        body = functions.body(place.function)
        fusion = body and find_fusion(body, place.origin, kernel, ran)
        if not fusion:
            return place._replace(op_type=kernel.main)
        main, fused = fusion
        return place._replace(node=main, origin=main, op_type=kernel.main, fused=fused)
    written = functions.node(place.function, place.node)
    # What is left of a call, a loop or a branch after inlining is not the op that was written.
    is_op = written.op and not written.calls
    return place._replace(op_type=written.op if is_op else kernel.main, fused=())

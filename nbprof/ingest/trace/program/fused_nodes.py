"""Nodes that TensorFlow fused into others: which they are, and the runs they had.

A fused kernel has the name of the last of the nodes it replaces. The node that does the work is
found backwards, through nodes that did not run by themselves. The others keep rows of their own:
they ran whenever the kernel did, but how long each took is not known, so their runs have no time.
"""

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import Rows
from nbprof.ingest.trace.program.function_defs import FunctionBody

if TYPE_CHECKING:
    from nbprof.ingest.trace.program.function_defs import Functions
    from nbprof.ingest.trace.program.node_names import Resolved
    from nbprof.ingest.trace.work.op_runs import Runs
    from nbprof.op_types import Kernel

MOST_FUSED = 64
"""Maximum number of nodes to visit when searching for those fused into one."""


def find_fusion(
    body: FunctionBody, node: str, kernel: "Kernel", ran: Collection[str]
) -> tuple[str, tuple[str, ...]] | None:
    """Return the node that does the work of a kernel, and the nodes fused into it.

    `node` is the one the kernel is named after; `ran` are those that ran by themselves. Return
    None if the node that does the work cannot be found.
    """
    region = _not_run_before(body, node, kernel.main, ran) if kernel.after else [node]
    main = next((name for name in region if body.op(name) == kernel.main), None)
    if main is None:
        return None
    between = _downstream(body, main, region)
    after = [name for name in reversed(region) if name in between and name != main]
    before = _of_types(body, kernel.before, _upstream(body, main, kernel.before, ran))
    made = (name for tensor in body.outputs.get(main, ()) for name, _ in body.users[tensor])
    after += [name for name in _of_types(body, kernel.then, made) if name not in ran]
    users = (name for tensor in body.nodes[main].tensors for name, _ in body.users[tensor])
    beside = [name for name in _of_types(body, kernel.beside, users) if name not in ran]
    return main, tuple(dict.fromkeys((*before, *after, *beside)))


def _not_run_before(
    body: FunctionBody, node: str, main_type: str, ran: Collection[str]
) -> list[str]:
    """Return a node and the nodes before it that did not run, nearest first.

    Do not go beyond nodes of the main type.
    """
    region: dict[str, None] = {node: None}
    waiting = deque(region)
    while waiting and len(region) < MOST_FUSED:
        here = waiting.popleft()
        if body.op(here) == main_type:
            continue
        inputs = body.nodes[here].inputs if here in body.nodes else ()
        fusable = (name for name in inputs if name in body.nodes and name not in ran)
        new = [name for name in fusable if name not in region]
        region.update(dict.fromkeys(new))
        waiting.extend(new)
    return list(region)


def _downstream(body: FunctionBody, node: str, candidates: Iterable[str]) -> set[str]:
    """Return a node and the candidates that depend on it."""
    found = {node}
    left = {name for name in candidates if name in body.nodes}
    while more := {name for name in left if found.intersection(body.nodes[name].inputs)}:
        found |= more
        left -= more
    return found


def _upstream(
    body: FunctionBody, node: str, types: Collection[str], ran: Collection[str]
) -> list[str]:
    """Return the nodes of these types right before a node that did not run by themselves."""
    found: dict[str, None] = {}
    waiting = [node] if types else []
    while waiting:
        inputs = body.nodes[waiting.pop()].inputs
        fusable = (name for name in _of_types(body, types, inputs) if name not in ran)
        new = [name for name in fusable if name not in found]
        found.update(dict.fromkeys(new))
        waiting.extend(new)
    return list(found)[::-1]


def _of_types(body: FunctionBody, types: Collection[str], names: Iterable[str]) -> list[str]:
    return [name for name in names if body.op(name) in types]


def add_fused(
    runs: "Runs", nodes: "list[Resolved]", functions: "Functions"
) -> "tuple[Runs, list[Resolved]]":
    """Add the fused nodes, and a run without time of each for every run of their kernel."""
    added = [
        place._replace(
            node=name,
            origin=name,
            op_type=functions.node(place.function, name).op,
            fused=(),
            inside=row,
        )
        for row, place in enumerate(nodes)
        for name in place.fused or ()
    ]
    if not added:
        return runs, nodes
    counts = np.array([len(place.fused or ()) for place in nodes])
    return _with_runs(runs, added, counts), nodes + added


def _with_runs(runs: "Runs", added: "Sequence[Resolved]", counts: Rows) -> "Runs":
    """Repeat the runs of kernels for the nodes fused into them, `counts` of each node."""
    kernels = np.flatnonzero(runs.is_run & (counts[runs.node] > 0))
    repeats = counts[runs.node[kernels]]
    rows = np.repeat(kernels, repeats)
    of_kernel = np.arange(len(rows)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    first = len(counts) + np.cumsum(counts) - counts
    columns = {
        field.name: np.concatenate((values, values[rows]))
        for field in fields(runs)
        if isinstance(values := getattr(runs, field.name), np.ndarray)
    }
    columns["node"][len(runs.node) :] = first[runs.node[rows]] + of_kernel
    for untimed in ("duration", "own", "accelerator"):
        columns[untimed][len(runs.node) :] = 0
    executed = [
        runs.nodes[place.inside]._replace(name=place.node, op_type=place.op_type) for place in added
    ]
    return replace(runs, nodes=runs.nodes + executed, **columns)

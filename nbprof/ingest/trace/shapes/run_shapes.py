"""The shapes that ops ran with, and the float operations and output bytes that follow from them.

The input shapes of a graph op are in its event, those of an eager op in its watched call. The
output shape is that of the memory allocated for it. Only distinct combinations are examined, never
single runs.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import NONE, Floats, Ints, Rows, distinct, distinct_pairs
from nbprof.ingest.trace.shapes.flops import Dims, Run, float_ops
from nbprof.ingest.trace.shapes.output_bytes import output_bytes, parse_typed
from nbprof.ingest.trace.shapes.output_shapes import OutputShapes

if TYPE_CHECKING:
    from nbprof.ingest.trace.attribution.watched_calls import WatchedCalls
    from nbprof.ingest.trace.program.function_defs import Functions
    from nbprof.ingest.trace.program.node_names import Resolved
    from nbprof.ingest.trace.work.allocations import Allocations
    from nbprof.ingest.trace.work.gpu_kernels import StreamRuns
    from nbprof.ingest.trace.work.op_runs import Runs

ShapeList = tuple[Dims | None, ...]
"""The shapes of several tensors, None for an unknown one."""

_DIMENSIONS = re.compile(rb"[^\[\]]*\[([\d,]*)\]")


@dataclass(frozen=True, eq=False, kw_only=True)
class ShapeSources:
    """Everything needed to find shapes; much smaller than the trace."""

    strings: list[bytes]
    runs: "Runs"
    in_trace: Rows
    """The input shapes that the trace states for each run, as rows of `strings`."""
    calls: "WatchedCalls"
    nodes: list["Resolved"]
    functions: "Functions"
    read_bytes: Mapping[int, int]
    """`{node: bytes}` for the nodes that read a variable."""
    allocations: "Allocations | None"
    stated_float_ops: Floats
    """Float operations that the trace itself states; they belong to the last runs."""
    on_streams: "StreamRuns"


@dataclass(frozen=True, eq=False, kw_only=True)
class RunShapes:
    """The shapes of each run."""

    distinct: list[ShapeList]
    inputs: Rows
    """Index into `distinct` for the inputs of each run."""
    outputs: Rows
    """Index into `distinct` for the first output of each run."""


def find_shapes(sources: ShapeSources) -> RunShapes:
    """Find the input and output shapes of every run."""
    log = sources.calls.log
    input_lists, inputs = _merge(sources, sources.in_trace, log.shape, parse_shapes)
    allocated = _allocated_shapes(sources)
    output_lists, outputs = _merge(sources, allocated, log.output_shape, _parse_one)
    lists = list(dict.fromkeys((*input_lists, *output_lists)))
    row_of_list = {shapes: number for number, shapes in enumerate(lists)}
    return RunShapes(
        distinct=lists,
        inputs=np.array([row_of_list[shapes] for shapes in input_lists], dtype=np.intp)[inputs],
        outputs=np.array([row_of_list[shapes] for shapes in output_lists], dtype=np.intp)[outputs],
    )


def shape_metrics(sources: ShapeSources, shapes: RunShapes) -> dict[str, Floats]:
    """Return the metrics of the runs that depend on their shapes, NaN where these are unknown."""
    runs, lists = sources.runs, shapes.distinct
    nodes, ran_on, _ = distinct_pairs(runs.node, shapes.inputs, max(len(lists), 1))
    ran = [(node, lists[on]) for node, on in zip(nodes.tolist(), ran_on.tolist(), strict=True)]
    types = [node.op_type for node in runs.nodes]
    inferred = OutputShapes(types, sources.nodes, sources.functions, ran)
    flops = _charged_to_runs(runs, _float_ops(runs, shapes, inferred))
    flops[len(flops) - len(sources.stated_float_ops) :] = sources.stated_float_ops
    size = _charged_to_runs(runs, _output_bytes(sources, inferred))
    on_streams = sources.on_streams
    size[on_streams.run[on_streams.is_copy]] = on_streams.copied[on_streams.is_copy]
    return {"float_ops": flops, "output_bytes": size}


def _charged_to_runs(runs: "Runs", values: Floats) -> Floats:
    """Return the values of runs; further work of a run counts 0, NaN if no run's is known."""
    known = np.zeros(len(runs.nodes), dtype=bool)
    known[runs.node[runs.is_run & ~np.isnan(values)]] = True
    return np.where(runs.is_run, values, np.where(known[runs.node], 0.0, np.nan))


def parse_shape(text: bytes) -> Dims | None:
    """Read `[32,64]` or `float[32,64]`; return None for anything else."""
    found = _DIMENSIONS.fullmatch(text)
    return tuple(map(int, filter(None, found[1].split(b",")))) if found else None


def parse_shapes(text: bytes) -> ShapeList:
    """Read `(float[32,64];int32[])`; an input without a shape, such as a resource, is None."""
    inner = text.removeprefix(b"(").removesuffix(b")")
    return tuple(map(parse_shape, inner.split(b";"))) if inner else ()


def _parse_one(text: bytes) -> ShapeList:
    return (parse_shape(text),)


def _merge(
    sources: ShapeSources, in_trace: Rows, in_log: Ints, parse: Callable[[bytes], ShapeList]
) -> tuple[list[ShapeList], Rows]:
    """Return the distinct shapes, and which of them each run has.

    The shapes of a watched call take precedence over those in the trace.
    """
    calls, strings = sources.calls, sources.strings
    text = in_trace.astype(np.intp)
    text[calls.run] = len(strings) + in_log[calls.call]
    texts, which = distinct(text, len(strings) + len(calls.log.shapes))
    known = len(strings)
    spelled = [
        parse(strings[row]) if row < known else calls.log.shapes[row - known]
        for row in texts.tolist()
    ]
    return spelled, which


def _float_ops(runs: "Runs", shapes: RunShapes, inferred: OutputShapes) -> Floats:
    """Count the float operations of every run."""
    width = max(len(shapes.distinct), 1)
    both = shapes.inputs * width + shapes.outputs
    nodes, pairs, which = distinct_pairs(runs.node, both, width * width)

    def count(node: int, inputs: ShapeList, output: Dims | None) -> float:
        _, name, op_type = runs.nodes[node]
        if name.startswith("/"):  # an HLO op, for which TensorFlow has no formula
            return np.nan
        output = inferred.of(node, inputs) if output is None else output
        run = Run(inputs, output, inferred.attributes(node), inferred.fused(node))
        return float_ops(op_type, run)

    counted = [
        count(node, shapes.distinct[pair // width], shapes.distinct[pair % width][0])
        for node, pair in zip(nodes.tolist(), pairs.tolist(), strict=True)
    ]
    return np.array(counted, dtype=np.float64)[which]


def _output_bytes(sources: ShapeSources, inferred: OutputShapes) -> Floats:
    """Return the bytes of each run's outputs: as its call returned, as allocated, or inferred."""
    calls = sources.calls
    size = _allocated_bytes(sources)
    size = np.where(np.isnan(size), _inferred_bytes(sources, inferred), size)
    returned = calls.log.output_bytes[calls.call]
    size[calls.run] = np.where(returned != NONE, returned, size[calls.run])
    return size


def _inferred_bytes(sources: ShapeSources, inferred: OutputShapes) -> Floats:
    """Return the bytes of each run's outputs as inferred from its node and input shapes."""
    runs, strings, read = sources.runs, sources.strings, sources.read_bytes
    nodes, texts, which = distinct_pairs(runs.node, sources.in_trace, len(strings))
    typed = {text: parse_typed(strings[text]) for text in set(texts.tolist())}
    known = [
        read[node]
        if node in read
        else output_bytes(runs.nodes[node].op_type, typed[text], partial(inferred.of, node))
        for node, text in zip(nodes.tolist(), texts.tolist(), strict=True)
    ]
    return np.array(known, dtype=np.float64)[which]


def _allocated_bytes(sources: ShapeSources) -> Floats:
    """Add up the outputs that each run allocated, NaN where it allocated none."""
    allocations = sources.allocations
    total = np.full(len(sources.runs.node), np.nan)
    if allocations is None:
        return total
    output = (allocations.run != NONE) & (allocations.region == _output_region(sources.strings))
    total[allocations.run[output]] = 0.0
    np.add.at(total, allocations.run[output], allocations.size[output])
    return total


def _allocated_shapes(sources: ShapeSources) -> Rows:
    """Return the shape of each run's first output as a row of `strings`, 0 if none is known.

    A run may also allocate scratch memory, so outputs are preferred. Other memory counts only if
    small allocations were recorded too: otherwise the output may just have been too small.
    """
    allocations = sources.allocations
    shapes = np.zeros(len(sources.runs.node), dtype=np.intp)
    if allocations is None:
        return shapes
    is_output = allocations.region == _output_region(sources.strings)
    for wanted in (is_output,) if allocations.only_large else (~is_output, is_output):
        rows = np.flatnonzero((allocations.run != NONE) & wanted)[::-1]
        shapes[allocations.run[rows]] = allocations.shape[rows]
    return shapes


def _output_region(strings: list[bytes]) -> int:
    return strings.index(b"output") if b"output" in strings else NONE

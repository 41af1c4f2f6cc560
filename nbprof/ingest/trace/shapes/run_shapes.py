"""The shapes that ops ran with, and the float operations and output bytes that follow from them.

The input shapes of a graph op are in its event, those of an eager op in its watched call. The
output shape is that of the memory allocated for it. Only distinct combinations are examined, never
single runs.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import NONE, Floats, Ints, Mask, Rows, distinct, distinct_pairs
from nbprof.ingest.trace.program.node_attributes import Attributes
from nbprof.ingest.trace.shapes.flops import Dims, Run, float_ops
from nbprof.ingest.trace.shapes.fused_shapes import FusedShapes
from nbprof.ingest.trace.shapes.output_bytes import output_bytes, parse_typed
from nbprof.ingest.trace.shapes.output_shapes import OutputShapes
from nbprof.ingest.trace.shapes.used_shapes import UsedShapes
from nbprof.op_types import working_type

if TYPE_CHECKING:
    from nbprof.ingest.trace.attribution.watched_calls import WatchedCalls
    from nbprof.ingest.trace.program.function_defs import Functions
    from nbprof.ingest.trace.program.node_names import Resolved
    from nbprof.ingest.trace.shapes.hlo_flops import HloCounts
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
    compiled: "HloCounts"
    """Float operations of what XLA compiled."""
    programs: Ints
    """The program of XLA's that each run was part of, NONE for most."""
    unseen: Mask
    """The runs of compiled functions whose insides the trace does not show."""
    on_streams: "StreamRuns"


@dataclass(frozen=True, eq=False, kw_only=True)
class RunShapes:
    """The shapes of each run."""

    distinct: list[ShapeList]
    inputs: Rows
    """Index into `distinct` for the inputs of each run."""
    outputs: Rows
    """Index into `distinct` for the first output of each run."""
    inferred: OutputShapes

    def each(self, runs: "Runs") -> tuple[Iterator[tuple[int, ShapeList, Dims | None]], Rows]:
        """Return the distinct (node, inputs, output) of the runs, and which of them each has."""
        width = max(len(self.distinct), 1)
        both = self.inputs * width + self.outputs
        nodes, pairs, which = distinct_pairs(runs.node, both, width * width)
        found = (
            (node, self.distinct[pair // width], self.distinct[pair % width][0])
            for node, pair in zip(nodes.tolist(), pairs.tolist(), strict=True)
        )
        return found, which


def find_shapes(sources: ShapeSources) -> RunShapes:
    """Find the input and output shapes of every run."""
    log = sources.calls.log
    input_lists, inputs = _merge(sources, sources.in_trace, log.shape, parse_shapes)
    allocated = _allocated_shapes(sources)
    output_lists, outputs = _merge(sources, allocated, log.output_shape, _parse_one)
    lists = list(dict.fromkeys((*input_lists, *output_lists)))
    row_of_list = {shapes: number for number, shapes in enumerate(lists)}
    inputs = np.array([row_of_list[shapes] for shapes in input_lists], dtype=np.intp)[inputs]
    outputs = np.array([row_of_list[shapes] for shapes in output_lists], dtype=np.intp)[outputs]
    inferred = _infer(sources, lists, inputs)
    recorded = RunShapes(distinct=lists, inputs=inputs, outputs=outputs, inferred=inferred)
    return _complete(sources, recorded)


def _infer(sources: ShapeSources, lists: list[ShapeList], inputs: Rows) -> OutputShapes:
    runs, nodes = sources.runs, sources.nodes
    rows, ran_on, _ = distinct_pairs(runs.node, inputs, max(len(lists), 1))
    ran = [(row, lists[on]) for row, on in zip(rows.tolist(), ran_on.tolist(), strict=True)]
    used = UsedShapes(runs, nodes, sources.functions, lists, inputs)
    types = [node.op_type for node in runs.nodes]
    return OutputShapes(types, nodes, sources.functions, ran, used)


def _complete(sources: ShapeSources, recorded: RunShapes) -> RunShapes:
    """Add the outputs that can be inferred, and the shapes of fused nodes."""
    types = [node.op_type for node in sources.runs.nodes]
    fused = FusedShapes(types, sources.nodes, sources.functions)
    numbers: dict[ShapeList, int] = {shapes: row for row, shapes in enumerate(recorded.distinct)}
    found, which = recorded.each(sources.runs)
    rows = []
    for node, inputs, output in found:
        inside = sources.nodes[node].inside
        if output is None:
            output = recorded.inferred.of(node if inside == NONE else inside, inputs)
        if inside == NONE:
            inputs = recorded.inferred.of_main(node, inputs)
        else:
            inputs, output = fused.of(node, inputs, output)
        rows.append([numbers.setdefault(list_, len(numbers)) for list_ in (inputs, (output,))])
    of_run = np.array(rows, dtype=np.intp).reshape(-1, 2)[which]
    return replace(recorded, distinct=list(numbers), inputs=of_run[:, 0], outputs=of_run[:, 1])


def shape_metrics(sources: ShapeSources, shapes: RunShapes) -> dict[str, Floats]:
    """Return the metrics of the runs that depend on their shapes, NaN where these are unknown."""
    runs = sources.runs
    flops = _charged_to_runs(runs, _float_ops(sources, shapes))
    flops[len(flops) - len(sources.stated_float_ops) :] = sources.stated_float_ops
    size = _charged_to_runs(runs, _output_bytes(sources, shapes))
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


def _float_ops(sources: ShapeSources, shapes: RunShapes) -> Floats:
    """Count the float operations of every run, once for all runs that are alike."""
    given, of_run = _given_attributes(sources)
    programs, of_program = np.unique(sources.programs, return_inverse=True)
    nodes = sources.runs.nodes

    def count(run: tuple[int, ShapeList, Dims | None], attributes: Attributes, row: int) -> float:
        node, inputs, output = run
        if nodes[node].name.startswith("/"):
            return sources.compiled.of(nodes[node], int(programs[row]))
        place = sources.nodes[node]
        op_type = working_type(nodes[node].op_type, place.op_type)
        attributes = attributes or shapes.inferred.attributes(node)
        return float_ops(op_type, Run(inputs, output, attributes, place.fused is not None))

    found, which = shapes.each(sources.runs)
    width = max(len(programs), 1)
    kinds, details, alike = distinct_pairs(which, of_run * width + of_program, len(given) * width)
    listed = list(found)
    counts = [
        count(listed[kind], given[detail // width], detail % width)
        for kind, detail in zip(kinds.tolist(), details.tolist(), strict=True)
    ]
    in_graph = np.array([not node.name.startswith("/") for node in nodes], dtype=bool)
    known = np.array(counts, dtype=np.float64)[alike]
    return np.where(sources.unseen & in_graph[sources.runs.node], np.nan, known)


def _given_attributes(sources: ShapeSources) -> tuple[list[Attributes], Rows]:
    """Return the distinct attributes of watched calls, and which of them each run has."""
    calls, log = sources.calls, sources.calls.log
    of_run = np.zeros(len(sources.runs.node), dtype=np.intp)
    if not len(log.attributes):
        return [{}], of_run
    of_run[calls.run] = log.attributes[calls.call]
    given = [{name: value for name, value in pairs if value is not None} for pairs in log.given]
    return list(given), of_run


def _output_bytes(sources: ShapeSources, shapes: RunShapes) -> Floats:
    """Return the bytes of each run's outputs: as its call returned, as allocated, or inferred."""
    calls = sources.calls
    size = _allocated_bytes(sources)
    size = np.where(np.isnan(size), _inferred_bytes(sources, shapes), size)
    returned = calls.log.output_bytes[calls.call]
    size[calls.run] = np.where(returned != NONE, returned, size[calls.run])
    return size


def _inferred_bytes(sources: ShapeSources, shapes: RunShapes) -> Floats:
    """Return the bytes of each run's outputs as inferred from its node and input shapes."""
    runs, strings, read = sources.runs, sources.strings, sources.read_bytes
    width = max(len(shapes.distinct), 1)
    both = sources.in_trace.astype(np.intp) * width + shapes.outputs
    nodes, pairs, which = distinct_pairs(runs.node, both, len(strings) * width)
    typed = {text: parse_typed(strings[text]) for text in set((pairs // width).tolist())}

    def size(node: int, text: int, output: Dims | None) -> float:
        is_fused = sources.nodes[node].inside != NONE
        infer = partial(shapes.inferred.of, node)
        return output_bytes(
            runs.nodes[node].op_type, typed[text], lambda dims: output if is_fused else infer(dims)
        )

    known = [
        read[node] if node in read else size(node, pair // width, shapes.distinct[pair % width][0])
        for node, pair in zip(nodes.tolist(), pairs.tolist(), strict=True)
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
    return shapes[_kernel_runs(sources)]


def _kernel_runs(sources: ShapeSources) -> Rows:
    """Return the run whose kernel did each run's work: its own, except for fused nodes."""
    runs = sources.runs
    fused = np.array([place.inside != NONE for place in sources.nodes], dtype=bool)[runs.node]
    kernel = np.arange(len(runs.node))
    of_event = np.zeros(runs.event.max(initial=NONE) + 2, dtype=np.intp)
    of_event[runs.event[~fused]] = kernel[~fused]
    kernel[fused] = of_event[runs.event[fused]]
    return kernel


def _output_region(strings: list[bytes]) -> int:
    return strings.index(b"output") if b"output" in strings else NONE

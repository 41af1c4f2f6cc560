"""With which shapes ops ran, and how many float operations that were.

A graph op's event carries its input shapes, an eager op's watched call does; the output's shape is
that of the memory allocated for it. Only distinct combinations are looked at, never single runs.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from nbprof.arrays import NONE, Ints, Rows
from nbprof.distinct_values import distinct, distinct_pairs
from nbprof.ingest.trace.flops import Dims, Run, float_ops
from nbprof.ingest.trace.node_shapes import OutputShapes
from nbprof.ingest.trace.output_sizes import output_bytes, parse_typed

if TYPE_CHECKING:
    from nbprof.capture.capture import DispatchLog
    from nbprof.ingest.trace.allocations import Allocations
    from nbprof.ingest.trace.node_names import Functions, Resolved
    from nbprof.ingest.trace.op_runs import Runs


_DIMENSIONS = re.compile(rb"[^\[\]]*\[([\d,]*)\]")


def parse_shape(text: bytes) -> Dims | None:
    """Read `[32,64]` or `float[32,64]`, None for anything else."""
    found = _DIMENSIONS.fullmatch(text)
    return tuple(map(int, filter(None, found[1].split(b",")))) if found else None


def parse_shapes(text: bytes) -> tuple[Dims | None, ...]:
    """Read `(float[32,64];int32[])`; an input without a shape, such as a resource, is None."""
    inner = text.removeprefix(b"(").removesuffix(b")")
    return tuple(map(parse_shape, inner.split(b";"))) if inner else ()


@dataclass(frozen=True, eq=False)
class Shaped:
    """What is known of the shapes of each run."""

    inputs: Rows
    """Which of `distinct` a run's inputs had."""
    distinct: list[tuple[Dims | None, ...]]
    outputs: Rows
    """Which of `distinct` a run's first output had."""
    float_ops: npt.NDArray[np.float64]
    """NaN where the shapes needed are not known."""
    output_bytes: npt.NDArray[np.float64]
    """NaN where they are not known."""


def find_shapes(
    strings: list[bytes],
    runs: "Runs",
    in_trace: Rows,
    log: "DispatchLog",
    dispatch: Rows,
    resolved: list["Resolved"],
    functions: "Functions",
    read: Mapping[int, int],
    allocations: "Allocations | None",
    counted: npt.NDArray[np.float64],
) -> Shaped:
    """Find the shapes of every run, count its float operations and the bytes of its outputs.

    `in_trace` has the shapes that the trace says, as rows of `strings`; `read` says how many bytes
    the variable has that a node reads, `counted` what the trace itself counts for the last runs.
    """
    called = np.flatnonzero(dispatch != NONE)
    watched = _Watched(strings, log, called, dispatch[called])
    spelled, inputs = watched.shapes(in_trace, log.shape, parse_shapes)
    allocated_shapes = _output_shapes(strings, runs, allocations)
    spelled_outputs, outputs = watched.shapes(allocated_shapes, log.output_shape, _one_shape)
    lists = list(dict.fromkeys((*spelled, *spelled_outputs)))
    place = {shapes: number for number, shapes in enumerate(lists)}
    inputs = np.array([place[shapes] for shapes in spelled], dtype=np.intp)[inputs]
    outputs = np.array([place[shapes] for shapes in spelled_outputs], dtype=np.intp)[outputs]
    types = [op_type for _, _, op_type in runs.nodes]
    nodes, ran_on, _ = distinct_pairs(runs.node, inputs, max(len(lists), 1))
    ran = [(node, lists[on]) for node, on in zip(nodes.tolist(), ran_on.tolist(), strict=True)]
    shapes = OutputShapes(types, resolved, functions, ran)
    forwarded = _not_allocated(strings, runs, in_trace, read, shapes)
    flops = np.where(runs.is_run, _float_ops(runs, lists, inputs, outputs, shapes), 0.0)
    flops[len(flops) - len(counted) :] = counted
    allocated = _allocated_outputs(strings, runs, allocations)
    given_bytes = np.where(np.isnan(allocated), forwarded, allocated)
    returned = log.output_bytes[dispatch[called]]
    given_bytes[called] = np.where(returned != NONE, returned, given_bytes[called])
    return Shaped(
        inputs,
        lists,
        outputs,
        flops,
        np.where(runs.is_run, given_bytes, 0.0),
    )


def _one_shape(text: bytes) -> tuple[Dims | None, ...]:
    return (parse_shape(text),)


class _Watched(NamedTuple):
    """The runs whose calls were watched, which knows their shapes better than the trace does."""

    strings: list[bytes]
    log: "DispatchLog"
    run: Rows
    call: Rows

    def shapes(
        self, in_trace: Rows, in_log: Ints, parse: Callable[[bytes], tuple[Dims | None, ...]]
    ) -> tuple[list[tuple[Dims | None, ...]], Rows]:
        """Give the distinct shapes, and which of them each run has."""
        given = in_trace.astype(np.intp)
        given[self.run] = len(self.strings) + in_log[self.call]
        texts, which = distinct(given, len(self.strings) + len(self.log.shapes))
        known = len(self.strings)
        spelled = [
            parse(self.strings[text]) if text < known else self.log.shapes[text - known]
            for text in texts.tolist()
        ]
        return spelled, which


def _float_ops(
    runs: "Runs",
    lists: list[tuple[Dims | None, ...]],
    inputs: Rows,
    outputs: Rows,
    shapes: OutputShapes,
) -> npt.NDArray[np.float64]:
    """Count the float operations of every run; `inputs` and `outputs` are places in `lists`."""
    width = max(len(lists), 1)
    nodes, pairs, which = distinct_pairs(runs.node, inputs * width + outputs, width * width)
    of_pair = np.empty(len(nodes))
    for row, (node, both) in enumerate(zip(nodes.tolist(), pairs.tolist(), strict=True)):
        _, executed, op_type = runs.nodes[node]
        given, output = lists[both // width], lists[both % width][0]
        if output is None:
            output = shapes.of(node, given)
        ran = Run(given, output, shapes.attributes[node], shapes.fused(node))
        # TensorFlow has no formulas for HLO ops, whose names begin so.
        of_pair[row] = np.nan if executed.startswith("/") else float_ops(op_type, ran)
    return of_pair[which]


def _not_allocated(
    strings: list[bytes],
    runs: "Runs",
    in_trace: Rows,
    read: Mapping[int, int],
    shapes: OutputShapes,
) -> npt.NDArray[np.float64]:
    """Give the bytes of the outputs of runs of which no allocation tells, by node and inputs."""
    nodes, texts, which = distinct_pairs(runs.node, in_trace, len(strings))
    typed = {text: parse_typed(strings[text]) for text in set(texts.tolist())}
    known = [
        read[node]
        if node in read
        else output_bytes(runs.nodes[node][2], typed[text], partial(shapes.of, node))
        for node, text in zip(nodes.tolist(), texts.tolist(), strict=True)
    ]
    return np.array(known, dtype=np.float64)[which]


def _allocated_outputs(
    strings: list[bytes], runs: "Runs", allocations: "Allocations | None"
) -> npt.NDArray[np.float64]:
    """Add up the outputs that each run allocated, NaN where it allocated none."""
    total = np.full(len(runs.node), np.nan)
    if allocations is None:
        return total
    made = (allocations.run != NONE) & (allocations.region == _region(strings, b"output"))
    total[allocations.run[made]] = 0.0
    np.add.at(total, allocations.run[made], allocations.size[made])
    return total


def _region(strings: list[bytes], name: bytes) -> int:
    return strings.index(name) if name in strings else NONE


def _output_shapes(strings: list[bytes], runs: "Runs", allocations: "Allocations | None") -> Rows:
    """Give the shape of each run's first output, as a row of `strings`, 0 where none was made.

    What a run allocates last may be scratch memory: an output is preferred, whatever else counts,
    unless the output may have been too small to be recorded.
    """
    shapes = np.zeros(len(runs.node), dtype=np.intp)
    if allocations is None:
        return shapes
    output = _region(strings, b"output")
    is_output = allocations.region == output
    for wanted in (is_output,) if allocations.only_large else (~is_output, is_output):
        rows = np.flatnonzero((allocations.run != NONE) & wanted)[::-1]
        shapes[allocations.run[rows]] = allocations.shape[rows]
    return shapes

"""With which shapes ops ran, and how many float operations that were.

A graph op's event carries its input shapes, an eager op's watched call does; the output's shape is
that of the memory allocated for it. Only distinct combinations are looked at, never single runs.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from nbprof.distinct import distinct, distinct_pairs
from nbprof.ingest.flops import Dims, Run, float_ops
from nbprof.ingest.nesting import NONE, Rows
from nbprof.ingest.outputs import forwarded_bytes, parse_typed

if TYPE_CHECKING:
    from nbprof.capture.capture import DispatchLog
    from nbprof.ingest.allocations import Allocations
    from nbprof.ingest.names import Functions, Resolved
    from nbprof.ingest.runs import Runs

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
    given = in_trace.astype(np.intp)
    given[called] = len(strings) + log.shape[dispatch[called]]
    texts, inputs = distinct(given, len(strings) + len(log.shapes))
    spelled = [
        parse_shapes(strings[text]) if text < len(strings) else log.shapes[text - len(strings)]
        for text in texts.tolist()
    ]
    forwarded = _forwarded(strings, runs, in_trace, read)
    texts, outputs = distinct(_output_shapes(strings, runs, allocations), len(strings))
    spelled_outputs = [(parse_shape(strings[text]),) for text in texts.tolist()]
    lists = list(dict.fromkeys((*spelled, *spelled_outputs)))
    place = {shapes: number for number, shapes in enumerate(lists)}
    inputs = np.array([place[shapes] for shapes in spelled], dtype=np.intp)[inputs]
    outputs = np.array([place[shapes] for shapes in spelled_outputs], dtype=np.intp)[outputs]

    width = max(len(lists), 1)
    nodes, shapes, which = distinct_pairs(runs.node, inputs * width + outputs, width * width)
    of_pair = np.empty(len(nodes))
    for row, (node, both) in enumerate(zip(nodes.tolist(), shapes.tolist(), strict=True)):
        attributes = functions.attributes(resolved[node].function, resolved[node].node)
        ran = Run(lists[both // width], lists[both % width][0], attributes)
        _, executed, op_type = runs.nodes[node]
        # TensorFlow has no formulas for HLO ops, whose names begin so.
        of_pair[row] = np.nan if executed.startswith("/") else float_ops(op_type, ran)
    allocated = _allocated_outputs(strings, runs, allocations)
    flops = np.where(runs.is_run, of_pair[which], 0.0)
    flops[len(flops) - len(counted) :] = counted
    output_bytes = np.where(np.isnan(allocated), forwarded, allocated)
    returned = log.output_bytes[dispatch[called]]
    output_bytes[called] = np.where(returned != NONE, returned, output_bytes[called])
    return Shaped(
        inputs,
        lists,
        outputs,
        flops,
        np.where(runs.is_run, output_bytes, 0.0),
    )


def _forwarded(
    strings: list[bytes], runs: "Runs", in_trace: Rows, read: Mapping[int, int]
) -> npt.NDArray[np.float64]:
    """Give the bytes of the outputs of runs that allocate none, by node and inputs."""
    nodes, texts, which = distinct_pairs(runs.node, in_trace, len(strings))
    typed = {text: parse_typed(strings[text]) for text in set(texts.tolist())}
    known = [
        read[node] if node in read else forwarded_bytes(runs.nodes[node][2], typed[text])
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

    What a run allocates last may be scratch memory: an output is preferred, whatever else counts.
    """
    shapes = np.zeros(len(runs.node), dtype=np.intp)
    if allocations is None:
        return shapes
    output = _region(strings, b"output")
    for wanted in (allocations.region != output, allocations.region == output):
        rows = np.flatnonzero((allocations.run != NONE) & wanted)[::-1]
        shapes[allocations.run[rows]] = allocations.shape[rows]
    return shapes

"""With which shapes ops ran, and how many float operations that were.

A graph op's event carries its input shapes, an eager op's watched call does; the output's shape is
that of the memory allocated for it. Only distinct combinations are looked at, never single runs.
"""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from nbprof.ingest.flops import Dims, Run, float_ops
from nbprof.ingest.nesting import NONE, Rows

if TYPE_CHECKING:
    from nbprof.capture.capture import DispatchLog
    from nbprof.ingest.allocations import Allocations
    from nbprof.ingest.host import HostEvents
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
    float_ops: npt.NDArray[np.float64]
    """NaN where the shapes needed are not known."""


def find_shapes(
    host: "HostEvents",
    runs: "Runs",
    resolved: list["Resolved"],
    functions: "Functions",
    allocations: "Allocations | None",
    log: "DispatchLog",
    dispatch: Rows,
) -> Shaped:
    """Find the input shapes of every run and count its float operations."""
    strings = host.space.strings
    eager = np.append(log.shape, NONE)[dispatch]
    in_trace = np.where(runs.event == NONE, 0, host.text("shape")[runs.event])
    texts, inputs = np.unique(
        np.where(eager != NONE, len(strings) + eager, in_trace), return_inverse=True
    )
    spelled = [
        parse_shapes(strings[text]) if text < len(strings) else log.shapes[text - len(strings)]
        for text in texts.tolist()
    ]
    distinct = list(dict.fromkeys(spelled))
    place = {shapes: number for number, shapes in enumerate(distinct)}
    inputs = np.array([place[shapes] for shapes in spelled], dtype=np.intp)[inputs]
    outputs = _output_shapes(host, runs, allocations)

    width, height = max(len(distinct), 1), len(strings)
    keys, which = np.unique((runs.node * width + inputs) * height + outputs, return_inverse=True)
    counted = np.empty(len(keys))
    for row, key in enumerate(keys.tolist()):
        rest, output = divmod(key, height)
        node, shapes = divmod(rest, width)
        attributes = functions.attributes(resolved[node].function, resolved[node].node)
        ran = Run(distinct[shapes], parse_shape(strings[output]), attributes)
        counted[row] = float_ops(runs.nodes[node][2], ran)
    return Shaped(inputs, distinct, np.where(runs.is_run, counted[which], 0.0))


def _output_shapes(host: "HostEvents", runs: "Runs", allocations: "Allocations | None") -> Rows:
    """Give the shape of each run's first output, as a row of `strings`, 0 where none was made.

    What a run allocates last may be scratch memory: an output is preferred, whatever else counts.
    """
    shapes = np.zeros(len(runs.node), dtype=np.intp)
    if allocations is None:
        return shapes
    strings = host.space.strings
    output = strings.index(b"output") if b"output" in strings else NONE
    for wanted in (allocations.region != output, allocations.region == output):
        rows = np.flatnonzero((allocations.run != NONE) & wanted)[::-1]
        shapes[allocations.run[rows]] = allocations.shape[rows]
    return shapes

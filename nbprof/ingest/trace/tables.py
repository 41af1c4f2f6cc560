"""The tables of a Profile, made from what was found in a trace; times become ns since the cell."""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from nbprof.arrays import NONE, Rows
from nbprof.capture.capture import Model, Variable
from nbprof.ingest.trace.allocations import (
    CPU_ALLOCATOR,
    MEMORY,
    ONEDNN_ALLOCATOR,
    Allocations,
    per_run,
)
from nbprof.ingest.trace.devices import CPU
from nbprof.ingest.trace.dtypes import NAMES
from nbprof.ingest.trace.event_kinds import Kind
from nbprof.ingest.trace.flops import Dims
from nbprof.ingest.trace.host_events import NEVER, HostEvents
from nbprof.ingest.trace.layers import Placed
from nbprof.ingest.trace.node_names import Functions, Resolved, short_name, tell_apart
from nbprof.ingest.trace.op_runs import Runs
from nbprof.ingest.trace.run_shapes import Shaped
from nbprof.ingest.trace.steps import Steps
from nbprof.ingest.xspace.xspace import XSpace

Ints = npt.NDArray[np.integer]

TRAINABLE = "_trainable_variables"
"""tfprof's type of the variables that a model learns."""


def node_table(
    runs: Runs,
    resolved: list[Resolved],
    devices: list[str],
    formats: list[str],
    model: Model,
    placed: Placed,
) -> pd.DataFrame:
    """Name the nodes as the functions that define them do; variables stand behind them."""
    names = tell_apart([(node.owner, node.node) for node in resolved])
    counted = sorted(placed.of_variable)
    variables = [model.variables[number] for number in counted]
    nothing, no_text = np.zeros(len(names)), [""] * len(variables)
    rows = [placed.of_variable[number] for number in counted]
    trainable = [False] * len(names) + [one.trainable for one in variables]
    return pd.DataFrame(
        {
            "name": _objects([*names, *(variable.name for variable in variables)]),
            "op_type": _objects(
                [op_type for _, _, op_type in runs.nodes]
                + [variable.op_type for variable in variables]
            ),
            "device": _objects(devices + no_text),
            "data_format": _objects(formats + no_text),
            "shape": _objects(
                [""] * len(names) + [_spell(variable.dims) for variable in variables]
            ),
            "params": np.append(nothing, [_elements(variable) for variable in variables]),
            "trainable": np.array(trainable, dtype=bool),
            "types": _objects([(TRAINABLE,) if one else () for one in trainable]),
            "layer": np.append(nothing + NONE, rows).astype(np.int32),
        },
        copy=False,
    )


def _objects(values: list[Any]) -> "pd.Series[Any]":
    return pd.Series(values, dtype=object)


def _elements(variable: Variable) -> float:
    return np.nan if variable.dims is None else float(prod(variable.dims))


def layer_table(rows: list[tuple[str, str, int]]) -> pd.DataFrame:
    """List the layers and the other parts of the work."""
    return pd.DataFrame(rows, columns=["name", "kind", "parent"])


def shape_table(distinct: list[tuple[Dims | None, ...]]) -> pd.DataFrame:
    """Spell the distinct lists of shapes as tfprof does: `384x640`, or `unknown`."""
    return pd.DataFrame({"shapes": [tuple(map(_spell, dims)) for dims in distinct]}, dtype=object)


def _spell(dims: Dims | None) -> str:
    if dims is None:
        return "unknown"
    return "x".join(map(str, dims)) or "scalar"


def event_table(
    runs: Runs,
    thread: Rows,
    stack: Rows,
    memory: dict[str, npt.NDArray[np.float64]],
    placed: Placed,
    origin_ns: int,
) -> pd.DataFrame:
    """List the op runs, yet without their shapes."""
    return pd.DataFrame(
        {
            "node": runs.node.astype(np.int32),
            "step": runs.step.astype(np.int32),
            "thread": thread.astype(np.int32),
            "start_ns": runs.start // 1000 + origin_ns,
            "duration_ns": runs.duration // 1000,
            "self_ns": runs.own // 1000,
            "is_run": runs.is_run,
            "accelerator": runs.accelerator,
            "stack": stack.astype(np.int32),
            "layer": placed.row.astype(np.int32),
            "backward": placed.backward,
            **memory,
        },
        copy=False,
    )


def memory_of_runs(
    runs: Runs, allocations: Allocations | None, devices: list[str]
) -> dict[str, npt.NDArray[np.float64]]:
    """Give what each run asked for, held and left behind, NaN where that was not recorded.

    Where only large allocations are, a run on the CPU without any may have made small ones.
    """
    if allocations is None:
        return dict.fromkeys(MEMORY, np.full(len(runs.node), np.nan))
    memory = {name: sums.astype(float) for name, sums in per_run(allocations, runs).items()}
    if allocations.only_large:
        on_cpu = np.array([device == CPU for device in devices], dtype=bool)[runs.node]
        silent = np.flatnonzero(on_cpu & (memory["bytes"] == 0))
        for sums in memory.values():
            sums[silent] = np.nan
    return memory


def with_shapes(events: pd.DataFrame, shaped: Shaped) -> pd.DataFrame:
    """Add what the shapes of the op runs tell, before their memory."""
    columns = {name: events[name] for name in events.columns if name not in MEMORY}
    columns |= {
        "input_shapes": pd.Series(shaped.inputs.astype(np.int32)),
        "output_shapes": pd.Series(shaped.outputs.astype(np.int32)),
        "float_ops": pd.Series(shaped.float_ops),
        "output_bytes": pd.Series(shaped.output_bytes),
    }
    return pd.DataFrame(columns | {name: events[name] for name in MEMORY}, copy=False)


def allocation_table(
    strings: list[bytes], node: Rows, allocations: Allocations | None, origin_ns: int
) -> pd.DataFrame:
    """List the allocations; `node` is that of each run."""
    made = allocations or _none()
    texts = np.array([text.decode("utf-8", "replace") for text in strings], dtype=object)
    devices = np.where(texts == ONEDNN_ALLOCATOR.decode(), CPU_ALLOCATOR.decode(), texts)
    end_ns = (made.end // 1000 + origin_ns).astype(float)
    return pd.DataFrame(
        {
            "event": made.run,
            "node": np.append(node, NONE)[made.run],
            "device": devices[made.allocator],
            "start_ns": made.start // 1000 + origin_ns,
            "end_ns": np.where(made.end == NEVER, np.nan, end_ns),
            "bytes": made.size,
            "region": texts[made.region],
            "shape": texts[made.shape],
            "dtype": _dtype_names(made.dtype),
        }
    )


def _dtype_names(numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.object_]:
    found, which = np.unique(numbers, return_inverse=True)
    return np.array([*(NAMES.get(number, "") for number in found.tolist()), ""], object)[which]


def _none() -> Allocations:
    rows, numbers = np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.int64)
    return Allocations(rows, numbers, numbers, numbers, rows, rows, rows, numbers)


def thread_table(space: XSpace, lines: Ints, line_of_cell: int) -> Callable[[], pd.DataFrame]:
    """Name the threads and streams, and tell which of them ran the cell."""
    names = [space.line_name[line] for line in lines.tolist()]
    devices = [space.plane_names[space.line_plane[line]] for line in lines.tolist()]
    table = {"name": _objects(names), "device": _objects(devices), "is_cell": lines == line_of_cell}
    return lambda: pd.DataFrame(table)


def step_table(
    host: HostEvents, steps: Steps, origin_ns: int, what: str, wall_ns: int
) -> pd.DataFrame:
    """List the steps; a cell without any is one step."""
    if not len(steps.event):
        whole = {"start_micros": 0.0, "micros": wall_ns / 1e3, "function": what, "traced": False}
        return pd.DataFrame([{"step": 0, **whole}])
    strings = host.space.strings
    called = np.append(host.text("tf_function_call"), 0)[steps.event]
    names = steps.names or _step_names(host, steps.event)
    return pd.DataFrame(
        {
            "step": np.arange(len(steps.event)),
            "start_micros": steps.start / 1e6 + origin_ns / 1e3,
            "micros": (steps.end - steps.start) / 1e6,
            "function": pd.Series(names, dtype=object),
            "traced": np.array([strings[row].startswith(b"traced") for row in called], dtype=bool),
        }
    )


def input_table(resolved: list[Resolved], functions: Functions) -> pd.DataFrame:
    """List which nodes make the inputs of which, as far as both ran in one function.

    A node that was fused into another, or folded away, is passed through.
    """
    ran = {(place.owner, place.function, place.origin): row for row, place in enumerate(resolved)}
    found = []
    for row, place in enumerate(resolved):
        made_by: dict[int, None] = {}
        seen = {place.origin}
        waiting = list(reversed(functions.inputs(place.function, place.origin)))
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            source = ran.get((place.owner, place.function, name))
            if source is None:
                waiting.extend(reversed(functions.inputs(place.function, name)))
            elif source != row:
                made_by[source] = None
        found += [(row, position, source) for position, source in enumerate(made_by)]
    table = pd.DataFrame(found, columns=["node", "position", "source"]).astype(np.int64)
    return table.assign(shape="unknown")


def _step_names(host: HostEvents, event: Rows) -> list[str]:
    kinds, texts = host.kind[event].tolist(), host.space.name[host.row[event]].tolist()
    dispatched = host.text("eager_op")[event].tolist()
    strings = host.space.strings
    return [_step_name(strings, *told) for told in zip(kinds, texts, dispatched, strict=True)]


def _step_name(strings: list[bytes], kind: int, text: int, dispatched: int) -> str:
    if kind == Kind.SESSION_RUN:
        return "Session.run"
    if kind == Kind.EAGER:
        return short_name(strings[dispatched].decode("utf-8", "replace"))
    return strings[text].decode("utf-8", "replace")

"""The last stage: the tables of a Profile. Times become ns or µs since the start of the cell."""

import time
from functools import cache, partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from nbprof._profile import Profile
from nbprof.arrays import NONE, Ints, Mask, Rows, distinct
from nbprof.columns import allocator_columns
from nbprof.ingest.trace.attribution import python_lines
from nbprof.ingest.trace.attribution.devices import CPU
from nbprof.ingest.trace.cell_time.busy_threads import notes_on_threads
from nbprof.ingest.trace.cell_time.cell_tables import cell_tables
from nbprof.ingest.trace.cell_time.long_steps import find_long_steps
from nbprof.ingest.trace.cell_time.slowdown import estimate_slowdown
from nbprof.ingest.trace.counted_python import counted_lines, notes_on_python, python_tables
from nbprof.ingest.trace.function_names import distinguish
from nbprof.ingest.trace.mark_tables import mark_tables, notes_on_marks
from nbprof.ingest.trace.program import python_stacks
from nbprof.ingest.trace.program.node_attributes import data_format
from nbprof.ingest.trace.retraces import find_traces
from nbprof.ingest.trace.shapes.hlo_flops import HloCounts
from nbprof.ingest.trace.shapes.run_shapes import (
    RunShapes,
    ShapeSources,
    find_shapes,
    shape_metrics,
)
from nbprof.ingest.trace.step_table import notes_on_detail, notes_on_pauses, step_table
from nbprof.ingest.trace.work.allocations import Allocations, may_have_small, memory_of_runs
from nbprof.ingest.trace.work.event_kinds import Kind
from nbprof.ingest.trace.work.host_events import NEVER, HostEvents
from nbprof.ingest.trace.work.peak_memory import devices_of
from nbprof.lazy_tables import lazily
from nbprof.recording import Recording

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbprof.capture.capture import Variable
    from nbprof.ingest.trace.program.function_defs import Functions
    from nbprof.ingest.trace.program.node_names import Resolved
    from nbprof.ingest.trace.shapes.flops import Dims
    from nbprof.ingest.trace.stages import Attribution, Program, RecordedTrace, Work
    from nbprof.ingest.trace.work.op_runs import Runs

Tables = dict[str, Any]
"""Tables by their names in a Profile, or functions that make them on first use."""

TRAINABLE = "_trainable_variables"
"""tfprof's type for the variables that a model learns."""

DTYPES = {
    **{1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 7: "string"},
    **{8: "complex64", 9: "int64", 10: "bool", 11: "qint8", 12: "quint8", 13: "qint32"},
    **{14: "bfloat16", 15: "qint16", 16: "quint16", 17: "uint16", 18: "complex128"},
    **{19: "float16", 20: "resource", 21: "variant", 22: "uint32", 23: "uint64"},
    **{24: "float8_e5m2", 25: "float8_e4m3fn", 29: "int4", 30: "uint4"},
}
"""Element types by their numbers in traces, `DataType` in TensorFlow's types.proto."""


def tabulate(
    trace: "RecordedTrace", work: "Work", program: "Program", attribution: "Attribution"
) -> Profile:
    """Make the Profile; tables that few views need are made on first use."""
    capture = trace.capture
    traces, retraces = find_traces(
        trace.host, work.steps, program.model.signatures, trace.origin_ns
    )
    steps = step_table(trace, work.steps)
    long_steps = find_long_steps(trace, work.steps, steps)
    counted = python_tables(capture)
    tables = {
        **_node_tables(work.runs, program, attribution),
        **_run_tables(trace, work, program, attribution),
        **_source_tables(trace, attribution, counted),
        "traces": traces,
        **cell_tables(trace, work.runs, attribution, long_steps),
        **counted,
        **mark_tables(capture),
        "steps": steps,
    }
    cost_ns = capture.cost_ns
    if trace.reading_since_ns is not None:
        cost_ns += time.perf_counter_ns() - trace.reading_since_ns
    slowdown = estimate_slowdown(capture, steps)
    recording = Recording(
        what=capture.what,
        how=capture.how,
        wall_ns=capture.wall_ns,
        cost_ns=cost_ns,
        watched=capture.watched,
        refused=capture.refused,
        traced_ns=capture.traced_ns,
        outside_ops_bytes=work.peak.outside_ops,
        slowdown=slowdown.times,
        slowdown_is_least=slowdown.at_least,
    )
    detail = (*notes_on_detail(capture, steps), *notes_on_threads(capture, work.runs))
    detail += (*long_steps.notes, *notes_on_pauses(capture, attribution.placed))
    notes = (
        *detail,
        *capture.notes,
        *notes_on_python(capture),
        *work.notes,
        *attribution.placed.notes,
        *retraces,
        *notes_on_marks(capture),
    )
    return Profile(**tables, recording=recording, notes=notes)


def _node_tables(runs: "Runs", program: "Program", attribution: "Attribution") -> Tables:
    return {
        "nodes": node_table(runs, program, attribution),
        "layers": partial(layer_table, attribution.placed.rows),
        "inputs": partial(input_table, program.nodes, program.functions),
    }


def _run_tables(
    trace: "RecordedTrace", work: "Work", program: "Program", attribution: "Attribution"
) -> Tables:
    space, runs, origin_ns = trace.host.space, work.runs, trace.origin_ns
    lines, thread = distinct(runs.line, len(space.line_name))
    events = event_table(work, attribution, thread, origin_ns)
    sources = _shape_sources(trace, work, program, attribution)
    shapes = cache(partial(find_shapes, sources))
    return {
        "events": lazily(lambda: with_shapes(events, shapes(), sources), part=events),
        "shapes": lambda: shape_table(shapes().distinct),
        "allocations": partial(
            allocation_table, space.strings, runs.node, work.allocations, origin_ns
        ),
        "threads": thread_table(trace, lines),
    }


def _shape_sources(
    trace: "RecordedTrace", work: "Work", program: "Program", attribution: "Attribution"
) -> ShapeSources:
    shape, on_streams = trace.host.text("shape"), work.on_streams
    in_trace = np.append(shape, shape.dtype.type(0))[work.runs.event]  # the last is for NONE
    if len(on_streams.run):
        in_trace = in_trace.astype(np.intp)
        in_trace[on_streams.run] = on_streams.shape
    return ShapeSources(
        strings=trace.host.space.strings,
        runs=work.runs,
        in_trace=in_trace,
        calls=attribution.calls,
        nodes=program.nodes,
        functions=program.functions,
        read_bytes=program.variables.read_bytes(program.nodes),
        allocations=work.allocations,
        stated_float_ops=work.stated_float_ops,
        compiled=HloCounts(program.modules, work.runs.nodes),
        programs=np.append(trace.host.number("program_id"), NONE)[work.runs.event],
        unseen=_unseen(trace.host, work.runs),
        on_streams=on_streams,
    )


def _unseen(host: HostEvents, runs: "Runs") -> Mask:
    """Mark the runs of compiled functions if the trace does not show what they ran."""
    launches = host.of(Kind.EXECUTABLE) & (not host.of(Kind.THUNK).any())
    return np.append(launches, False)[runs.event]  # the last is for NONE


def _source_tables(trace: "RecordedTrace", attribution: "Attribution", counted: Tables) -> Tables:
    sources, cells = attribution.sources, trace.capture.cells
    sampled = [python_stacks.in_cells(stack, cells) for stack in trace.samples.stacks]
    sampled += attribution.python_calls.paths
    known, from_trace = sources.stacks, sources.module_stacks
    texts = python_lines.line_texts([*known, *sampled], cells)
    met = [*known, *sampled, *counted_lines(counted)]
    in_cells = python_lines.cell_texts((*met, *from_trace), cells)
    in_files = python_lines.file_texts(met, cells)
    return {
        "frames": partial(python_lines.frame_table, known, from_trace, texts, sampled),
        "cells": partial(python_lines.cell_table, in_cells, in_files),
    }


def node_table(runs: "Runs", program: "Program", attribution: "Attribution") -> pd.DataFrame:
    """List the nodes by the names that their functions give them, then the variables."""
    names = distinguish([(place.owner, place.node) for place in program.nodes])
    formats = [
        data_format(program.functions.node(place.function, place.origin).attributes)
        for place in program.nodes
    ]
    rows = attribution.placed.of_variable
    variables = [program.model.variables[number] for number in sorted(rows)]
    no_number, no_text = np.zeros(len(names)), [""] * len(variables)
    types = [(TRAINABLE,) if variable.trainable else () for variable in variables]
    return pd.DataFrame(
        {
            "name": _objects([*names, *(variable.name for variable in variables)]),
            "op_type": _objects(
                [place.op_type for place in program.nodes]
                + [variable.op_type for variable in variables]
            ),
            "kernel": _objects(_kernels(runs, program) + no_text),
            "fused": np.array(
                [place.inside != NONE for place in program.nodes] + [False] * len(variables),
                dtype=bool,
            ),
            "device": _objects(attribution.devices + no_text),
            "data_format": _objects(formats + no_text),
            "shape": _objects(
                [""] * len(names) + [_spell(variable.dims) for variable in variables]
            ),
            "params": np.append(no_number, [_elements(variable) for variable in variables]),
            "trainable": np.array([False] * len(names) + list(map(bool, types)), dtype=bool),
            "types": _objects([()] * len(names) + types),
            "layer": np.append(no_number + NONE, [rows[number] for number in sorted(rows)]).astype(
                np.int32
            ),
        },
        copy=False,
    )


def _kernels(runs: "Runs", program: "Program") -> list[str]:
    """Say of each node what ran in its place, or what it was fused into; empty for most."""
    texts = []
    for place, executed in zip(program.nodes, runs.nodes, strict=True):
        text = "" if executed.op_type == place.op_type else executed.op_type
        if place.inside != NONE:
            text = f"fused into {program.nodes[place.inside].op_type}"
        elif place.fused:
            types = (program.functions.node(place.function, name).op for name in place.fused)
            text = f"{executed.op_type} with {', '.join(types)}"
        texts.append(text)
    return texts


def _objects(values: list[Any]) -> "pd.Series[Any]":
    return pd.Series(values, dtype=object)


def _elements(variable: "Variable") -> float:
    return np.nan if variable.dims is None else float(prod(variable.dims))


def layer_table(rows: list[tuple[str, str, int]]) -> pd.DataFrame:
    """List the layers and the parts of the work outside them."""
    return pd.DataFrame(rows, columns=["name", "kind", "parent"])


def input_table(nodes: list["Resolved"], functions: "Functions") -> pd.DataFrame:
    """List the nodes that produce each node's inputs, if both ran in the same function."""
    ran = {(place.owner, place.function, place.origin): row for row, place in enumerate(nodes)}
    found = [
        (row, position, producer)
        for row, place in enumerate(nodes)
        for position, producer in enumerate(_producers(row, place, ran, functions))
    ]
    table = pd.DataFrame(found, columns=["node", "position", "source"]).astype(np.int64)
    return table.assign(shape="unknown")


def _producers(
    row: int,
    place: "Resolved",
    ran: dict[tuple[str, str, str], int],
    functions: "Functions",
) -> list[int]:
    """Return the nodes that produce a node's inputs, looking through those that did not run.

    Nodes that did not run were fused into others or folded away.
    """
    producers: dict[int, None] = {}
    seen = {place.origin}
    waiting = list(reversed(functions.node(place.function, place.origin).inputs))
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        producer = ran.get((place.owner, place.function, name))
        if producer is None:
            waiting.extend(reversed(functions.node(place.function, name).inputs))
        elif producer != row:
            producers[producer] = None
    return list(producers)


def shape_table(distinct: "list[tuple[Dims | None, ...]]") -> pd.DataFrame:
    """Spell the distinct lists of shapes as tfprof does: `384x640`, or `unknown`."""
    return pd.DataFrame({"shapes": [tuple(map(_spell, dims)) for dims in distinct]}, dtype=object)


def _spell(dims: "Dims | None") -> str:
    if dims is None:
        return "unknown"
    return "x".join(map(str, dims)) or "scalar"


def event_table(
    work: "Work", attribution: "Attribution", thread: Rows, origin_ns: int
) -> pd.DataFrame:
    """List the op runs without the columns that depend on their shapes."""
    runs, placed = work.runs, attribution.placed
    on_cpu = np.array([device == CPU for device in attribution.devices], dtype=bool)
    unseen = may_have_small(work.allocations, runs, on_cpu)
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
            "stack": attribution.sources.stack.astype(np.int32),
            "call": attribution.python_calls.of_run.astype(np.int32),
            "layer": placed.row.astype(np.int32),
            "backward": placed.backward,
            **memory_of_runs(work.allocations, runs, unseen),
            "live_bytes": work.peak.of_runs(unseen),
        },
        copy=False,
    )


def with_shapes(events: pd.DataFrame, shapes: RunShapes, sources: ShapeSources) -> pd.DataFrame:
    """Add the columns that depend on the shapes of the op runs, before those of memory."""
    memory = allocator_columns()
    columns = {name: events[name] for name in events.columns if name not in memory}
    columns |= {
        "input_shapes": pd.Series(shapes.inputs.astype(np.int32)),
        "output_shapes": pd.Series(shapes.outputs.astype(np.int32)),
        **{name: pd.Series(values) for name, values in shape_metrics(sources, shapes).items()},
    }
    columns |= {name: events[name] for name in events.columns if name in memory}
    return pd.DataFrame(columns, copy=False)


def allocation_table(
    strings: list[bytes], node: Rows, allocations: Allocations | None, origin_ns: int
) -> pd.DataFrame:
    """List the allocations; `node` is the node of each run."""
    listed = allocations or _no_allocations()
    texts = np.array([text.decode("utf-8", "replace") for text in strings], dtype=object)
    devices, device = devices_of(strings, listed.allocator)
    end_ns = (listed.end // 1000 + origin_ns).astype(float)
    return pd.DataFrame(
        {
            "event": listed.run,
            "node": np.append(node, NONE)[listed.run],
            "device": np.array([*devices, ""], dtype=object)[device],
            "start_ns": listed.start // 1000 + origin_ns,
            "end_ns": np.where(listed.end == NEVER, np.nan, end_ns),
            "bytes": listed.size,
            "region": texts[listed.region],
            "shape": texts[listed.shape],
            "dtype": _dtype_names(listed.dtype),
        }
    )


def _dtype_names(numbers: Ints) -> npt.NDArray[np.object_]:
    found, which = np.unique(numbers, return_inverse=True)
    return np.array([*(DTYPES.get(number, "") for number in found.tolist()), ""], object)[which]


def _no_allocations() -> Allocations:
    rows, numbers = np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.int64)
    columns: dict[str, Any] = {
        **dict.fromkeys(("run", "allocator", "region", "shape"), rows),
        **dict.fromkeys(("start", "end", "size", "dtype"), numbers),
    }
    return Allocations(**columns)


def thread_table(trace: "RecordedTrace", lines: Rows) -> "Callable[[], pd.DataFrame]":
    """Return a function that lists the threads and streams and marks the one that ran the cell."""
    space = trace.host.space
    names = [space.line_name[line] for line in lines.tolist()]
    devices = [space.plane_names[space.line_plane[line]] for line in lines.tolist()]
    is_cell = lines == trace.cell_line
    table = {"name": _objects(names), "device": _objects(devices), "is_cell": is_cell}
    return partial(pd.DataFrame, table)

"""From a trace to a Profile: one just captured, or one that was written to a file."""

import time
from pathlib import Path
from typing import Any

import numpy as np

from nbprof._profile import Profile, Recording
from nbprof.capture.capture import Capture
from nbprof.ingest import tables, walltime
from nbprof.ingest.accelerator import add_kernels
from nbprof.ingest.allocations import find_allocations
from nbprof.ingest.callers import session_groups
from nbprof.ingest.devices import find_devices
from nbprof.ingest.host import read_host
from nbprof.ingest.layers import place_runs
from nbprof.ingest.names import Functions
from nbprof.ingest.runs import find_runs
from nbprof.ingest.shapes import find_shapes
from nbprof.ingest.sources import GraphStacks, find_sources, match_dispatches
from nbprof.ingest.steps import find_steps
from nbprof.ingest.tracing import notes_on_tracing, trace_table
from nbprof.ingest.variables import VariableNodes
from nbprof.ingest.xspace import XSpace, read_xspace

NO_OPS = "no TensorFlow op ran in this cell"
NO_OPS_SEEN = "no TensorFlow op ran while the cell was watched"


NO_MEMORY = "no allocations in this trace: memory was not recorded"
ALLOCATION = b"MemoryAllocation"
LATEST = 2**62
"""Nanoseconds since 1970: a trace that says it began later, beyond 2100, does not tell."""


def read(capture: Capture) -> Profile:
    """Read what was captured; a capture without a trace gives a Profile without rows."""
    began = time.perf_counter_ns()
    space = read_xspace(capture.trace or b"", "the trace of this cell")
    return _make_profile(space, capture, began)


def read_trace_file(path: Path, data: bytes) -> Profile:
    """Read a trace that was written to a file: only what is in it is known of the program."""
    began = time.perf_counter_ns()
    space = read_xspace(data, str(path))
    start_ns = _profile_start_ns(space)
    wall_ns = int((space.start_ps + space.duration_ps).max(initial=0)) // 1000
    has_memory = ALLOCATION in space.strings
    capture = Capture(
        trace=data,
        what=path.name,
        how="a trace",
        start_ns=start_ns,
        wall_ns=wall_ns,
        cost_ns=0,
        traced_ns=wall_ns,
        has_memory=has_memory,
        notes=() if has_memory else (NO_MEMORY,),
    )
    return _make_profile(space, capture, began)


def _make_profile(space: XSpace, capture: Capture, began: int) -> Profile:
    host = read_host(space)
    steps = find_steps(host)
    began_ns = _profile_start_ns(space)
    sessions = session_groups(host, capture.sessions, began_ns)
    runs, notes = add_kernels(space, steps, find_runs(host, steps, sessions))
    allocations = find_allocations(host, runs) if capture.has_memory else None
    if capture.trace is not None and not len(runs.node):
        notes += (NO_OPS if capture.traced_ns >= 0.99 * capture.wall_ns else NO_OPS_SEEN,)

    functions = Functions(capture.function_def)
    resolved = functions.resolve_all(runs.nodes, capture.captured_functions)
    model = capture.model({place.owner for place in resolved})
    log = capture.dispatches
    dispatch = match_dispatches(host, runs, log, began_ns)
    graph_stacks = GraphStacks(capture.function_stacks)
    stack, stacks = find_sources(runs, resolved, capture, graph_stacks, dispatch)
    variables = VariableNodes(functions, model)
    placed = place_runs(runs, resolved, functions, variables, graph_stacks, model, log, dispatch)
    read = variables.read_bytes(resolved)
    shaped = find_shapes(host, runs, resolved, functions, allocations, log, dispatch, read)
    devices = find_devices(space, runs, resolved, functions)
    formats = [functions.data_format(place.function, place.origin) for place in resolved]
    origin_ns = began_ns - capture.start_ns
    lines, thread = np.unique(runs.line, return_inverse=True)
    made: dict[str, Any] = {
        "nodes": tables.node_table(runs, resolved, devices, formats, model, placed),
        "layers": tables.layer_table(placed),
        "inputs": lambda: tables.input_table(resolved, functions),
        "shapes": tables.shape_table(shaped.distinct),
        "frames": tables.frame_table(stacks, capture.cells),
        "events": tables.event_table(runs, thread, stack, shaped, allocations, placed, origin_ns),
        "allocations": tables.allocation_table(space, runs, allocations, origin_ns),
        "threads": tables.thread_table(space, lines.tolist(), walltime.line_of_cell(space)),
        "spent": walltime.spent(host, runs, capture.wall_ns, capture.traced_ns, origin_ns),
        "traces": trace_table(host, steps, model.signatures, origin_ns),
        "steps": tables.step_table(host, steps, origin_ns, capture.what, capture.wall_ns),
    }
    notes += notes_on_tracing(made["traces"])
    cost_ns = capture.cost_ns + time.perf_counter_ns() - began
    recording = Recording(capture.what, capture.how, capture.wall_ns, cost_ns, capture.traced_ns)
    return Profile(**made, recording=recording, notes=capture.notes + notes)


def _profile_start_ns(space: XSpace) -> int:
    """Find when the trace began, by the clock of `time.time_ns`; 0 where that is not told."""
    starts = (stats.get("profile_start_time") for stats in space.plane_stats)
    return next((start for start in starts if isinstance(start, int) and start < LATEST), 0)

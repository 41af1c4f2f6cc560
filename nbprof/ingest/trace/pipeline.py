"""From a trace to a Profile."""

import time
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from nbprof._profile import Profile, Recording
from nbprof.arrays import Floats
from nbprof.capture.capture import Capture
from nbprof.distinct_values import distinct
from nbprof.ingest.trace import source_text, tables, walltime
from nbprof.ingest.trace.allocations import Allocations, find_allocations
from nbprof.ingest.trace.callers import session_groups
from nbprof.ingest.trace.device_steps import DeviceSteps, find_device_steps
from nbprof.ingest.trace.devices import find_devices
from nbprof.ingest.trace.event_kinds import WANTED
from nbprof.ingest.trace.gpu_kernels import add_kernels
from nbprof.ingest.trace.hlo_modules import add_stacks, place_hlo_ops, read_modules
from nbprof.ingest.trace.host_events import HostEvents, read_host
from nbprof.ingest.trace.layers import place_runs
from nbprof.ingest.trace.node_names import Functions
from nbprof.ingest.trace.op_runs import Runs, find_runs
from nbprof.ingest.trace.python_lines import GraphStacks, find_sources, match_dispatches
from nbprof.ingest.trace.retraces import find_traces
from nbprof.ingest.trace.run_shapes import find_shapes
from nbprof.ingest.trace.steps import Steps, find_steps
from nbprof.ingest.trace.tpu_ops import add_hlo_ops, has_tpu, is_tpu
from nbprof.ingest.trace.variables import VariableNodes
from nbprof.ingest.xspace.metadata_stats import read_event_metadata
from nbprof.ingest.xspace.xspace import XSpace, read_xspace
from nbprof.lazy_tables import lazily

NO_OPS = "no TensorFlow op ran in this cell"
NO_OPS_IN_FILE = "no op run is in this trace"
NO_OPS_SEEN = "no TensorFlow op ran while the cell was watched"


LATEST = 2**62
"""Nanoseconds since 1970: a trace that says it began later, beyond 2100, does not tell."""


def read(capture: Capture) -> Profile:
    """Read what was captured; a capture without a trace gives a Profile without rows."""
    began = time.perf_counter_ns()
    host = read_host(read_xspace(capture.trace or b"", "the trace of this cell", WANTED))
    clock = Clock(profile_start_ns(host.space), walltime.line_of_cell(host), began)
    return make_profile(host, capture, clock)


@dataclass(frozen=True)
class Clock:
    """How the times of a trace are to be read."""

    began_ns: int
    """When the trace began, by the clock of its Capture."""
    line: int
    """The line of the thread whose time is accounted for, NONE where it is not known."""
    reading_since: int | None = None
    """Since when the trace is being read, if that is a cost of the profiled code."""


def make_profile(host: HostEvents, capture: Capture, clock: Clock) -> Profile:
    """Find what ran, of which node and in which step, and make the tables."""
    space, began_ns = host.space, clock.began_ns
    steps, marked = find_device_steps(host, find_steps(host))
    sessions = session_groups(host, capture.sessions, began_ns)
    runs, notes = add_kernels(space, steps, marked, find_runs(host, steps, sessions))
    runs, counted = _add_tpu(space, steps, marked, runs, capture)
    allocations = _allocations(host, runs, capture)
    if capture.trace is not None and not len(runs.node):
        notes += (_nothing_ran(capture, clock),)

    functions = Functions(capture.function_def)
    resolved = functions.resolve_all(runs.nodes, capture.captured_functions)
    modules = read_modules(space, capture.trace or b"", capture.what, runs.nodes)
    resolved, of_node = place_hlo_ops(resolved, modules)
    model = capture.model({place.owner for place in resolved})
    log = capture.dispatches
    dispatch = match_dispatches(host, runs, log, began_ns)
    graph_stacks = GraphStacks(capture.function_stacks)
    stack, stacks = find_sources(runs, resolved, capture, graph_stacks, dispatch)
    stack, of_modules = add_stacks(stack, len(stacks), of_node, runs)
    texts = source_text.line_texts(stacks, capture.cells)
    in_cells = source_text.cell_texts((*stacks, *of_modules), capture.cells)
    variables = VariableNodes(functions, model)
    placed = place_runs(runs, resolved, functions, variables, graph_stacks, model, log, dispatch)
    origin_ns = began_ns - capture.start_ns
    lines, thread = distinct(runs.line, len(space.line_name))
    read = variables.read_bytes(resolved)
    node, strings, shape = runs.node, space.strings, host.text("shape")
    in_trace = np.append(shape, shape.dtype.type(0))[runs.event]  # the last entry is NONE's
    defined = resolved, functions, read
    shaped = cache(
        partial(find_shapes, strings, runs, in_trace, log, dispatch, *defined, allocations, counted)
    )
    devices = find_devices(space, runs, resolved, functions)
    memory = tables.memory_of_runs(runs, allocations, devices)
    events = tables.event_table(runs, thread, stack, memory, placed, origin_ns)
    formats = [functions.data_format(place.function, place.main) for place in resolved]
    traces, on_traces = find_traces(host, steps, model.signatures, origin_ns)
    made: dict[str, Any] = {
        "nodes": tables.node_table(runs, resolved, devices, formats, model, placed),
        "layers": partial(tables.layer_table, placed.rows),
        "inputs": lambda: tables.input_table(resolved, functions),
        "shapes": lambda: tables.shape_table(shaped().distinct),
        "frames": lambda: source_text.frame_table(stacks, texts, of_modules),
        "cells": lambda: source_text.cell_table(in_cells),
        "events": lazily(lambda: tables.with_shapes(events, shaped()), part=events),
        "allocations": lambda: tables.allocation_table(strings, node, allocations, origin_ns),
        "threads": tables.thread_table(space, lines, clock.line),
        "spent": walltime.spent(host, runs, capture, clock.line, origin_ns),
        "traces": traces,
        "steps": tables.step_table(host, steps, origin_ns, capture.what, capture.wall_ns),
    }
    cost_ns = capture.cost_ns
    if clock.reading_since is not None:
        cost_ns += time.perf_counter_ns() - clock.reading_since
    recording = Recording(capture.what, capture.how, capture.wall_ns, cost_ns, capture.traced_ns)
    return Profile(**made, recording=recording, notes=capture.notes + notes + on_traces)


def _add_tpu(
    space: XSpace, steps: Steps, marked: DeviceSteps, runs: Runs, capture: Capture
) -> tuple[Runs, Floats]:
    """Add what a TPU ran, if there is one, with the float operations that the trace says."""
    if not has_tpu(space):
        return runs, np.zeros(0)
    metadata = read_event_metadata(capture.trace or b"", capture.what, is_tpu)
    return add_hlo_ops(space, steps, marked, runs, metadata)


def _allocations(host: HostEvents, runs: Runs, capture: Capture) -> Allocations | None:
    return find_allocations(host, runs, capture.only_large) if capture.has_memory else None


def _nothing_ran(capture: Capture, clock: Clock) -> str:
    if clock.reading_since is None:
        return NO_OPS_IN_FILE
    return NO_OPS if capture.traced_ns >= 0.99 * capture.wall_ns else NO_OPS_SEEN


def profile_start_ns(space: XSpace) -> int:
    """Find when the trace began, by the clock of `time.time_ns`; 0 where that is not told."""
    starts = (stats.get("profile_start_time") for stats in space.plane_stats)
    return next((start for start in starts if isinstance(start, int) and start < LATEST), 0)

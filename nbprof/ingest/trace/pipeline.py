"""From a trace to a Profile in four stages.

Find the work that was done, the program behind it and what each run is charged to; then make the
tables. `stages.py` defines the values that the stages hand on.
"""

import time
from dataclasses import replace

import numpy as np

from nbprof._profile import Profile
from nbprof.arrays import Floats
from nbprof.capture.capture import Capture, Stack
from nbprof.ingest.trace.attribution.devices import find_devices
from nbprof.ingest.trace.attribution.layers import place_runs
from nbprof.ingest.trace.attribution.python_calls import find_python_calls
from nbprof.ingest.trace.attribution.python_lines import find_sources
from nbprof.ingest.trace.attribution.watched_calls import match_calls
from nbprof.ingest.trace.cell_time.traced_time import line_of_cell
from nbprof.ingest.trace.program.function_defs import Functions
from nbprof.ingest.trace.program.fused_nodes import add_fused
from nbprof.ingest.trace.program.hlo_modules import find_modules, name_hlo_ops, read_modules
from nbprof.ingest.trace.program.node_names import name_copies, resolve_nodes
from nbprof.ingest.trace.program.python_stacks import GraphStacks
from nbprof.ingest.trace.program.variables import VariableNodes
from nbprof.ingest.trace.stages import Attribution, Program, RecordedTrace, Work
from nbprof.ingest.trace.tables import tabulate
from nbprof.ingest.trace.windows import read_windows
from nbprof.ingest.trace.work.allocations import find_allocations
from nbprof.ingest.trace.work.callers import session_groups
from nbprof.ingest.trace.work.clocked_steps import add_clocked
from nbprof.ingest.trace.work.compiled_calls import add_executions
from nbprof.ingest.trace.work.ended_threads import notes_on_ended_threads
from nbprof.ingest.trace.work.gpu_kernels import add_kernels
from nbprof.ingest.trace.work.host_events import read_host
from nbprof.ingest.trace.work.op_runs import Runs, find_runs
from nbprof.ingest.trace.work.peak_memory import PeakMemory
from nbprof.ingest.trace.work.steps import DeviceSteps, find_device_steps, find_steps
from nbprof.ingest.trace.work.tpu_ops import add_hlo_ops, has_tpu, is_tpu
from nbprof.ingest.xspace.metadata_stats import read_event_metadata
from nbprof.ingest.xspace.xspace import XSpace

NO_OPS = "no TensorFlow op ran in this cell"
NO_OPS_IN_FILE = "this trace contains no op runs"
NO_OPS_SEEN = "no TensorFlow op ran while the cell was watched"


def read(capture: Capture) -> Profile:
    """Read a capture; without a trace, the Profile has no rows."""
    now = time.perf_counter_ns()
    space, began_ns, notes = read_windows(capture)
    host = read_host(space)
    return make_profile(
        RecordedTrace(
            host=host,
            capture=capture,
            began_ns=began_ns,
            cell_line=line_of_cell(host),
            reading_since_ns=now,
            notes=notes,
        )
    )


def make_profile(trace: RecordedTrace) -> Profile:
    """Take a trace through all stages."""
    host, notes = add_executions(trace.host)
    trace = replace(trace, host=host, notes=trace.notes + notes)
    work = find_work(trace)
    work, program = _with_fused(work, find_program(trace, work.runs))
    attribution = attribute(trace, work.runs, program)
    return tabulate(trace, work, program, attribution)


def find_work(trace: RecordedTrace) -> Work:
    """Find the op runs on all devices, their steps and their allocations."""
    host, capture = trace.host, trace.capture
    steps = find_device_steps(host, add_clocked(trace, find_steps(host)))
    sessions = session_groups(host, capture.sessions, trace.began_ns)
    on_host = find_runs(host, steps.steps, sessions, keeps_threads=capture.keeps_threads)
    on_gpu = add_kernels(host, steps, on_host)
    runs, stated_float_ops = _add_tpu(host.space, steps, on_gpu.runs, capture)
    lost = () if capture.keeps_threads else notes_on_ended_threads(trace)
    notes = trace.notes + on_gpu.notes + lost
    allocations = None
    if capture.has_memory:
        ends = trace.window_ends_ps()
        allocations = find_allocations(host, runs, ends, only_large=capture.only_large)
    peak = PeakMemory.find(host.space.strings, allocations)
    if len(runs.node):
        notes += (*peak.notes(), *filter(None, (capture.elsewhere.in_part,)))
    elif capture.windows and not lost:
        notes += (_nothing_ran(trace),)
    return Work(
        steps=steps.steps,
        runs=runs,
        stated_float_ops=stated_float_ops,
        on_streams=on_gpu.on_streams,
        allocations=allocations,
        peak=peak,
        notes=notes,
    )


def find_program(trace: RecordedTrace, runs: Runs) -> Program:
    """Find the definitions of the nodes that ran, and the model they are part of."""
    capture = trace.capture
    functions = Functions(capture.function_def)
    nodes = resolve_nodes(
        functions, runs.nodes, capture.captured_functions, capture.known_functions
    )
    modules = find_modules(trace.host.space, capture.trace, capture.what, runs.nodes)
    nodes, module_stacks = name_hlo_ops(nodes, read_modules(modules, capture.what))
    nodes = name_copies(nodes, runs.nodes)
    model = capture.model({node.owner for node in nodes})
    return Program(
        functions=functions,
        nodes=nodes,
        model=model,
        variables=VariableNodes(functions, model),
        graph_stacks=GraphStacks(capture.function_stacks),
        module_stacks=module_stacks,
        modules=modules,
    )


def _with_fused(work: Work, program: Program) -> tuple[Work, Program]:
    """Add the nodes that were fused into others, with their runs."""
    if len(work.stated_float_ops):  # these belong to the last runs, on TPUs
        return work, program
    runs, nodes = add_fused(work.runs, program.nodes, program.functions)
    no_stacks: list[Stack] = [()] * (len(nodes) - len(program.nodes))
    stacks = program.module_stacks + no_stacks
    return replace(work, runs=runs), replace(program, nodes=nodes, module_stacks=stacks)


def attribute(trace: RecordedTrace, runs: Runs, program: Program) -> Attribution:
    """Find the line of Python, the layer and the device that each run belongs to."""
    calls = match_calls(trace, runs)
    return Attribution(
        calls=calls,
        python_calls=find_python_calls(trace, runs, calls, trace.capture.cells),
        sources=find_sources(runs, program, calls, trace.capture.cells),
        placed=place_runs(runs, program, calls),
        devices=find_devices(trace.host.space, runs, program),
    )


def _add_tpu(
    space: XSpace, steps: DeviceSteps, runs: Runs, capture: Capture
) -> tuple[Runs, Floats]:
    """Add the work of TPUs, if there are any; also return the float operations of that work."""
    if not has_tpu(space):
        return runs, np.zeros(0)
    metadata = read_event_metadata(capture.trace, capture.what, is_tpu)
    return add_hlo_ops(space, steps, runs, metadata)


def _nothing_ran(trace: RecordedTrace) -> str:
    if trace.reading_since_ns is None:
        return NO_OPS_IN_FILE
    capture = trace.capture
    nothing = NO_OPS if capture.traced_ns >= 0.99 * capture.wall_ns else NO_OPS_SEEN
    reason = capture.elsewhere.all_of_it
    return f"{nothing}; {reason}" if reason else nothing

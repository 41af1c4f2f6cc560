"""The values that the stages of reading a trace hand on.

`pipeline.make_profile` turns a RecordedTrace into Work (what ran), Work into a Program (where it
was defined), both into an Attribution (what each run is charged to), and all of them into tables.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from nbprof.ingest.trace.cell_time.sampled_stacks import Samples, read_samples

if TYPE_CHECKING:
    from nbprof.arrays import Floats, Ints
    from nbprof.capture.capture import Capture, Model, Stack
    from nbprof.ingest.trace.attribution.layers import Placed
    from nbprof.ingest.trace.attribution.python_calls import PythonCalls
    from nbprof.ingest.trace.attribution.python_lines import Sources
    from nbprof.ingest.trace.attribution.watched_calls import WatchedCalls
    from nbprof.ingest.trace.program.function_defs import Functions
    from nbprof.ingest.trace.program.hlo_modules import StoredModule
    from nbprof.ingest.trace.program.node_names import Resolved
    from nbprof.ingest.trace.program.python_stacks import GraphStacks
    from nbprof.ingest.trace.program.variables import VariableNodes
    from nbprof.ingest.trace.work.allocations import Allocations
    from nbprof.ingest.trace.work.gpu_kernels import StreamRuns
    from nbprof.ingest.trace.work.host_events import HostEvents
    from nbprof.ingest.trace.work.op_runs import Runs
    from nbprof.ingest.trace.work.peak_memory import PeakMemory
    from nbprof.ingest.trace.work.steps import Steps


@dataclass(frozen=True, eq=False, kw_only=True)
class RecordedTrace:
    """The events of a trace, what was captured with them, and how to read their times."""

    host: "HostEvents"
    capture: "Capture"
    began_ns: int
    """When the trace began, on the clock of its Capture."""
    cell_line: int
    """The trace line of the thread whose wall time is accounted for, NONE if unknown."""
    reading_since_ns: int | None = None
    """When reading began (`time.perf_counter_ns`); None if reading is no cost of profiling."""
    notes: tuple[str, ...] = ()
    """Notes on what the trace itself does not tell."""

    @property
    def origin_ns(self) -> int:
        """When the trace began, counted from the start of the recorded code."""
        return self.began_ns - self.capture.start_ns

    @cached_property
    def samples(self) -> Samples:
        """The samples of the cell's Python stacks, on the profile's clock."""
        return read_samples(self.capture)

    def window_ends_ps(self) -> "Ints":
        """Return when each window of the trace ended, on its own clock; empty for a single one."""
        windows = self.capture.windows
        ends = [window.ended_ns - self.began_ns for window in windows if len(windows) > 1]
        return np.array(ends, dtype=np.int64) * 1000


@dataclass(frozen=True, eq=False, kw_only=True)
class Work:
    """What ran on the host and its accelerators."""

    steps: "Steps"
    runs: "Runs"
    stated_float_ops: "Floats"
    """Float operations that the trace itself states; they belong to the last runs."""
    on_streams: "StreamRuns"
    allocations: "Allocations | None"
    """None if memory was not recorded."""
    peak: "PeakMemory"
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Program:
    """The definitions behind the nodes that ran."""

    functions: "Functions"
    nodes: "list[Resolved]"
    """Where each of the executed nodes is defined."""
    model: "Model"
    variables: "VariableNodes"
    graph_stacks: "GraphStacks"
    module_stacks: "list[Stack]"
    """The Python stack of each node as its HLO module states it, empty for other nodes."""
    modules: "list[StoredModule]"
    """The functions that XLA compiled and that ran."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Attribution:
    """What the runs are charged to."""

    calls: "WatchedCalls"
    python_calls: "PythonCalls"
    sources: "Sources"
    placed: "Placed"
    devices: list[str]
    """The device of each node."""

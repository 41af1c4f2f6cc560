"""From a captured trace to a Profile."""

import time
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from nbprof._profile import Profile, Recording
from nbprof.ingest.accelerator import add_kernels
from nbprof.ingest.host import HostEvents, read_host
from nbprof.ingest.kinds import Kind
from nbprof.ingest.names import Functions, tell_apart
from nbprof.ingest.nesting import Rows
from nbprof.ingest.runs import Runs, find_runs
from nbprof.ingest.steps import Steps, find_steps
from nbprof.ingest.xspace import XSpace, read_xspace

if TYPE_CHECKING:
    from nbprof.capture.capture import Capture

NO_OPS = "no TensorFlow op ran in this cell"


def read(capture: "Capture") -> Profile:
    """Read what was captured; a capture without a trace gives a Profile without rows."""
    began = time.perf_counter_ns()
    host = read_host(read_xspace(capture.trace or b"", "the trace of this cell"))
    steps = find_steps(host)
    runs, notes = add_kernels(host.space, steps, find_runs(host, steps))
    origin_ns = _profile_start_ns(host.space) - capture.start_ns

    threads, thread = np.unique(runs.line, return_inverse=True)
    if capture.trace is not None and not len(runs.node):
        notes += (NO_OPS,)
    tables = {
        "nodes": _nodes(runs, capture),
        "events": _events(runs, thread, origin_ns),
        "threads": _threads(host.space, threads.tolist()),
        "steps": _steps(host, steps, origin_ns),
    }
    cost_ns = capture.cost_ns + time.perf_counter_ns() - began
    recording = Recording(capture.what, capture.how, capture.wall_ns, cost_ns)
    return Profile(**tables, recording=recording, notes=capture.notes + notes)


def _profile_start_ns(space: XSpace) -> int:
    """Find when the trace began, by the clock of `time.time_ns`."""
    starts = (stats.get("profile_start_time") for stats in space.plane_stats)
    return next((start for start in starts if isinstance(start, int)), 0)


def _nodes(runs: Runs, capture: "Capture") -> pd.DataFrame:
    functions = Functions(capture.function_def)
    own = [functions.resolve(function, name) for function, name, _ in runs.nodes]
    op_types = [op_type for _, _, op_type in runs.nodes]
    return pd.DataFrame({"name": tell_apart(own), "op_type": op_types}, dtype=object)


def _events(runs: Runs, thread: Rows, origin_ns: int) -> pd.DataFrame:
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
        }
    )


def _threads(space: XSpace, lines: list[int]) -> pd.DataFrame:
    names = [space.line_name[line] for line in lines]
    devices = [space.plane_names[space.line_plane[line]] for line in lines]
    return pd.DataFrame({"name": names, "device": devices}, dtype=object)


def _steps(host: HostEvents, steps: Steps, origin_ns: int) -> pd.DataFrame:
    strings = host.space.strings
    called = host.text("tf_function_call")[steps.event]
    names = [
        "Session.run"
        if host.kind[event] == Kind.SESSION_RUN
        else strings[host.space.name[host.row[event]]].decode("utf-8", "replace")
        for event in steps.event
    ]
    return pd.DataFrame(
        {
            "step": np.arange(len(steps.event)),
            "start_micros": steps.start / 1e6 + origin_ns / 1e3,
            "micros": (steps.end - steps.start) / 1e6,
            "function": pd.Series(names, dtype=object),
            "traced": np.array(
                [strings[text].startswith(b"traced") for text in called], dtype=bool
            ),
        }
    )

"""Read a trace file, knowing nothing about the program beyond what the trace contains."""

import re
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from nbprof._profile import Profile
from nbprof.arrays import NONE
from nbprof.capture.capture import CALLING_THREAD, Capture, TraceWindow
from nbprof.columns import allocator_columns
from nbprof.ingest.protobuf.wire import LENGTH, Buffer
from nbprof.ingest.trace.cell_time.traced_time import line_of_cell
from nbprof.ingest.trace.clock import stated_start_ns
from nbprof.ingest.trace.pipeline import make_profile
from nbprof.ingest.trace.program import hlo_modules
from nbprof.ingest.trace.stages import RecordedTrace
from nbprof.ingest.trace.work.allocations import CPU_ALLOCATOR, ONEDNN_ALLOCATOR
from nbprof.ingest.trace.work.event_kinds import WANTED, Kind
from nbprof.ingest.trace.work.host_events import HostEvents, read_host
from nbprof.ingest.trace.work.tpu_ops import has_tpu
from nbprof.ingest.xspace.xspace import XSpace, read_space
from nbprof.note import Note
from nbprof.progress import Done, ignore_progress

ALLOCATION = b"MemoryAllocation"

NO_MEMORY = "no allocations in this trace: memory was not recorded"
LOWER_BOUNDS = (
    "run counts are lower bounds: TensorFlow's own traces leave out cheap ops once they are warm; "
    "%%tfprof records every run"
)
NO_PYTHON = "no Python thread in this trace: profile.summary() cannot show where time went"
NOT_KNOWN = "not known"

SPACE_ERROR, SPACE_WARNING = 2 << 3 | LENGTH, 3 << 3 | LENGTH
MOST_MESSAGES = 3
"""Maximum number of the profiler's own messages to pass on."""
LONGEST_MESSAGE = 300
"""Maximum length of such a message in characters; longer ones are cut."""

TENSORFLOW_KINDS = (Kind.OP, Kind.EAGER, Kind.FUNCTION_RUN, Kind.SESSION_RUN, Kind.CALL)
"""Events that only TensorFlow records."""
PYTHON_KINDS = (Kind.CALL, Kind.EAGER, Kind.SESSION_RUN, Kind.BLOCK, Kind.BUILDING)
"""Events on the thread of the Python program."""
HOST_TABLES = ("threads", "allocations", "traces", "spent")
"""Tables with a column for the host."""
_PYTHON_THREAD = re.compile(r"(?i)python[\d.]*|main")


def read_trace_file(trace: Buffer, host: str, done: Done = ignore_progress) -> Profile:
    """Read a trace; `host` is the machine it was recorded on."""
    with closing(trace):  # it may be large, and most traces need no second look
        space = read_space(trace, WANTED, done)
        messages = _messages(trace)
        needed = has_tpu(space) or hlo_modules.PLANE in space.plane_names
        data = trace.data if needed else b""
    events = read_host(space)
    line = _line_of_python(events)
    times = _Times(space)
    capture = Capture(
        windows=(TraceWindow(trace=data),),
        what=host,
        how=_how(events),
        start_ns=times.start_ns,
        wall_ns=times.wall_ns,
        cost_ns=0,
        traced_ns=times.wall_ns,
        has_memory=ALLOCATION in space.strings,
        only_large=ONEDNN_ALLOCATOR in space.strings,
        notes=(*_notes(events, line), *messages),
    )
    profile = make_profile(
        RecordedTrace(host=events, capture=capture, began_ns=times.began_ns, cell_line=line)
    )
    return _add_host(_without_cpu_memory(profile, space), host, times, line != NONE)


class _Times:
    """When a trace began and how long it lasted.

    If the trace does not state this, it lasts from its first to its last event. Times of events
    count from its beginning or from 1970.
    """

    def __init__(self, space: XSpace) -> None:
        since_1970 = space.origin_ns > 0
        self.known_ns = stated_start_ns(space.plane_stats) or space.origin_ns
        """When it began, on the clock of its machine; 0 if unknown."""
        self.began_ns = space.origin_ns if since_1970 else stated_start_ns(space.plane_stats)
        stated = stated_start_ns(space.plane_stats)
        first = int(space.start_ps.min()) // 1000 if len(space.start_ps) else 0
        last = int((space.start_ps + space.duration_ps).max(initial=0)) // 1000
        self.start_ns = stated or self.began_ns + first
        stop = _plane_number(space, "profile_stop_time")
        self.wall_ns = max(self.began_ns + last, stop if stated else 0, self.start_ns)
        self.wall_ns -= self.start_ns
        if since_1970 and not stated:
            self.known_ns = self.start_ns


def _plane_number(space: XSpace, name: str) -> int:
    found = (stats.get(name) for stats in space.plane_stats)
    return next((number for number in found if isinstance(number, int)), 0)


def _line_of_python(events: HostEvents) -> int:
    """Return the line of the program's thread: as marked, else the one with most time in calls."""
    space = events.space
    marked = line_of_cell(events)
    if marked != NONE:
        return marked
    called = np.flatnonzero(events.of(*PYTHON_KINDS))
    called = called[events.inside_of(Kind.PROCESS, event=called) == NONE]
    time = np.bincount(
        events.line[called], weights=events.duration[called], minlength=len(space.line_name)
    )
    if time.any():
        return int(time.argmax())
    # Failing both, a thread named after Python.
    named = [line for line, name in enumerate(space.line_name) if _PYTHON_THREAD.fullmatch(name)]
    count = np.bincount(space.line, minlength=len(space.line_name))
    return max(named, key=lambda line: int(count[line]), default=NONE)


def _how(events: HostEvents) -> str:
    versions = (stats.get("jax_version") for stats in events.space.plane_stats)
    version = next((text for text in versions if isinstance(text, bytes)), None)
    if version is not None:
        return f"JAX {version.decode(errors='replace')} trace"
    return "TensorFlow trace" if events.of(*TENSORFLOW_KINDS).any() else "trace"


def _notes(events: HostEvents, line: int) -> list[str]:
    """Return notes on what the trace lacks."""
    strings = events.space.strings
    notes: list[str] = [] if ALLOCATION in strings else [Note(NO_MEMORY, allocator_columns())]
    if events.of(Kind.OP).any() and CALLING_THREAD.encode() not in strings:
        notes.append(LOWER_BOUNDS)
    if line == NONE:
        notes.append(NO_PYTHON)
    return notes


def _messages(trace: Buffer) -> list[str]:
    """Return the profiler's own errors and warnings as notes."""
    found = [
        trace.data[begin : begin + size].decode(errors="replace")
        for tag, size, begin in trace.fields(0, len(trace.data))
        if tag in (SPACE_ERROR, SPACE_WARNING)
    ]
    lines = [" ".join(text.split())[:LONGEST_MESSAGE] for text in dict.fromkeys(found)]
    return [f"the profiler says: {line}" for line in lines[:MOST_MESSAGES] if line]


def _without_cpu_memory(profile: Profile, space: XSpace) -> Profile:
    """Mark the memory of ops on the CPU as unknown if the CPU's allocator was not recorded."""
    if CPU_ALLOCATOR in space.strings or ONEDNN_ALLOCATOR in space.strings:
        return profile
    allocations, events = profile.allocations, profile.events
    if not len(allocations):
        return profile
    node = events["node"].to_numpy()
    # An op on a GPU that launched nothing there may have worked in the CPU's memory.
    launched = np.isin(node, node[events["accelerator"].to_numpy()])
    unknown = ~launched & (events["bytes"] == 0).to_numpy()
    recorded = ", ".join(sorted(set(allocations["device"])))
    memory = allocator_columns()
    note = Note(f"memory of the CPU was not recorded, only that of {recorded}", memory)
    return profile.with_values(
        events=events.assign(**{name: events[name].mask(unknown) for name in memory}),
        notes=(*profile.notes, note),
    )


def _add_host(profile: Profile, host: str, times: _Times, has_python: bool) -> Profile:
    """Add the host to the tables, and mark what a trace cannot know as unknown."""
    tables: dict[str, Any] = {
        name: partial(_with_host, profile, name, host) for name in HOST_TABLES
    }
    if not has_python:
        tables["spent"] = _with_host(profile, "spent", host).assign(category=NOT_KNOWN)
    slowest = profile.steps.iloc[int(profile.steps["micros"].to_numpy().argmax())]
    machine = {
        "host": host,
        "start_ns": times.known_ns,
        "wall_ns": times.wall_ns,
        "slowest_step": int(slowest["step"]),
        "slowest_step_micros": float(slowest["micros"]),
    }
    recording = replace(
        profile.recording, has_stacks=bool(len(profile.frames)), has_definitions=False
    )
    return profile.with_values(
        **tables,
        nodes=profile.nodes.assign(params=np.nan),
        machines=pd.DataFrame([machine]),
        recording=recording,
    )


def _with_host(profile: Profile, name: str, host: str) -> pd.DataFrame:
    table: pd.DataFrame = getattr(profile, name)
    return table.assign(host=np.full(len(table), host, dtype=object))

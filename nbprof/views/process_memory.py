"""The RAM of the process while a cell ran, with marks for its statements, steps and ops."""

import math
from array import array
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from nbprof.errors import NbprofError
from nbprof.memory.result import LINE, MIB, OP, STEP, Mark, MemoryResult, MemoryRun
from nbprof.memory.sampler import Curve

if TYPE_CHECKING:
    import pandas as pd

    from nbprof._profile import Profile
    from nbprof.arrays import Rows

MOST_OPS = 100
"""The most op runs to mark: those that held the most memory, or without memory the longest."""
MOST_STEPS = 5000
"""The most steps to mark."""
LEAST_BYTES = 2**20
"""The least memory of a marked op run, in bytes; the curve does not show less either."""

NOT_MEASURED = (
    "the RAM of the process was not measured for this profile; nbprof measures it for cells and "
    "blocks that it profiles itself. profile.memory() has the live tensors."
)


FIRST_STEPS = "only the first {:,} of {:,} steps are marked on the curve."
LEFT_OUT = "the peak excludes about {:.0f} MiB that the trace itself took."


def process_memory(profile: "Profile") -> MemoryResult:
    """Return what was sampled while the profile was recorded."""
    samples, recording = profile.samples, profile.recording
    if not len(samples):
        raise NbprofError(NOT_MEASURED)
    seconds = samples["start_ns"].to_numpy() / 1e9
    resident, peak = (samples[name].to_numpy(float) for name in ("resident_bytes", "peak_bytes"))
    gaps = samples["gap"].to_numpy(dtype=np.int8)
    run = MemoryRun(
        before=resident[0],
        peak=peak.max(),
        after=resident[-1],
        exact=recording.peak_is_exact,
        seconds=seconds[-1],
        kept=_known(recording.kept_bytes),
        children=_known(recording.children_bytes),
        curve=Curve(array("d", seconds), array("d", resident), array("d", peak), array("b", gaps)),
        marks=tuple(sorted(_marks(profile), key=lambda mark: mark.seconds)),
    )
    left_out = recording.left_out_bytes
    notes = (LEFT_OUT.format(left_out / MIB),) if left_out >= MIB else ()
    if len(profile.steps) > MOST_STEPS:
        notes = (*notes, FIRST_STEPS.format(MOST_STEPS, len(profile.steps)))
    return MemoryResult((run,), notes)


def _known(size: float) -> float:
    return math.nan if size < 0 else size


def _marks(profile: "Profile") -> Iterator[Mark]:
    yield from _line_marks(profile.statements)
    yield from _step_marks(profile.steps)
    yield from _op_marks(profile)


def _line_marks(statements: "pd.DataFrame") -> Iterator[Mark]:
    for start, line in zip(statements["start_ns"] / 1e9, statements["line"], strict=True):
        yield Mark(start, LINE, int(line))


def _step_marks(steps: "pd.DataFrame") -> Iterator[Mark]:
    steps = steps.head(MOST_STEPS)
    starts, ends = steps["start_micros"] / 1e6, (steps["start_micros"] + steps["micros"]) / 1e6
    for step, name, start, end in zip(steps["step"], steps["function"], starts, ends, strict=True):
        yield Mark(start, STEP, int(step), name, end)


def _op_marks(profile: "Profile") -> Iterator[Mark]:
    runs = profile.events.iloc[_largest(profile)]
    nodes = profile.nodes.iloc[runs["node"]]
    starts, ends = runs["start_ns"] / 1e9, (runs["start_ns"] + runs["duration_ns"]) / 1e9
    for name, op_type, start, end, held in zip(
        nodes["name"], nodes["op_type"], starts, ends, runs["peak_bytes"], strict=True
    ):
        yield Mark(start, OP, name=name, op_type=op_type, end=end, bytes=held)


def _largest(profile: "Profile") -> "Rows":
    """Return the rows of the op runs worth a mark."""
    events = profile.events
    if not len(events) or not profile.recording.single_runs:
        return np.zeros(0, dtype=np.intp)
    held = events["peak_bytes"].to_numpy(float)
    is_known = not np.isnan(held).all()
    size = np.nan_to_num(held) if is_known else events["duration_ns"].to_numpy(float)
    rows = np.argsort(-size, kind="stable")[:MOST_OPS]
    return rows[size[rows] >= (LEAST_BYTES if is_known else math.ulp(0.0))]

"""The table of a cell's steps."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from nbprof.arrays import NONE, Floats, Mask, Rows
from nbprof.capture.capture import NO_END, WhyBare
from nbprof.ingest.trace.attribution.layers import PIPELINE
from nbprof.ingest.trace.function_names import short_name
from nbprof.ingest.trace.work.event_kinds import Kind
from nbprof.units import format_seconds

if TYPE_CHECKING:
    from nbprof.capture.capture import Capture
    from nbprof.ingest.trace.attribution.layers import Placed
    from nbprof.ingest.trace.stages import RecordedTrace
    from nbprof.ingest.trace.work.host_events import HostEvents
    from nbprof.ingest.trace.work.steps import Steps

WHOLE = 0.99
"""Share of the wall time from which on a cell counts as traced."""
SOME_STEPS = (
    "the tables cover {detailed:,} of {count:,} steps, {percent} of the wall time; the rest ran "
    "bare{why}"
)
SOME_TIME = "the tables cover {took}, {percent} of the wall time; the rest ran bare{why}"
TRACES_LONGER = ": -limit SECONDS traces longer"
WHY_BARE = {
    WhyBare.BUDGET: TRACES_LONGER,
    WhyBare.LIMIT: TRACES_LONGER,
    WhyBare.STEPS: ", as -steps asks",
    WhyBare.OTHER: "",
}
"""How the notes end: what to do about it, unless the user has asked for it."""
OTHER_STEPS = ": -steps N or -steps A:B traces other or more steps"
"""What to do about the budget in a cell with steps."""

NOTABLE_PAUSE = 0.01
"""Lowest share of the traced time at which pauses of the cell are noted."""
PAUSED = (
    "an input pipeline goes on while the cell waits for a part of its trace to be written, {took} "
    "in all; its op runs of that time are not counted"
)
"""Note if ops of an input pipeline may be missing."""


def step_table(trace: "RecordedTrace", steps: "Steps") -> pd.DataFrame:
    """List the steps, whether traced in detail or not; a cell without any is one step."""
    capture = trace.capture
    if not len(steps.event):
        whole = {"start_micros": 0.0, "micros": capture.wall_ns / 1e3, "function": capture.what}
        detail = {"traced": False, "in_detail": bool(capture.windows)}
        return pd.DataFrame([{"step": 0, **whole, **detail}])
    names = steps.names or _step_names(trace, steps)
    return pd.DataFrame(
        {
            "step": np.arange(len(steps.event)),
            "start_micros": steps.start / 1e6 + trace.origin_ns / 1e3,
            "micros": _micros(trace, steps),
            "function": pd.Series(names, dtype=object),
            "traced": _traced(trace, steps),
            "in_detail": (steps.event != NONE) | (steps.clock is None),
        }
    )


def notes_on_detail(capture: "Capture", steps: pd.DataFrame) -> tuple[str, ...]:
    """Say how much of the cell the tables show, if that is not all of it."""
    share = capture.traced_ns / max(capture.wall_ns, 1)
    if not capture.windows or share > WHOLE:
        return ()
    percent = f"{100 * share:.2g}%"
    count, detailed = len(steps), int(steps["in_detail"].sum())
    why = WHY_BARE[capture.why_bare]
    if count > 1 and detailed < count:
        why = OTHER_STEPS if capture.why_bare is WhyBare.BUDGET else why
        return (SOME_STEPS.format(detailed=detailed, count=count, percent=percent, why=why),)
    took = format_seconds(capture.traced_ns)
    return (SOME_TIME.format(took=took, percent=percent, why=why),)


def notes_on_pauses(capture: "Capture", placed: "Placed") -> tuple[str, ...]:
    """Say that an input pipeline went on, unseen, while parts of the trace were written."""
    took_ns = capture.pauses.total_ns
    is_pipeline = np.array([name == PIPELINE for name, _, _ in placed.rows], dtype=bool)
    is_long = len(capture.windows) > 1 and took_ns > NOTABLE_PAUSE * capture.traced_ns
    if not is_long or not is_pipeline[placed.row].any():
        return ()
    return (PAUSED.format(took=format_seconds(took_ns)),)


def _micros(trace: "RecordedTrace", steps: "Steps") -> Floats:
    """Return how long each step took in µs, NaN if its end was not seen."""
    micros = (steps.end - steps.start) / 1e6
    if steps.clock is not None:
        only_clock = np.flatnonzero(steps.event == NONE)
        ends = trace.capture.steps.end_ns[steps.clock[only_clock]]
        micros[only_clock[ends == NO_END]] = np.nan
    return micros


def _traced(trace: "RecordedTrace", steps: "Steps") -> Mask:
    """Mark the steps that traced a function: as their call, or inside a Trace block."""
    host = trace.host
    call = np.flatnonzero(host.of(Kind.CALL))
    how, which = np.unique(host.text("tf_function_call")[call], return_inverse=True)
    traces = [host.space.strings[row].startswith(b"traced") for row in how.tolist()]
    step = steps.step_of_event[call[np.array(traces, dtype=bool)[which]]]
    traced = np.zeros(len(steps.event), dtype=bool)
    traced[step[step != NONE]] = True
    if steps.clock is not None:
        traced |= np.append(trace.capture.steps.built, False)[steps.clock]
    return traced


def _step_names(trace: "RecordedTrace", steps: "Steps") -> list[str]:
    log, clock = trace.capture.steps, steps.clock
    names = [""] * len(steps.event)
    for place, name in zip(*_names_in_trace(trace.host, steps.event), strict=True):
        names[place] = name
    if clock is not None:
        for place in np.flatnonzero(steps.event == NONE).tolist():
            names[place] = log.names[log.name[clock[place]]]
    return names


def _names_in_trace(host: "HostEvents", event: Rows) -> tuple[list[int], list[str]]:
    """Return the steps that have an event, and the name of each."""
    place = np.flatnonzero(event != NONE)
    event = event[place]
    kinds, texts = host.kind[event].tolist(), host.space.name[host.row[event]].tolist()
    dispatched, strings = host.text("eager_op")[event].tolist(), host.space.strings
    return place.tolist(), [
        _step_name(kind, strings[text], strings[op])
        for kind, text, op in zip(kinds, texts, dispatched, strict=True)
    ]


def _step_name(kind: int, name: bytes, dispatched: bytes) -> str:
    if kind == Kind.SESSION_RUN:
        return "Session.run"
    if kind == Kind.EAGER:
        return short_name(dispatched.decode("utf-8", "replace"))
    return name.decode("utf-8", "replace")

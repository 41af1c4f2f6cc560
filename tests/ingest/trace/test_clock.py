"""When a trace began: as it states, else by the clock read around the marks."""

import numpy as np
import pytest
from support.trace_files import environment, span
from support.xspace_bytes import line, plane, space

from nbprof import ingest
from nbprof.capture.capture import CALLING_THREAD, Capture, DispatchLog, TraceWindow
from nbprof.ingest.trace.clock import NO_CLOCK

BEGAN_NS = 1_700_000_000_000_000_000
START_NS = BEGAN_NS + 60_000
"""When the cell began."""


def eager(name, start):
    """An eager op of 10 µs, dispatched in 20 µs; times in µs."""
    return (
        span("EagerExecute", start, 20, eager_op=name, is_func=0),
        span("KernelAndDeviceFunc::Run", start + 5, 10),
    )


def recorded(marks, *planes):
    """Read a cell that calls MatMul after 40 µs.

    `marks` are (clock before, start, end, clock after), all in µs since the trace began.
    """
    events = [span(CALLING_THREAD, start, end - start) for _, start, end, _ in marks]
    events += eager("MatMul", 100)
    number = np.array([0])
    calls = DispatchLog(
        sites=((("cell.py", 7, "<module>"),),),
        start_ns=np.array([BEGAN_NS + 99_000]),
        end_ns=np.array([BEGAN_NS + 121_000]),
        thread=number,
        site=number,
        shapes=(((2, 3), (3, 4)),),
        shape=number,
        output_shape=number,
        output_bytes=number,
        inside=(((), ""),),
    )
    readings = tuple(
        (BEGAN_NS + before * 1000, BEGAN_NS + after * 1000) for before, _, _, after in marks
    )
    host = plane("/host:CPU", lines=[line(1, "python", 0, events)])
    window = TraceWindow(trace=space(host, *planes), began_ns=START_NS, marks=readings)
    return ingest.read(
        Capture(
            windows=(window,),
            what="a cell",
            how="a trace",
            start_ns=START_NS,
            wall_ns=100_000,
            traced_ns=100_000,
            cost_ns=0,
            dispatches=calls,
        )
    )


@pytest.mark.parametrize(
    "planes", [(), (environment(BEGAN_NS, BEGAN_NS + 200_000),)], ids=["by marks", "as stated"]
)
def test_times_count_from_the_start_of_the_cell(planes):
    profile = recorded([(9, 10, 19, 20), (21, 22, 23, 24)], *planes)
    assert profile.events["start_ns"].tolist() == [45_000]
    assert profile.summary()["micros"].tolist() == [80, 10, 10]
    assert profile.frames["line"].tolist() == [7]
    assert profile.notes == ()


def test_a_slow_mark_does_not_spoil_the_clock():
    profile = recorded([(0, 9, 12, 13), (20, 20, 21, 21), (30, 31, 32, 50)])
    assert profile.events["start_ns"].tolist() == [45_000]


def test_without_clock_and_marks_the_cell_starts_at_its_first_event():
    profile = recorded([])
    assert profile.events["start_ns"].tolist() == [5_000]
    assert profile.notes[0] == NO_CLOCK

"""The table of steps has every step of the cell, whether it was traced in detail or not."""

import numpy as np
import pytest
from support.trace_files import environment, op, span
from support.xspace_bytes import line, plane, space

from nbprof import ingest
from nbprof.capture.capture import CALLING_THREAD, NO_END, Capture, StepLog, TraceWindow

BEGAN_NS = 1_700_000_000_000_000_000
CELL, OTHER = 11, 12


def call(name, start, duration, number, how="notTraced-nonXla"):
    """A function call that runs one op on the same thread; times in µs."""
    return [
        span(name, start, duration, tf_function_call=how, tracing_count=1),
        span("EagerExecute", start + 1, duration - 2, eager_op=f"__inference_{name}_1", is_func=1),
        span("FunctionRun", start + 2, 3, id=number),
        span("ExecutorState::Process", start + 6, duration - 9, id=number),
        op("dense/MatMul:MatMul", start + 7, 5),
    ]


def log(*steps):
    """A log of steps (start, end, name, thread) in µs; they traced nothing."""
    names = tuple(dict.fromkeys(step[2] for step in steps))
    start, end = (
        np.array([BEGAN_NS + step[place] * 1000 for step in steps], dtype=np.int64)
        for place in (0, 1)
    )
    never = np.array([step[1] == NO_END for step in steps])
    return StepLog(
        start_ns=start,
        end_ns=np.where(never, NO_END, end),
        thread=np.array([step[3] for step in steps]),
        name=np.array([names.index(step[2]) for step in steps]),
        names=names,
        built=np.zeros(len(steps), dtype=bool),
    )


def read(steps, *threads):
    """Read a cell of 1000 µs that was traced from 300 to 600; times of events are the cell's."""
    lines = [
        line(number, "python", 0, [*([span(CALLING_THREAD, 0, 0)] if not number else []), *events])
        for number, events in enumerate(threads)
    ]
    window = TraceWindow(
        trace=space(plane("/host:CPU", lines=lines), environment(BEGAN_NS, BEGAN_NS + 600_000)),
        began_ns=BEGAN_NS + 300_000,
        ended_ns=BEGAN_NS + 600_000,
    )
    return ingest.read(
        Capture(
            windows=(window,),
            what="a cell",
            how="a trace",
            start_ns=BEGAN_NS,
            wall_ns=1_000_000,
            traced_ns=300_000,
            cost_ns=0,
            steps=steps,
            thread=CELL,
        )
    )


def test_steps_outside_the_window_are_listed_and_events_point_at_their_own():
    steps = log(*((start, start + 52, "f", CELL) for start in (100, 200, 300, 400, 700)))
    profile = read(steps, [*call("f", 301, 50, -1), *call("f", 401, 50, -2)])

    assert profile.steps["in_detail"].tolist() == [False, False, True, True, False]
    assert profile.steps["start_micros"].tolist() == [100, 200, 301, 401, 700]
    assert profile.steps["micros"].tolist() == [52, 52, 50, 50, 52]
    assert profile.steps["function"].tolist() == ["f"] * 5
    assert profile.events["step"].tolist() == [2, 3]
    assert profile.op(step=3, select="occurrence").frame["run_count"].tolist() == [1]


def test_an_eager_op_belongs_to_the_step_it_precedes_even_if_that_ran_bare():
    eager = [
        span("EagerExecute", 380, 20, eager_op="Add", is_func=0),
        span("KernelAndDeviceFunc::Run", 385, 10),
    ]
    profile = read(log((100, 152, "f", CELL), (700, 752, "f", CELL)), eager)

    assert profile.events["step"].tolist() == [1]


def test_a_step_that_no_clock_saw_is_listed_in_its_place():
    profile = read(log((100, 152, "f", CELL), (700, 752, "f", CELL)), call("g", 401, 50, -1))

    assert profile.steps["function"].tolist() == ["f", "g", "f"]
    assert profile.steps["in_detail"].tolist() == [False, True, False]


def test_steps_of_two_threads_at_once_stay_apart():
    steps = log((300, 500, "f", CELL), (310, 420, "g", OTHER), (600, 650, "f", CELL))
    profile = read(steps, call("f", 301, 190, -1), call("g", 311, 100, -2))

    assert profile.steps["function"].tolist() == ["f", "g", "f"]
    assert profile.steps["in_detail"].tolist() == [True, True, False]


def test_a_step_whose_end_was_not_seen_has_no_length():
    profile = read(log((100, NO_END, "Session.run", CELL), (700, 752, "f", CELL)), [])

    assert np.isnan(profile.steps["micros"][0])
    assert profile.steps["micros"][1] == 52


@pytest.mark.parametrize("how", ["traced-nonXla", "notTraced-nonXla"])
def test_a_step_in_the_trace_says_there_whether_it_traced_a_function(how):
    profile = read(log((300, 352, "f", CELL)), call("f", 301, 50, -1, how))

    assert profile.steps["traced"].tolist() == [how.startswith("traced")]

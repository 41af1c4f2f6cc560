"""Bare steps that take longer than those in detail: the trace does not explain the difference.

All cells last 100 ms, of which the first 30 are traced: three steps of 10 ms. Times are in ms.
"""

import numpy as np
import pytest
from support.trace_files import op
from test_sampled_stacks import CELL, EXECUTE
from test_wall_time import BEGAN_NS, MS, call, every, ms, window

from nbprof import ingest
from nbprof.capture.capture import NO_END, Capture, SampleLog, StepLog

THREAD = 7
TRACED = [(start, start + 10) for start in (0, 10, 20)]


def cell(*steps, in_call=EXECUTE, thread=THREAD):
    """Profile a cell with these bare steps: start, end, name, and whether they traced a function.

    The first of the traced steps prepares its graph for 9 ms, the others run one op.
    """
    calls = [*call(0, 10, prepared=9), *call(10, 10), *call(20, 10)]
    executor = [ms("ExecutorState::Process", 0, 30, id=7), op("a/MatMul:MatMul", 10_000, 20_000)]
    samples = every(1, (CELL, *in_call))
    rows = [*((start, end, "train", False) for start, end in TRACED), *steps]
    capture = Capture(
        windows=(window(0, 30, calls, executor),), what="a cell", how="a trace",
        start_ns=BEGAN_NS, wall_ns=100 * MS, traced_ns=30 * MS, cost_ns=0, thread=THREAD,
        steps=log(rows, thread),
        samples=SampleLog(
            stacks=((CELL, *in_call),),
            time_ns=np.array([BEGAN_NS + round(time * MS) for time, _ in samples]),
            thread=np.zeros(len(samples), dtype=np.int64),
            stack=np.zeros(len(samples), dtype=np.int64),
            waited=np.zeros(len(samples), dtype=bool),
        ),
    )  # fmt: skip
    return ingest.read(capture)


def log(rows, thread):
    names = tuple(dict.fromkeys(row[2] for row in rows))
    return StepLog(
        start_ns=np.array([BEGAN_NS + row[0] * MS for row in rows]),
        end_ns=np.array([NO_END if row[1] is None else BEGAN_NS + row[1] * MS for row in rows]),
        thread=np.array([THREAD if row[:2] in TRACED else thread for row in rows]),
        name=np.array([names.index(row[2]) for row in rows]),
        names=names,
        built=np.array([row[3] for row in rows]),
    )


def spent(profile):
    summary = profile.summary()
    assert summary["micros"].sum() == summary.attrs["wall_micros"] == 100_000
    return dict(zip(summary["category"], summary["micros"] / 1000, strict=True))


def notes(profile):
    return [note for note in profile.notes if "not watched" in note]


def steps(length, *, end=100, name="train", traced=False):
    return [(start, start + length, name, traced) for start in range(30, end, length)]


def test_steps_like_those_in_detail_are_shared_out_as_they_are():
    profile = cell(*steps(10))

    assert spent(profile) == {"building graphs": 9, "waiting for graph execution": 91}
    assert not notes(profile)


def test_what_a_step_takes_beyond_those_in_detail_is_not_watched():
    profile = cell(*steps(10, end=50), (50, 100, "train", False))

    assert spent(profile) == {
        "building graphs": 9, "waiting for graph execution": 51, "not watched": 40,
    }  # fmt: skip
    assert notes(profile) == [
        "1 of 3 bare steps of train took up to 50 ms, those in detail 10 ms at most: what they "
        "waited for is not known and not watched in the summary; -steps 5:15 traces some"
    ]


def test_input_that_becomes_slow_after_the_steps_in_detail_is_not_taken_for_execution():
    profile = cell(*steps(35))

    assert spent(profile)["not watched"] == 2 * 25
    assert spent(profile)["waiting for graph execution"] == 21 + 2 * 10


def test_a_little_longer_is_no_difference():
    assert "not watched" not in spent(cell(*steps(11, end=96)))


def test_a_few_long_steps_among_many_are_noise():
    few = [*steps(10, end=80), (80, 93, "train", False)]

    assert "not watched" not in spent(cell(*few))


def test_a_step_that_traced_its_function_also_prepared_the_graph():
    profile = cell(*steps(10, end=50), (50, 100, "train", True))

    assert spent(profile) == {"building graphs": 49, "waiting for graph execution": 51}
    assert not notes(profile)


def test_a_function_without_a_warm_step_in_detail_is_not_like_another_one():
    profile = cell(*steps(10, end=60), *((start, start + 10, "test", False) for start in (60, 70)))

    assert spent(profile)["not watched"] == 20
    assert notes(profile) == [
        "no warm step of test was traced: what its bare ones, 20 ms in all, waited for is not "
        "known and not watched in the summary; -steps 6:16 traces some"
    ]


def test_python_in_a_long_step_is_python():
    profile = cell((30, 100, "train", False), in_call=())

    assert spent(profile) == {
        "building graphs": 9,
        "waiting for graph execution": 21,
        "your Python": 70,
    }


@pytest.mark.parametrize("case", ["another thread", "no end"])
def test_steps_that_say_nothing_about_the_cells_thread_are_left_alone(case):
    other, end = (THREAD + 1, 100) if case == "another thread" else (THREAD, None)
    profile = cell((30, end, "train", False), thread=other)

    assert spent(profile) == {"building graphs": 9, "waiting for graph execution": 91}

"""Where the wall time of a cell went: events of the trace, and samples where they do not tell.

All cells last 100 ms; times are in ms.
"""

import numpy as np
import pytest
from support.trace_files import environment, op, span
from support.xspace_bytes import line, plane, space
from test_sampled_stacks import CELL, EXECUTE, FIT, GET_NEXT, PANDAS, WAIT, tf

from nbprof import ingest
from nbprof.capture.capture import CALLING_THREAD, Capture, SampleLog, TraceWindow

BEGAN_NS = 1_700_000_000_000_000_000
MS = 1_000_000
ADD = (CELL, tf("ops/math_ops", "add"), tf("ops/gen_math_ops", "add_v2"))


def ms(name, start, duration, **stats):
    return span(name, round(start * 1000), round(duration * 1000), **stats)


def eager(name, start, duration, kernel=()):
    """An eager op; `kernel` is the start and duration of its kernel."""
    kernels = [ms("KernelAndDeviceFunc::Run", *kernel)] if kernel else []
    return [ms("EagerExecute", start, duration, eager_op=name, is_func=0), *kernels]


def call(start, duration, prepared=0.0, how="notTraced-nonXla"):
    """A call of a function that takes `prepared` ms before it runs."""
    return [
        ms("train", start, duration, tf_function_call=how),
        ms("EagerExecute", start, duration, eager_op="__inference_train_5", is_func=1),
        ms("KernelAndDeviceFunc::Run", start + prepared, duration - prepared),
    ]


def window(began, ended, *threads):
    """A traced window; the first thread is the cell's."""
    marks = [span(CALLING_THREAD, 0, 0)]
    lines = [
        line(number, f"thread {number}", 0, [*(() if number else marks), *events])
        for number, events in enumerate(threads)
    ]
    start_ns = BEGAN_NS + began * MS
    return TraceWindow(
        trace=space(plane("/host:CPU", lines=lines), environment(start_ns, start_ns + MS)),
        began_ns=start_ns,
        ended_ns=BEGAN_NS + ended * MS,
    )


def spent(*windows, samples=()):
    """Return the summary of a cell in ms by category; samples are (time, stack)."""
    stacks = tuple(dict.fromkeys(stack for _, stack in samples))
    log = SampleLog(
        stacks=stacks,
        time_ns=np.array([BEGAN_NS + round(time * MS) for time, _ in samples], dtype=np.int64),
        thread=np.zeros(len(samples), dtype=np.int64),
        stack=np.array([stacks.index(stack) for _, stack in samples], dtype=np.int64),
        waited=np.zeros(len(samples), dtype=bool),
    )
    traced = sum(each.ended_ns - each.began_ns for each in windows)
    capture = Capture(
        windows=windows, what="a cell", how="a trace", start_ns=BEGAN_NS, wall_ns=100 * MS,
        traced_ns=traced, cost_ns=0, samples=log,
    )  # fmt: skip
    summary = ingest.read(capture).summary()
    assert summary["micros"].sum() == summary.attrs["wall_micros"] == 100_000
    return dict(zip(summary["category"], summary["micros"] / 1000, strict=True))


def every(step, stack, begin=0, end=100):
    return [(begin + step * number, stack) for number in range(1, int((end - begin) / step) + 1)]


# Inside the trace


def test_without_samples_it_is_not_known_whose_python_ran():
    assert spent(window(0, 100, eager("Add", 10, 20, (15, 10)))) == {
        "Python": 80, "eager dispatch": 10, "ops": 10,
    }  # fmt: skip


def test_samples_tell_the_users_python_from_that_of_libraries():
    samples = [(30, (CELL,)), (60, (CELL, PANDAS)), (70, (CELL, *FIT))]

    assert spent(window(0, 100, []), samples=samples) == {"your Python": 30, "library Python": 70}


def test_events_decide_where_there_are_any():
    samples = [(5, (CELL,)), (25, (CELL, PANDAS)), (60, (CELL,))]

    # The sample at 25 ms lies in the kernel; it does not turn an op into Python.
    assert spent(window(0, 100, eager("Add", 10, 20, (10, 20))), samples=samples) == {
        "your Python": 80, "ops": 20,
    }  # fmt: skip


def test_a_function_run_as_plain_python_is_the_python_it_runs():
    calls = [ms("f", 0, 100, tf_function_call="eager"), *eager("Add", 90, 10, (95, 5))]

    assert spent(window(0, 100, calls), samples=every(5, (CELL, EXECUTE[0], CELL), 0, 90)) == {
        "your Python": 90, "eager dispatch": 5, "ops": 5,
    }  # fmt: skip


def test_python_inside_a_long_call_into_tensorflow_is_python():
    samples = [(20, ADD), (60, (CELL, tf("ops/script_ops", "__call__"), CELL)), (80, ADD)]

    assert spent(window(0, 100, [ms("convert_to_tensor", 0, 100)]), samples=samples) == {
        "eager dispatch": 60, "your Python": 40,
    }  # fmt: skip


def test_short_gaps_without_a_sample_are_tensorflows_python_around_the_next_call():
    ops = [each for at in range(100) for each in eager("Add", at + 0.05, 0.95, (at + 0.5, 0.5))]

    assert spent(window(0, 100, ops), samples=[(50.7, ADD)]) == {
        "ops": 50, "eager dispatch": 45, "library Python": 5,
    }  # fmt: skip


def test_a_long_gap_without_a_sample_is_the_python_that_makes_the_next_call():
    ops = [*eager("Add", 40, 10, (40, 10)), *eager("Add", 90, 10, (90, 10))]
    samples = [(45, (CELL, PANDAS)), (95, ADD)]

    assert spent(window(0, 100, ops), samples=samples) == {
        "ops": 20, "library Python": 40, "your Python": 40,
    }  # fmt: skip


def test_an_op_that_runs_python_is_the_python_it_runs():
    run = [
        *eager("EagerPyFunc", 0, 100, (0, 100)),
        *eager("Add", 60, 10, (65, 5)),
        *eager("Add", 70.05, 9.95, (75, 5)),
    ]
    called = (CELL, tf("ops/gen_script_ops", "eager_py_func"), tf("ops/script_ops", "_call"))
    samples = [(40, (*called, CELL)), (58, (*called, CELL, PANDAS)), (90, (*called, CELL, WAIT))]

    assert spent(window(0, 100, run), samples=samples) == {
        "your Python": 40, "library Python": 20.05, "eager dispatch": 9.95, "ops": 10,
        "waiting for other threads": 20,
    }  # fmt: skip


def test_without_samples_an_op_that_runs_python_is_somebodys_python():
    assert spent(window(0, 100, eager("EagerPyFunc", 0, 100, (10, 90)))) == {
        "Python": 90, "eager dispatch": 10,
    }  # fmt: skip


def test_waiting_for_other_threads_is_told_by_the_stack():
    assert spent(window(0, 100, []), samples=every(10, (CELL, WAIT))) == {
        "waiting for other threads": 100
    }


def test_giving_things_up_after_a_fit_is_teardown_but_dropping_a_tensor_is_not():
    events = [ms("TFE_DeleteTensorHandle", 0, 0.5), ms("TFE_DeleteTensorHandle", 20, 80)]

    assert spent(window(0, 100, events)) == {
        "Python": 19.5, "eager dispatch": 0.5, "teardown": 80,
    }  # fmt: skip


def test_preparing_a_function_for_its_first_run_is_building_its_graph():
    calls = [*call(0, 50, prepared=30), *call(50, 50, prepared=2)]

    assert spent(window(0, 100, calls)) == {
        "building graphs": 30, "eager dispatch": 2, "waiting for graph execution": 68,
    }  # fmt: skip


def test_what_a_call_does_that_builds_a_graph_is_building_it():
    calls = [
        ms("train", 0, 100, tf_function_call="traced-nonXla"),
        ms("tf.function-graph_building", 5, 60),
    ]

    assert spent(window(0, 100, calls)) == {"building graphs": 100}


def test_what_is_handed_over_for_a_graph_is_part_of_building_it_but_what_runs_is_not():
    calls = [
        ms("tf.function-graph_building", 0, 100),
        ms("convert_to_tensor", 10, 30),
        ms("convert_to_tensor", 50, 30),
        *eager("Fill", 60, 20, (65, 10)),
    ]

    assert spent(window(0, 100, calls)) == {
        "building graphs": 80, "eager dispatch": 10, "ops": 10,
    }  # fmt: skip


# Waiting for input


def test_a_graph_that_waits_for_its_batch_waits_for_input():
    executor = [
        ms("ExecutorState::Process", 0, 100, id=7),
        op("IteratorGetNext:IteratorGetNext", 1_000, 100),
        op("dense/MatMul:MatMul", 60_000, 30_000),
    ]
    iterator = [ms("IteratorGetNextOp::DoCompute", 1, 59)]

    assert spent(window(0, 100, call(0, 100), executor, iterator)) == {
        "waiting for input": 59, "waiting for graph execution": 41,
    }  # fmt: skip


def test_a_batch_that_is_fetched_while_ops_run_is_not_waited_for():
    executor = [
        ms("ExecutorState::Process", 0, 100, id=7),
        op("dense/MatMul:MatMul", 0, 40_000),
    ]
    iterator = [ms("IteratorGetNextOp::DoCompute", 0, 60)]

    assert spent(window(0, 100, call(0, 100), executor, iterator)) == {
        "waiting for graph execution": 80, "waiting for input": 20,
    }  # fmt: skip


def test_a_batch_that_is_fetched_while_python_runs_is_not_waited_for():
    iterator = [ms("IteratorGetNextOp::DoCompute", 0, 100)]

    assert spent(window(0, 100, [], iterator)) == {"Python": 100}


GETTING = ("IteratorGetNextOp::DoCompute", "Iterator::Root::Map")


def getting(start, duration, *inside):
    """An eager loop's call for a batch; the pipeline runs `inside` on the cell's thread."""
    stages = [ms(name, start, duration) for name in GETTING]
    return [*eager("IteratorGetNext", start, duration, (start, duration)), *stages, *inside]


def test_what_a_pipeline_runs_on_the_cells_thread_is_waited_for_as_input():
    process = ms("ExecutorState::Process", 10, 60, id=7)
    mapped = (process, op("PyFunc:PyFunc", 10_000, 40_000), op("a/MatMul:MatMul", 50_000, 20_000))
    later = eager("MatMul", 90, 10, (90, 10))

    assert spent(window(0, 100, [*getting(0, 80, *mapped), *later]), samples=[(30, (CELL,))]) == {
        "waiting for input": 80, "ops": 10, "your Python": 10,
    }  # fmt: skip


def test_a_reduction_over_batches_computes_while_it_does_not_wait():
    reduces = [
        *eager("ReduceDataset", 0, 100, (0, 100)),
        ms("ReduceDatasetOp::DoCompute", 0, 100),
        ms("Iterator::Root::Map", 10, 30),
        ms("ExecutorState::Process", 50, 50, id=7),
        op("a/MatMul:MatMul", 50_000, 50_000),
    ]

    assert spent(window(0, 100, reduces)) == {"waiting for input": 50, "ops": 50}


def test_the_advice_on_input_has_the_number_of_the_summary():
    iterator = [ms("IteratorGetNextOp::DoCompute", 0, 60)]
    capture = Capture(
        windows=(window(0, 100, call(0, 100), iterator),), what="a cell", how="a trace",
        start_ns=BEGAN_NS, wall_ns=100 * MS, traced_ns=100 * MS, cost_ns=0,
    )  # fmt: skip
    profile = ingest.read(capture)
    advice = profile.advise().set_index("check")["message"]

    assert dict(zip(*profile.summary()[["category", "percent"]].T.to_numpy(), strict=True)) == {
        "waiting for input": 60, "waiting for graph execution": 40,
    }  # fmt: skip
    assert "60.00ms, 60% of the wall time, was spent waiting for input" in advice["input-bound"]


# Ops on several threads


def notes_on(*threads):
    capture = Capture(
        windows=(window(0, 100, [], *threads),), what="a cell", how="a trace",
        start_ns=BEGAN_NS, wall_ns=100 * MS, traced_ns=100 * MS, cost_ns=0,
    )  # fmt: skip
    return [note for note in ingest.read(capture).op().notes if "at once" in note]


def executor(*starts):
    process = ms("ExecutorState::Process", 0, 100, id=7)
    return [process, *(op(f"n{at}/MatMul:MatMul", at * 1000, 40_000) for at in starts)]


def test_op_time_above_the_wall_time_is_explained():
    assert notes_on(executor(0, 50), executor(10, 55)) == [
        "op time (160 ms) exceeds the 100 ms of wall time: 2 threads ran ops at once, and the "
        "time of each counts"
    ]


def test_op_time_below_the_wall_time_needs_no_explanation():
    assert notes_on(executor(0), executor(10)) == []


# Outside the trace


def test_outside_the_trace_samples_alone_decide():
    samples = [
        *((10, (CELL,)), (25, (CELL, PANDAS)), (45, (CELL, *EXECUTE)), (60, ADD)),
        *((70, (CELL, GET_NEXT)), (85, (CELL, WAIT)), (100, (CELL, FIT[0]))),
    ]

    assert spent(samples=samples) == {
        "your Python": 10, "library Python": 15, "waiting for graph execution": 20,
        "eager dispatch": 15, "waiting for input": 10, "waiting for other threads": 15,
        "teardown": 15,
    }  # fmt: skip


def test_a_pipelines_python_on_the_cells_thread_is_waited_for_outside_the_trace_too():
    python = (CELL, GET_NEXT, tf("ops/script_ops", "__call__"), CELL)

    assert spent(samples=every(10, python)) == {"waiting for input": 100}


def test_samples_of_eager_ops_outside_the_trace_are_not_shared_out_to_input():
    traced = window(0, 20, [*getting(0, 10), *eager("Add", 10, 10, (15, 5))])

    assert spent(traced, samples=every(4, ADD)) == {
        "waiting for input": 10, "eager dispatch": pytest.approx(5 + 40),
        "ops": pytest.approx(5 + 40),
    }  # fmt: skip


def test_what_neither_trace_nor_samples_saw_was_not_watched():
    assert spent(window(30, 50, [])) == {"not watched": 80, "Python": 20}


def test_a_stretch_outside_the_trace_without_a_sample_takes_the_next_one():
    windows = (window(0, 40, []), window(50, 100, []))

    assert spent(*windows, samples=[(39, (CELL,)), (60, (CELL, PANDAS))]) == {
        "your Python": 40, "library Python": 60,
    }  # fmt: skip


def test_windows_may_overlap_a_little():
    windows = (window(0, 51, eager("Add", 0, 20, (10, 10))), window(50, 100, [], []))

    assert spent(*windows, samples=every(5, (CELL,), 20)) == {
        "your Python": 80, "eager dispatch": 10, "ops": 10,
    }  # fmt: skip


def test_calls_outside_the_trace_are_shared_out_as_those_inside():
    executor = [ms("ExecutorState::Process", 0, 20, id=7), op("a/MatMul:MatMul", 16_000, 4_000)]
    iterator = [ms("IteratorGetNextOp::DoCompute", 10, 6)]
    traced = window(0, 20, [*call(0, 10, prepared=9), *call(10, 10)], executor, iterator)

    # The first call prepares the function; of the second, 6 of 10 ms are waiting for input.
    assert spent(traced, samples=every(4, (CELL, *EXECUTE))) == {
        "building graphs": 9, "waiting for graph execution": pytest.approx(1 + 4 + 32),
        "waiting for input": pytest.approx(6 + 48),
    }  # fmt: skip


def test_eager_ops_outside_the_trace_are_shared_out_as_those_inside():
    traced = window(0, 20, eager("Add", 0, 20, (5, 15)))

    assert spent(traced, samples=every(4, ADD)) == {
        "ops": pytest.approx(15 + 60), "eager dispatch": pytest.approx(5 + 20),
    }  # fmt: skip

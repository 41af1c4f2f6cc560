"""Calls of functions compiled by XLA, as releases of TensorFlow record them."""

import pytest
from support.trace_files import environment, op, span
from support.xspace_bytes import line, plane, space

from nbprof import ingest
from nbprof.capture.capture import CALLING_THREAD, Capture, TraceWindow
from nbprof.ingest.trace.work.compiled_calls import OPAQUE

NAME = "__inference_f_7"
MODULE = "a_inference_f_7__XlaMustCompile_true.2"


def call(start, duration, *inside, traced=False):
    """Return a call from Python of a compiled function; times in µs."""
    how = "traced-xla" if traced else "notTraced-xla"
    return [
        span("f", start, duration, tf_function_call=how),
        span("EagerExecute", start + 1, duration - 2, eager_op=NAME, is_func=1),
        op(f"{NAME}:{NAME}", start + 2, duration - 4),
        *inside,
    ]


def hlo(name, start, duration):
    return span(name, start, duration, hlo_op=name, hlo_module=MODULE)


def execution(start, duration):
    return span("CpuExecutable::ExecuteAsyncOnStream", start, duration)


def compiler(start, duration):
    return span("CpuCompiler::RunBackend", start, duration)


def read(python, *other):
    """Read a cell of 1000 µs with these events on its thread, and other threads."""
    threads = [[span(CALLING_THREAD, 0, 0), *python], *other]
    lines = [line(number, "python", 0, events) for number, events in enumerate(threads)]
    trace = space(plane("/host:CPU", lines=lines), environment(5_000_000, 6_000_000))
    return ingest.read(
        Capture(
            windows=(TraceWindow(trace=trace),),
            what="a cell",
            how="a trace",
            start_ns=5_000_000,
            wall_ns=1_000_000,
            traced_ns=1_000_000,
            cost_ns=0,
        )
    )


def ops(profile):
    frame = profile.op().frame
    return {
        name: (micros, count)
        for name, micros, count in zip(
            frame["name"], frame["micros"], frame["run_count"], strict=True
        )
    }


def spent(profile):
    frame = profile.summary()
    return dict(zip(frame["category"], frame["micros"], strict=True))


def test_a_marked_execution_is_the_run_and_what_precedes_it_is_compiling():
    cold = call(0, 500, compiler(50, 300), execution(400, 80), hlo("dot.1", 410, 60), traced=True)
    warm = call(600, 100, execution(640, 40), hlo("dot.1", 650, 20))
    profile = read([*cold, *warm])
    assert ops(profile) == {"dot": (80, 2), "XlaLaunch": (40, 2)}
    assert spent(profile)["compiling"] == 398  # from the call of the compiled function
    assert spent(profile)["ops"] == 120
    assert profile.notes == ()


def test_a_warm_call_is_dispatch_and_ops_but_not_compiling():
    profile = read(call(100, 100, execution(140, 40), hlo("dot.1", 150, 20)))
    assert spent(profile) == {"Python": 900, "eager dispatch": 60, "ops": 40}


def test_an_unmarked_execution_is_what_follows_the_compiler():
    cold = call(0, 500, compiler(50, 300), hlo("dot.1", 400, 60), traced=True)
    warm = call(600, 100, hlo("dot.1", 650, 20))
    profile = read([*cold, *warm])
    assert ops(profile) == {"dot": (80, 2), "XlaLaunch": (148 - 60 + 96 - 20, 2)}
    assert spent(profile)["compiling"] == 348
    assert profile.notes == ()


def test_ops_of_a_compiled_function_on_other_threads_are_not_charged_twice():
    profile = read(call(600, 100), [hlo("dot.1", 650, 20)], [hlo("add.2", 660, 30)])
    assert ops(profile) == {"add": (30, 1), "dot": (20, 1), "XlaLaunch": (96 - 40, 1)}


def test_calls_that_say_nothing_about_their_inside_are_runs_unless_they_traced():
    profile = read([*call(0, 500, traced=True), *call(600, 100)])
    assert ops(profile) == {"XlaLaunch": (96, 2)}
    assert spent(profile)["compiling"] == pytest.approx(496, abs=0.01)
    assert profile.notes == (OPAQUE,)


@pytest.mark.parametrize(("traced", "micros"), [(True, 0), (False, 80)])
def test_a_compiled_function_inside_a_graph_is_one_op_of_it(traced, micros):
    how = "traced-nonXla" if traced else "notTraced-nonXla"
    python = [
        span("outer", 0, 200, tf_function_call=how),
        span("EagerExecute", 1, 190, eager_op="__inference_outer_9", is_func=1),
        span("FunctionRun", 5, 5, id=3),
    ]
    graph = [
        span("ExecutorState::Process", 20, 100, id=3),
        op("PartitionedCall:PartitionedCall", 30, 80),
    ]
    profile = read(python, graph)
    assert ops(profile) == {"PartitionedCall": (micros, 1)}
    assert profile.notes == (OPAQUE,)
    assert profile.op(select="float_ops").frame["float_ops"].isna().all()


def test_an_op_that_calls_an_ordinary_function_is_no_compiled_call():
    graph = [
        span("ExecutorState::Process", 20, 100, id=3),
        op("PartitionedCall:PartitionedCall", 30, 80),
        span("FunctionRun", 40, 5, id=4),
    ]
    profile = read([span("FunctionRun", 5, 5, id=3)], graph)
    assert ops(profile) == {"PartitionedCall": (80, 1)}
    assert profile.notes == ()
    assert profile.op(select="float_ops").frame["float_ops"].tolist() == [0]

"""What a sampled Python stack shows: whose code runs, and what it waits for."""

import sysconfig
from pathlib import Path

import numpy as np
import pytest

from nbprof.capture.capture import Capture, SampleLog
from nbprof.ingest.trace.cell_time.sampled_stacks import Activity, activity_of, read_samples

PACKAGES, LIBRARY = sysconfig.get_paths()["purelib"], sysconfig.get_paths()["stdlib"]
CELL = ("/tmp/ipykernel_5/7.py", 3, "<module>")


def tf(path, function):
    return f"{PACKAGES}/tensorflow/python/{path}.py", 1, function


def keras(path, function):
    return f"{PACKAGES}/keras/src/{path}.py", 1, function


PANDAS = (f"{PACKAGES}/pandas/core/frame.py", 9, "apply")
FIT = (keras("utils/traceback_utils", "error_handler"), keras("backend/trainer", "fit"))
EXECUTE = (
    tf("eager/polymorphic_function/polymorphic_function", "__call__"),
    tf("eager/polymorphic_function/atomic_function", "call_flat"),
    tf("eager/context", "call_function"),
    tf("eager/execute", "quick_execute"),
)
GET_NEXT = tf("ops/gen_dataset_ops", "iterator_get_next")
WAIT = (f"{LIBRARY}/threading.py", 5, "wait")


@pytest.mark.parametrize(
    ("stack", "activity"),
    [
        ((), Activity.USER),
        ((CELL,), Activity.USER),
        ((CELL, PANDAS, CELL), Activity.USER),
        ((CELL, PANDAS), Activity.LIBRARY),
        ((CELL, (f"{LIBRARY}/json/decoder.py", 1, "decode")), Activity.LIBRARY),
        ((CELL, *FIT), Activity.LIBRARY),
        ((CELL, tf("util/dispatch", "op_dispatch_handler")), Activity.TENSORFLOW),
        ((CELL, tf("ops/math_ops", "add"), tf("ops/gen_math_ops", "add_v2")), Activity.EAGER_OP),
        ((CELL, tf("ops/io", "f"), tf("eager/execute", "quick_execute")), Activity.EAGER_OP),
        ((CELL, tf("framework/constant_op", "convert_to_eager_tensor")), Activity.EAGER_OP),
        ((CELL, *EXECUTE), Activity.FUNCTION),
        ((CELL, *FIT, *EXECUTE), Activity.FUNCTION),
        ((CELL, EXECUTE[0], CELL, tf("ops/gen_math_ops", "add_v2")), Activity.EAGER_OP),
        ((CELL, tf("client/session", "_call_tf_sessionrun")), Activity.FUNCTION),
        ((CELL, tf("data/ops/iterator_ops", "_next_internal"), GET_NEXT), Activity.INPUT),
        ((CELL, GET_NEXT, tf("ops/script_ops", "__call__"), CELL), Activity.INPUT),
        ((CELL, ("/home/me/gen_data_ops.py", 5, "iterator_get_next")), Activity.USER),
        ((CELL, tf("ops/gen_dataset_ops", "reduce_dataset")), Activity.INPUT),
        ((CELL, tf("ops/gen_dataset_ops", "reduce_dataset"), CELL), Activity.USER),
        ((CELL, tf("ops/gen_dataset_ops", "make_iterator")), Activity.EAGER_OP),
        ((CELL, (f"{LIBRARY}/concurrent/futures/_base.py", 1, "result"), WAIT), Activity.THREADS),
        ((CELL, (f"{LIBRARY}/threading.py", 5, "join")), Activity.THREADS),
        ((CELL, (f"{LIBRARY}/threading.py", 5, "run")), Activity.LIBRARY),
        ((CELL, ("/home/me/threading.py", 5, "wait")), Activity.USER),
        ((CELL, keras("trainers/data_adapters/py_dataset", "get"), WAIT), Activity.INPUT),
        ((CELL, EXECUTE[0], tf("framework/func_graph", "func_graph_from_py_func"), CELL),
         Activity.BUILDING),
        ((CELL, EXECUTE[0], tf("framework/func_graph", "func_graph_from_py_func"),
          tf("ops/gen_math_ops", "add_v2")), Activity.BUILDING),
        ((CELL, tf("framework/ops", "_create_op_internal")), Activity.BUILDING),
        ((CELL, FIT[0]), Activity.TEARDOWN),
        ((CELL, *FIT, keras("layers/layer", "__call__"), FIT[0]), Activity.LIBRARY),
        ((CELL, tf("util/traceback_utils", "error_handler")), Activity.TENSORFLOW),
    ],
)  # fmt: skip
def test_the_innermost_frame_tells_what_the_thread_does(stack, activity):
    assert activity_of(stack) == activity


def test_paths_of_windows_are_understood():
    stack = tuple(
        (file.replace("/", "\\"), line, function) for file, line, function in (CELL, *EXECUTE)
    )
    assert activity_of(stack) == Activity.FUNCTION


def test_packages_are_told_by_where_they_are_installed_not_by_name(tmp_path):
    own = str(Path(tmp_path) / "pandas" / "frame.py")

    assert activity_of((CELL, (own, 1, "apply"))) == Activity.USER


@pytest.mark.parametrize(
    ("stack", "activity"),
    [
        ((CELL,), Activity.THREADS),
        ((CELL, PANDAS), Activity.THREADS),
        ((CELL, keras("trainers/data_adapters/py_dataset", "get")), Activity.INPUT),
        ((CELL, *EXECUTE), Activity.FUNCTION),
        ((CELL, GET_NEXT), Activity.INPUT),
        ((CELL, FIT[0]), Activity.TEARDOWN),
        ((CELL, tf("ops/math_ops", "add"), tf("ops/gen_math_ops", "add_v2")), Activity.EAGER_OP),
    ],
)
def test_a_c_function_that_waits_for_a_lock_waits_for_another_thread(stack, activity):
    assert activity_of(stack, waits=True) == activity


def samples_at(*times_us, wall_us=100, waited=()):
    log = SampleLog(
        stacks=((CELL,), (CELL, PANDAS)),
        time_ns=np.array(times_us) * 1000 + 5_000,
        thread=np.zeros(len(times_us), dtype=np.int64),
        stack=np.arange(len(times_us)) % 2,
        waited=np.isin(times_us, waited),
    )
    capture = Capture(
        what="", how="", start_ns=5_000, wall_ns=wall_us * 1000, cost_ns=0, samples=log
    )
    return read_samples(capture)


def test_each_sample_stands_for_the_time_since_the_one_before_and_the_last_for_the_rest():
    samples = samples_at(10, 40, 45)

    assert samples.start.tolist() == [0, 10_000, 40_000]
    assert samples.end.tolist() == [10_000, 40_000, 100_000]
    assert samples.activity.tolist() == [Activity.USER, Activity.LIBRARY, Activity.USER]


def test_samples_before_the_start_and_in_a_pause_stand_for_nothing():
    samples = samples_at(-3, 20, 20, 130)

    assert samples.start.tolist() == [0, 20_000]
    assert samples.end.tolist() == [20_000, 100_000]


def test_a_sample_that_waited_is_no_python():
    samples = samples_at(10, 20, 30, waited=(10,))

    expected = [Activity.THREADS, Activity.LIBRARY, Activity.USER]
    assert samples.activity.tolist() == samples.python.tolist() == expected


def test_a_cell_without_samples_has_none():
    assert len(samples_at().time) == 0

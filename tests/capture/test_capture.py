"""Real TensorFlow traces: counts and times against values known without nbprof."""

import gc
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest
from support.captured import CLOCKS_NS, FORTY_EIGHT_MIB, batches, mlp, node_runs, profiled, runs

import nbprof

pytestmark = pytest.mark.tensorflow

tf = pytest.importorskip("tensorflow")


@pytest.mark.core("eager")
def test_seven_eager_matmuls_are_seven_runs():
    x = tf.ones([16, 16])

    profile = profiled(lambda: [tf.matmul(x, x) for _ in range(7)])

    assert runs(profile) == {"MatMul": 7}


@pytest.mark.core("functions")
def test_every_run_of_a_warm_function_is_counted_in_each_profile():
    @tf.function
    def cheap(x):
        product = tf.matmul(x, x)
        return tf.reduce_sum((tf.maximum(product, x) - x) * product)

    x = tf.ones([2, 2])
    for _ in range(500):
        cheap(x)

    for _ in range(3):
        counted = runs(profiled(lambda: [cheap(x) for _ in range(10)]))
        assert [counted[op] for op in ("MatMul", "Maximum", "Sub", "Mul", "Sum")] == [10] * 5


@pytest.mark.core("fit")
@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
def test_a_keras_fit_runs_its_training_ops_once_per_batch(warm):
    model = mlp()
    x, y = batches(12)
    if warm:
        model.fit(x, y, batch_size=32, epochs=20, verbose=0)

    began = time.perf_counter()
    profile = profiled(lambda: model.fit(x, y, batch_size=32, verbose=0))
    wall_micros = (time.perf_counter() - began) * 1e6

    training = {name: count for name, count in node_runs(profile).items() if "sequential" in name}
    assert len(training) > 5
    assert set(training.values()) == {12}
    assert any(name.endswith("MatMul") for name in training)
    assert len(profile.steps) == 12
    spent = profile.op().frame["micros"].sum()
    assert 0 < spent <= wall_micros * len(profile.threads)


def test_node_names_of_a_keras_fit_have_no_call_prefixes():
    model = mlp()

    names = set(node_runs(profiled(lambda: model.fit(*batches(2), batch_size=32, verbose=0))))

    assert any(name.startswith("sequential") and "dense" in name for name in names)
    assert not any("PartitionedCall" in name for name in names)


@pytest.mark.core("fit")
def test_predict_runs_each_batch_once():
    model = mlp()
    x, _ = batches(5)

    profile = profiled(lambda: model.predict(x, batch_size=32, verbose=0))

    counted = node_runs(profile)
    assert {count for name, count in counted.items() if "dense" in name} == {5}


@pytest.mark.core("sessions")
def test_session_runs_are_counted_and_are_steps():
    def body():
        with tf.Graph().as_default():
            x = tf.compat.v1.placeholder(tf.float32, [None, 4])
            y = tf.nn.relu(tf.matmul(x, tf.ones([4, 3]), name="product"), name="positive")
            with tf.compat.v1.Session() as session:
                for _ in range(6):
                    session.run(y, {x: np.ones((2, 4))})

    profile = profiled(body)

    counted = node_runs(profile)
    assert counted["positive"] == 6
    assert list(profile.steps["function"]) == ["Session.run"] * 6


def test_a_cell_may_mix_eager_ops_functions_keras_and_sessions():
    @tf.function
    def double(x):
        return x * 2.0

    model = mlp()
    x, y = batches(3)

    def body():
        tf.math.erf(tf.ones([2]))
        double(tf.ones([2]))
        model.fit(x, y, batch_size=32, verbose=0)
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            session.run(tf.math.lgamma(tf.random.uniform([2])))

    profile = profiled(body)

    counted = runs(profile)
    assert counted["Erf"] == 1
    assert counted["Lgamma"] == 1
    assert list(profile.steps["function"]) == [
        *("double", "multi_step_on_iterator", "multi_step_on_iterator"),
        *("multi_step_on_iterator", "Session.run"),
    ]


@pytest.mark.core("functions")
def test_loops_and_branches_are_counted_as_often_as_they_ran():
    @tf.function
    def looped(x):
        for _ in tf.range(5):
            x = tf.sin(x)
        if tf.reduce_sum(x) > 100.0:
            x = tf.cos(x)
        return x

    looped(tf.ones([2]))

    counted = runs(profiled(lambda: looped(tf.ones([2]))))

    assert counted["Sin"] == 5
    assert "Cos" not in counted


def test_functions_with_equal_node_names_are_kept_apart():
    @tf.function
    def first(x):
        return tf.sin(x)

    @tf.function
    def second(x):
        return tf.sin(x)

    x = tf.ones([2])

    counted = node_runs(profiled(lambda: (first(x), first(x), second(x))))

    assert counted["first/Sin"] == 2
    assert counted["second/Sin"] == 1


def test_a_function_that_died_during_the_cell_keeps_its_node_names():
    def body():
        @tf.function
        def inner(x):
            return tf.sin(x, name="inside")

        @tf.function
        def outer(x):
            return inner(x) + 1

        outer(tf.ones([2]))

    assert node_runs(profiled(body))["inside"] == 1


def test_hlo_ops_are_listed_under_their_compiled_function():
    @tf.function(jit_compile=True)
    def compiled(x):
        return tf.reduce_sum(tf.matmul(x, x) + 1)

    x = tf.ones([64, 64])

    profile = profiled(lambda: [compiled(x) for _ in range(3)])

    below = {name: count for name, count in node_runs(profile).items() if "compiled/" in name}
    assert below
    assert set(below.values()) == {3}


def test_the_time_of_an_op_is_within_the_wall_time():
    x = tf.random.uniform([500, 500])
    tf.matmul(x, x)

    profile = profiled(lambda: tf.matmul(x, x))

    spent = profile.op().frame["micros"][0] * 1000
    assert 0 < spent <= profile.recording.wall_ns


def test_waiting_for_a_slow_input_pipeline_is_not_op_time():
    def slow(x):
        time.sleep(0.05)
        return x

    data = tf.data.Dataset.range(4).map(
        lambda x: tf.numpy_function(slow, [x], tf.int64, stateful=False)
    )

    options = tf.data.Options()
    options.autotune.enabled = False
    options.experimental_optimization.apply_default_optimizations = False  # no parallel map

    profile = profiled(lambda: list(data.with_options(options)))

    op_type = profile.nodes["op_type"].to_numpy()[profile.events["node"]]
    slept_ns = profile.events[op_type == "PyFuncStateless"]["self_ns"].sum()
    getting = profile.events[op_type == "IteratorGetNext"]
    assert slept_ns >= 4 * 50_000_000
    assert getting["self_ns"].sum() <= getting["duration_ns"].sum() - slept_ns


def test_ops_in_threads_of_the_cell_are_counted():
    x = tf.ones([8, 8])

    def body():
        workers = [threading.Thread(target=lambda: tf.matmul(x, x)) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    assert runs(profiled(body))["MatMul"] == 4


def memory_of(profile, op_type):
    frame = profile.op(select="bytes,peak_bytes,residual_bytes").frame.set_index("name")
    return frame.loc[op_type, ["bytes", "peak_bytes", "residual_bytes"]].tolist()


@pytest.mark.core("eager")
def test_an_eager_matmul_requests_the_bytes_of_its_product():
    x = tf.ones([512, 512])

    profile = profiled(lambda: tf.matmul(x, x))

    assert memory_of(profile, "MatMul") == [512 * 512 * 4] * 3


def test_memory_of_a_large_tensor_is_exact_whether_it_is_kept_or_reduced():
    kept = []
    shape = [FORTY_EIGHT_MIB // 4]
    keep = tf.function(lambda: tf.random.uniform(shape))
    reduce = tf.function(lambda: tf.reduce_sum(tf.random.uniform(shape)))
    keep()
    reduce()

    keeping = profiled(lambda: kept.append(keep()))
    reducing = profiled(lambda: kept.append(reduce()))

    for profile in (keeping, reducing):
        assert memory_of(profile, "RandomUniform") == [FORTY_EIGHT_MIB] * 3
        assert profile.live_at_peak()["op_type"][0] == "RandomUniform"
        assert profile.live_at_peak()["shape"][0] == f"[{shape[0]}]"
    assert abs(keeping.memory()["live_bytes"].iloc[-1] - FORTY_EIGHT_MIB) < 1000
    assert abs(reducing.memory()["live_bytes"].iloc[-1]) < 1000


def test_without_the_allocator_switch_memory_is_not_recorded(monkeypatch):
    monkeypatch.setattr("nbprof.capture.compat.doors.library", lambda: None)

    profile = profiled(lambda: tf.ones([2]))

    assert profile.op(select="bytes").frame["bytes"].isna().all()
    assert profile.op().frame["live_bytes"].isna().all()
    assert any("memory was not recorded" in note for note in profile.op().notes)
    assert not any("memory" in note for note in profile.op(select="micros").notes)


def wait_for_the_end_of_the_trace():
    """Wait until the thread that enforces the limit has ended the trace."""
    for thread in threading.enumerate():
        if thread.name == "nbprof budget":
            thread.join(60)
            assert not thread.is_alive()


def test_a_limit_ends_the_trace_while_the_block_runs_on():
    x = tf.ones([8, 8])
    tf.matmul(x, x)

    began = time.perf_counter()
    with nbprof.profile(limit=1) as run:
        for _ in range(3):
            tf.matmul(x, x)
        wait_for_the_end_of_the_trace()
        ended = time.perf_counter()
        while time.perf_counter() - began < 1.1 * (ended - began):  # headlines round to 1 %
            tf.sin(x)

    profile = run.profile
    assert runs(profile) == {"MatMul": 3}
    assert 0 < profile.recording.traced_ns < profile.recording.wall_ns
    assert " traced · " in profile.headline
    assert any("tracing ended after 1 s (-limit)" in note for note in profile.notes)


def test_the_user_can_start_a_profiler_after_the_limit(tmp_path):
    with nbprof.profile(limit=0.1):
        wait_for_the_end_of_the_trace()
        with tf.profiler.experimental.Profile(str(tmp_path)):
            tf.ones([2])

    assert list(tmp_path.glob("**/*.xplane.pb"))


def test_a_light_trace_says_what_it_leaves_out():
    x = tf.ones([8, 8])

    with nbprof.profile(light=True) as run:
        tf.matmul(x, x)

    profile = run.profile
    assert runs(profile)["MatMul"] == 1
    assert profile.op().frame["live_bytes"].isna().all()
    assert "trace, light" in profile.headline
    assert any(note.startswith("-light did not record memory") for note in profile.notes)


def test_a_note_says_what_watching_calls_cost_if_it_matters(monkeypatch):
    x = tf.ones([2, 2])

    def body():
        for _ in range(2000):
            tf.matmul(x, x)

    def notes_about_watching(light=False):
        with nbprof.profile(light=light) as run:
            body()
        return [note for note in run.profile.notes if "watching" in note]

    monkeypatch.setattr("nbprof.capture.recorder.NOTABLE_SHARE", 0)
    monkeypatch.setattr("nbprof.capture.recorder.NOTABLE_NS", 0)
    (note,) = notes_about_watching()
    assert "of the cell's time went into watching 2,000 calls into TensorFlow" in note
    assert not notes_about_watching(light=True)
    monkeypatch.setattr("nbprof.capture.recorder.NOTABLE_NS", 10**15)
    assert not notes_about_watching()


def test_a_mirrored_fit_is_traced_to_its_end():
    devices = tf.config.list_logical_devices("CPU")
    strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
    with strategy.scope():
        model = mlp()
    x, y = batches(4)
    model.fit(x, y, batch_size=32, verbose=0)

    profile = profiled(lambda: model.fit(x, y, batch_size=32, verbose=0))

    assert not any("gave way" in note for note in profile.notes)
    assert len(profile.steps) == 4


def test_a_profile_keeps_no_variable_of_the_block_alive():
    gone = []

    def body():
        variable = tf.Variable(1.0)
        tf.function(lambda: variable + 1)()
        gone.append(weakref.ref(variable))

    with nbprof.profile() as run:
        body()
    gc.collect()

    assert run.profile is not None
    assert gone[0]() is None


def test_a_bug_in_nbprof_does_not_replace_the_users_exception(monkeypatch):
    def broken(_capture):
        raise RuntimeError("our fault")

    monkeypatch.setattr("nbprof.ingest.read", broken)

    with (
        pytest.warns(UserWarning, match="nbprof could not profile this block: our fault"),
        pytest.raises(ZeroDivisionError),
        nbprof.profile(),
    ):
        1 / 0  # noqa: B018


def test_after_a_failed_profile_the_last_one_is_not_that_of_an_earlier_block(monkeypatch):
    profiled(lambda: tf.ones([2]))
    monkeypatch.setattr("nbprof.ingest.read", lambda _capture: 1 / 0)

    with pytest.raises(ZeroDivisionError), nbprof.profile():
        tf.ones([3])

    assert nbprof.last() is None


def test_a_block_that_was_refused_leaves_the_last_profile(tmp_path):
    profile = profiled(lambda: tf.ones([2]))
    tf.profiler.experimental.start(str(tmp_path))

    with pytest.raises(nbprof.NbprofError, match="already profiling"):
        nbprof.profile().__enter__()

    tf.profiler.experimental.stop()
    assert nbprof.last() is profile


def test_a_process_without_eager_execution_can_be_profiled():
    script = (
        "import tensorflow as tf, nbprof\n"
        "tf.compat.v1.disable_eager_execution()\n"
        "with nbprof.profile() as run:\n"
        "    with tf.compat.v1.Session() as session:\n"
        "        session.run(tf.compat.v1.random.uniform([4]) * 2)\n"
        "print(run.profile.op())"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )

    assert "RandomUniform" in done.stdout, done.stderr[-2000:]


def test_the_summary_adds_up_to_the_wall_time_and_has_every_category():
    @tf.function
    def slow_to_trace(x):
        time.sleep(0.05)
        return tf.matmul(x, x)

    def slow(x):
        time.sleep(0.02)
        return x

    x = tf.random.uniform([1000, 1000])
    data = tf.data.Dataset.range(3).map(  # on another thread, for which the cell waits
        lambda v: tf.numpy_function(slow, [v], tf.int64, stateful=False), num_parallel_calls=1
    )

    def body():
        time.sleep(0.1)
        slow_to_trace(x)
        for _ in range(5):
            tf.matmul(x, x)
        list(data)

    profile = profiled(body)

    spent = profile.summary().set_index("category")["micros"]
    wall = profile.summary().attrs["wall_micros"]
    assert spent.sum() == pytest.approx(wall, abs=1000)
    assert profile.summary()["percent"].sum() == pytest.approx(100, abs=1)
    assert spent["your Python"] >= 90_000
    assert spent["building graphs"] >= 50_000
    assert spent["waiting for input"] >= 40_000
    assert spent["ops"] > 0
    assert spent["eager dispatch"] > 0


def test_time_after_the_limit_is_in_the_summary():
    with nbprof.profile(limit=0.1) as run:
        wait_for_the_end_of_the_trace()

    spent = run.profile.summary().set_index("category")["micros"]
    assert "not watched" not in spent
    assert spent["waiting for other threads"] > 0
    assert spent.sum() == pytest.approx(run.profile.recording.wall_ns / 1000, abs=1000)


@pytest.mark.core("fit")
def test_the_summary_of_a_keras_fit_adds_up_to_the_wall_time():
    model = mlp()
    profile = profiled(lambda: model.fit(*batches(20), batch_size=32, verbose=0))

    summary = profile.summary()
    assert summary["micros"].sum() == pytest.approx(summary.attrs["wall_micros"], abs=1000)
    assert {"library Python", "ops", "eager dispatch", "building graphs"} <= set(
        summary["category"]
    )


def test_no_run_is_lost_if_a_thread_starts_a_profiler_as_the_block_ends(tmp_path):
    with nbprof.profile() as run:
        for _ in range(300):
            tf.ones([1])
        other = threading.Thread(target=lambda: tf.profiler.experimental.start(str(tmp_path)))
        other.start()
    other.join()
    tf.profiler.experimental.stop()

    assert runs(run.profile)["Fill"] == 300


def test_without_a_temporary_folder_the_block_runs_unprofiled(monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", "/no/such/folder")
    done = []

    profile = profiled(lambda: done.append(tf.ones([2])))

    assert done
    assert any("no temporary folder" in note for note in profile.notes)


def test_events_are_within_the_wall_time():
    x = tf.ones([8, 8])

    profile = profiled(lambda: tf.matmul(x, x))

    events = profile.events
    assert events["start_ns"].min() >= 0
    assert (
        events["start_ns"] + events["duration_ns"]
    ).max() <= profile.recording.wall_ns + CLOCKS_NS


def test_after_an_exception_the_profile_shows_what_ran():
    with pytest.raises(ZeroDivisionError), nbprof.profile() as run:  # noqa: PT012 the block is what is tested
        tf.matmul(tf.ones([2, 2]), tf.ones([2, 2]))
        1 / 0  # noqa: B018

    assert runs(run.profile)["MatMul"] == 1
    assert nbprof.last() is run.profile


def test_a_nested_profile_is_refused_and_the_outer_one_goes_on():
    with nbprof.profile() as outer:
        with pytest.raises(nbprof.NbprofError, match="nbprof is already profiling a with block"):
            nbprof.profile().__enter__()
        tf.matmul(tf.ones([2, 2]), tf.ones([2, 2]))

    assert runs(outer.profile)["MatMul"] == 1


def test_a_plain_tensorflow_trace_works_after_a_profile(tmp_path):
    profiled(lambda: tf.ones([2]))

    tf.profiler.experimental.start(str(tmp_path))
    tf.profiler.experimental.stop()

    assert list(tmp_path.glob("**/*.xplane.pb"))


def test_if_the_trace_level_is_ignored_counts_are_called_lower_bounds(monkeypatch):
    monkeypatch.setattr("nbprof.capture.compat.profiler_session.EVERY_RUN", 2)
    double = tf.function(lambda x: x + x)
    double(tf.ones([2]))

    profile = profiled(lambda: double(tf.ones([2])))

    assert any("run counts and times are lower bounds" in note for note in profile.notes)
    assert "every op run" not in profile.headline

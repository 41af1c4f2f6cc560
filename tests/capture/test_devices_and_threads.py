"""Several devices and threads: every run is counted once and keeps its lines."""

import sys
import threading

import pytest
from support.captured import CLOCKS_NS, printed_by, profiled, runs, runs_from, shapes_of

pytestmark = pytest.mark.tensorflow

tf = pytest.importorskip("tensorflow")


MIRRORED = """
import json, sys
sys.path[:0] = sys.argv[1:]
import tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
from support.captured import batches, mlp, node_runs, profiled, runs
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with strategy.scope():
    model = mlp()
x, y = batches(6)
made = {"fits": []}
for _ in range(2):
    before = int(model.optimizer.iterations.numpy())
    profile = profiled(lambda: model.fit(x, y, batch_size=32, verbose=0))
    made["fits"].append({
        "trained": int(model.optimizer.iterations.numpy()) - before,
        "steps": len(profile.steps),
        "nodes": node_runs(profile),
        "ops": {op: int(count) for op, count in runs(profile).items()},
        "notes": profile.notes,
    })
ran = tf.Variable(0)
@tf.function
def custom(v):
    def replica(v):
        return tf.tanh(tf.matmul(v, v))
    ran.assign_add(strategy.num_replicas_in_sync)
    return strategy.run(replica, args=(v,))
custom(tf.ones([8, 8]))
before = int(ran)
profile = profiled(lambda: [custom(tf.ones([8, 8])) for _ in range(5)])
made["custom"] = {
    "replicas run": int(ran) - before,
    "steps": list(profile.steps["function"]),
    "ops": {op: int(count) for op, count in runs(profile).items()},
}
print(json.dumps(made))
"""


@pytest.fixture(scope="module")
def mirrored():
    """Profile a mirrored fit, cold and warm, and run(), in a process with two logical CPUs."""
    return printed_by(MIRRORED, *sys.path)


@pytest.mark.parametrize("fit", [0, 1], ids=["cold", "warm"])
def test_a_mirrored_fit_runs_its_model_once_per_step_on_both_replicas(mirrored, fit):
    seen = mirrored["fits"][fit]

    of_model = {name: count for name, count in seen["nodes"].items() if "sequential" in name}
    second = {name for name in of_model if "replica_1/" in name}
    assert {name.replace("replica_1/", "") for name in second} == of_model.keys() - second
    assert len(second) > 10
    assert set(of_model.values()) == {6}
    assert seen["steps"] == seen["trained"] == 6
    assert all("input pipeline goes on" in note for note in seen["notes"])


@pytest.mark.parametrize("fit", [0, 1], ids=["cold", "warm"])
def test_an_all_reduce_counts_once_per_replica_although_the_trace_has_it_twice(mirrored, fit):
    seen = mirrored["fits"][fit]

    reductions = {name: n for name, n in seen["nodes"].items() if "CollectiveReduce" in name}
    assert set(reductions.values()) == {6}
    assert seen["ops"]["CollectiveReduceV2"] == 6 * len(reductions)
    assert len(reductions) % 2 == 0


def test_a_function_run_on_both_replicas_is_one_step(mirrored):
    seen = mirrored["custom"]

    assert seen["steps"] == ["custom"] * 5
    assert seen["ops"]["MatMul"] == seen["ops"]["Tanh"] == seen["replicas run"] == 10


def in_threads(*works):
    workers = [threading.Thread(target=work) for work in works]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


@pytest.fixture(scope="module")
def threaded():
    """Profile four threads besides the cell's own, each with functions and eager ops."""
    first = tf.function(lambda x: tf.tanh(tf.matmul(x, x)))
    second = tf.function(lambda x: tf.sigmoid(tf.matmul(x, x)))
    x = tf.ones([64, 64])
    first(x), second(x)

    def of_first():
        for _ in range(25):
            first(x)
            tf.math.erf(x)

    def of_second():
        for _ in range(25):
            second(x)
            tf.math.lgamma(x)

    def body():
        in_threads(of_first, of_second, of_first, of_second)
        for _ in range(10):
            tf.math.cos(x)

    return profiled(body)


def test_every_run_in_every_thread_is_counted(threaded):
    counted = runs(threaded)

    assert counted["MatMul"] == 100
    assert [counted[op] for op in ("Tanh", "Sigmoid", "Erf", "Lgamma")] == [50] * 4
    assert counted["Cos"] == 10
    assert len(threaded.steps) == 100


def test_no_thread_has_more_than_the_wall_time_and_the_summary_adds_up_to_it(threaded):
    wall_ns = threaded.recording.wall_ns
    spent = threaded.events.groupby("thread")["self_ns"].sum()
    ended = threaded.events["start_ns"] + threaded.events["duration_ns"]
    summary = threaded.summary()

    assert spent.gt(0).all()
    assert spent.max() <= wall_ns
    assert ended.max() <= wall_ns + CLOCKS_NS
    assert summary["micros"].sum() == pytest.approx(wall_ns / 1000, abs=1000)
    assert summary["micros"].ge(0).all()


def test_threads_with_the_same_id_keep_their_own_lines():
    x = tf.ones([2])

    def first():
        tf.math.erf(x)

    def second():
        tf.math.lgamma(x)

    def body():
        for work in (first, second) * 10:  # Python reuses the thread's id
            in_threads(work)

    profile = profiled(body)

    assert runs_from(profile, "Erf") == {"tf.math.erf(x)": 10}
    assert runs_from(profile, "Lgamma") == {"tf.math.lgamma(x)": 10}


class Held:
    """A tf.function that stays inside TensorFlow until `leave` is set."""

    def __init__(self):
        self.inside, self.leave = threading.Event(), threading.Event()
        self.call = tf.function(
            lambda v: tf.cos(tf.numpy_function(self._hold, [tf.math.erf(v)], tf.float32))
        )

    def _hold(self, value):
        self.inside.set()
        assert self.leave.wait(60)
        return value


def test_ops_keep_their_lines_and_shapes_while_other_threads_run_ops(threaded):
    x = tf.ones([3, 3])

    for held_by_the_cell in (True, False):
        held = Held()

        def beside(held=held):
            assert held.inside.wait(60)
            tf.matmul(x, x)
            held.leave.set()

        def long(held=held):
            held.call(tf.ones([2]))

        def body(here=long if held_by_the_cell else beside, there=(beside, long)):
            other = threading.Thread(target=there[here is beside])
            other.start()
            here()
            other.join()

        profile = profiled(body)

        assert runs_from(profile, "MatMul") == {"tf.matmul(x, x)": 1}
        assert shapes_of(profile)["MatMul"] == {("3x3", "3x3"): 1}
    # Without `Held`, a mix-up would show only occasionally.
    assert runs_from(threaded, "Erf") == {"tf.math.erf(x)": 50}
    assert runs_from(threaded, "Lgamma") == {"tf.math.lgamma(x)": 50}
    assert runs_from(threaded, "Cos") == {"tf.math.cos(x)": 10}


def test_a_thread_that_outlives_the_cell_counts_until_the_cell_ends():
    held = Held()
    worker = threading.Thread(target=lambda: held.call(tf.ones([2])))

    def body():
        worker.start()
        assert held.inside.wait(60)

    profile = profiled(body)
    held.leave.set()
    worker.join()

    assert runs(profile)["Erf"] == 1
    assert "Cos" not in runs(profile)

"""Keras, training loops and control flow: counts and lines against TensorFlow's own numbers.

How often something ran is known from variables that count inside the graph, from the optimizer's
iterations and the global step, from RunMetadata of the same step, or from the loop that called it.
"""

import sys
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from support.captured import (
    FORTY_EIGHT_MIB,
    batches,
    mlp,
    model_runs,
    node_runs,
    profiled,
    runs,
    runs_from,
    shapes_of,
)

import nbprof
from nbprof import ingest
from nbprof.capture.recorder import Recorder

pytestmark = pytest.mark.tensorflow

tf = pytest.importorskip("tensorflow")
xplane_pb2 = pytest.importorskip("tensorflow.tsl.profiler.protobuf.xplane_pb2")


def test_evaluate_runs_the_model_once_per_batch_without_gradients_or_updates():
    model = mlp()
    x, y = batches(7)
    updates = int(model.optimizer.iterations)

    profile = profiled(lambda: model.evaluate(x, y, batch_size=32, verbose=0))

    counted = model_runs(profile)
    assert any(name.endswith("Relu") for name in counted)
    assert set(counted.values()) == {7}
    assert len(profile.steps) == 7
    assert not any("gradient" in name for name in node_runs(profile))
    assert int(model.optimizer.iterations) == updates


@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
def test_a_training_loop_with_nested_functions_and_a_tape_is_counted_per_step(warm):
    weights, bias = tf.Variable(tf.ones([8, 4])), tf.Variable(tf.zeros([4]))
    trained = tf.Variable(0)

    @tf.function
    def forward(x):
        return tf.nn.relu(tf.matmul(x, weights) + bias)

    @tf.function
    def loss_of(x):
        return tf.reduce_mean(tf.square(forward(x)))

    @tf.function
    def train(x):
        with tf.GradientTape() as tape:
            loss = loss_of(x)
        for variable, gradient in zip(
            (weights, bias), tape.gradient(loss, (weights, bias)), strict=True
        ):
            variable.assign_sub(0.1 * gradient)
        trained.assign_add(1)
        return loss

    x = tf.ones([16, 8])
    if warm:
        for _ in range(200):
            train(x)
    before = int(trained)

    profile = profiled(lambda: [train(x) for _ in range(9)])

    steps = int(trained) - before
    counted = runs(profile)
    assert steps == 9
    assert counted["MatMul"] == 2 * steps  # forward, and the gradient of the weights
    assert counted["Relu"] == counted["ReluGrad"] == counted["Square"] == steps
    assert counted["AssignSubVariableOp"] == 2 * steps
    assert counted["AssignAddVariableOp"] == steps
    assert list(profile.steps["function"]) == ["train"] * steps
    assert shapes_of(profile)["MatMul"] == {("16x8", "8x4"): steps, ("16x8", "16x4"): steps}


def test_a_model_in_loops_and_branches_is_counted_as_often_as_it_ran():
    ran = {place: tf.Variable(0) for place in ("while", "autograph", "taken", "not taken")}
    weights = tf.Variable(0.1 * tf.ones([6, 6]))

    @tf.function
    def model(x):
        return tf.nn.relu(tf.matmul(x, weights))

    def counted(place, x):
        ran[place].assign_add(1)
        return model(x)

    @tf.function
    def looped(x, times):
        x = tf.while_loop(
            lambda i, _: i < times, lambda i, x: (i + 1, counted("while", x)), [0, x]
        )[1]
        while tf.reduce_sum(x) > 1e-3:  # the number of turns depends on the data
            x = counted("autograph", x)
        return tf.cond(
            times > 3, lambda: counted("taken", x), lambda: tf.cos(counted("not taken", x))
        )

    x = tf.ones([3, 6])
    looped(x, tf.constant(4))
    before = sum(map(int, ran.values()))

    profile = profiled(lambda: [looped(x, times) for times in (tf.constant(5), tf.constant(7))])

    models = sum(map(int, ran.values())) - before
    assert int(ran["while"]) == 4 + 5 + 7
    assert int(ran["autograph"]) > 3
    assert int(ran["not taken"]) == 0
    seen = runs(profile)
    assert seen["MatMul"] == seen["Relu"] == seen["AssignAddVariableOp"] == models
    assert "Cos" not in seen
    assert len(profile.steps) == 2


def test_two_profiles_of_a_warm_fit_have_the_same_ops_nodes_and_counts():
    model = mlp()
    x, y = batches(6)
    for _ in range(3):
        model.fit(x, y, batch_size=32, epochs=10, verbose=0)

    first, second = (profiled(lambda: model.fit(x, y, batch_size=32, verbose=0)) for _ in range(2))

    assert runs(first) == runs(second)
    assert node_runs(first) == node_runs(second)
    assert set(model_runs(first).values()) == {6}


def test_the_cost_of_reading_a_loop_is_linear_in_its_length():
    looped = tf.function(lambda n: tf.while_loop(lambda i: i < n, lambda i: i + 1, [0]))
    short, long = tf.constant(250), tf.constant(6 * 250)
    looped(long), looped(long)

    def cost(turns):
        """Return the number of calls that reading the trace makes, and its peak memory in bytes."""
        capture = recorded(lambda: looped(turns))
        calls = []
        tracemalloc.start()
        sys.setprofile(lambda _frame, event, _argument: calls.append(event))
        try:
            profile = ingest.read(capture)
            counted = runs(profile)["LoopCond"]
        finally:
            sys.setprofile(None)
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        assert counted == int(turns) + 1
        return np.array([len(calls), peak])

    assert (cost(long) < 2 * 6 * cost(short)).all()


def test_a_function_call_that_fails_is_a_step():
    @tf.function
    def checked(x):
        tf.debugging.assert_less(x, 3.0)
        return tf.sin(x)

    checked(tf.constant(0.0))

    with pytest.raises(tf.errors.InvalidArgumentError), nbprof.profile() as run:  # noqa: PT012
        for x in range(5):
            checked(tf.constant(float(x)))

    assert list(run.profile.steps["function"]) == ["checked"] * 4


def recorded(body):
    """Record a block without reading its trace."""
    recorder = Recorder("a block")
    recorder.start()
    body()
    return recorder.stop()


def still_leaving(trace, function):
    """Cut a trace as if it had stopped before the executor of the last call ended.

    Python may have the result by then, but an event is written only when it ends. Return None if
    the trace did stop before.
    """
    space = xplane_pb2.XSpace.FromString(trace)
    (host,) = (plane for plane in space.planes if plane.name == "/host:CPU")

    def starts(name):
        return [
            (line.timestamp_ns * 1000 + event.offset_ps, line, event)
            for line in host.lines
            for event in line.events
            if host.event_metadata[event.metadata_id].name == name
        ]

    last_call = max(start for start, _, _ in starts(function))
    left = [found for found in starts("ExecutorState::Process") if found[0] > last_call]
    for _, line, event in left:
        line.events.remove(event)
    return space.SerializeToString() if left else None


def test_a_call_whose_executor_outlives_the_cell_keeps_its_function_and_lines():
    large, small = tf.random.uniform([400, 400]), tf.random.uniform([40, 40])

    @tf.function
    def products():
        return tf.matmul(large, large), tf.matmul(small, small)

    products()
    for _ in range(50):  # until the executor ends before the trace does
        capture = recorded(lambda: [products() for _ in range(3)])
        cut = still_leaving(capture.trace, "products")
        if cut is not None:
            break
    assert cut is not None

    profile = ingest.read(replace(capture, windows=(replace(capture.windows[0], trace=cut),)))

    assert set(node_runs(profile).values()) == {3}
    assert runs_from(profile, "MatMul") == {
        "return tf.matmul(large, large), tf.matmul(small, small)": 6
    }


def test_tensors_alive_at_the_peak_name_the_line_that_made_them():
    kept = []

    def noise():
        return tf.random.uniform([FORTY_EIGHT_MIB // 4])

    def total():
        return tf.reduce_sum(noise())

    here = noise.__code__.co_firstlineno + 1
    keep, reduce = tf.function(noise), tf.function(total)
    keep(), reduce()

    for make in (keep, reduce, noise, total):
        largest = profiled(lambda make=make: kept.append(make())).live_at_peak().iloc[0]

        assert largest["bytes"] == FORTY_EIGHT_MIB
        assert largest["source"] == f"test_modes.py:{here}:noise"
        kept.clear()


def test_the_function_around_the_ops_of_a_lambda_is_the_lambda():
    double = tf.function(lambda x: tf.math.erf(x))

    frames = profiled(lambda: double(tf.ones([2]))).frames

    assert set(frames[frames["source"].str.contains("math.erf", regex=False)]["function"]) == {
        "<lambda>"
    }

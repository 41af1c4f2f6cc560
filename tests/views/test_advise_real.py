"""Real programs: each kind of advice for one that needs it, none for a healthy one."""

import itertools
import time

import numpy as np
import pytest

import nbprof

pytestmark = pytest.mark.tensorflow

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")


PATIENCE = 120
"""Seconds in which even a busy machine should run a body undisturbed once."""


def tries():
    """Count tries from zero: at least five, and more until PATIENCE runs out."""
    until = time.monotonic() + PATIENCE
    number = 0
    while number < 5 or time.monotonic() < until:
        yield number
        number += 1


def advice_of(body):
    with nbprof.profile() as run:
        body()
    return run.profile.advise().set_index("check")


def found_once(body, check):
    """Run a body until it gets the advice: a busy machine may hide the reason a few times."""
    for _ in tries():
        advice = advice_of(body)
        if check in advice.index:
            return advice.loc[check]
    return pytest.fail(f"no advice on {check}: {advice['message'].tolist()}")


def network(width=128):
    return keras.Sequential(
        [
            keras.layers.Input((32,)),
            keras.layers.Dense(width, activation="relu"),
            keras.layers.Dense(width, activation="relu"),
            keras.layers.Dense(1),
        ]
    )


def trainable():
    model = network()
    model.compile("adam", "mse")
    return model


X, Y = np.ones((1000, 32), "float32"), np.ones((1000, 1), "float32")


def assert_calm_once(advice):
    """Try until all advice is informational: a busy machine does not cause waits every time."""
    found = []
    for _ in tries():
        given = advice()
        if set(given["severity"]) <= {"info"}:
            return
        found.append(given["message"].tolist())
    pytest.fail(f"advice every time: {found[-5:]}")


@pytest.mark.parametrize("warm", [False, True], ids=["the first fit", "a later fit"])
@pytest.mark.parametrize("batch", [32, 100], ids=["whole batches", "a smaller last batch"])
def test_a_healthy_fit_gets_only_informational_advice(warm, batch):
    def advice():
        model = trainable()
        if warm:
            model.fit(X, Y, batch_size=batch, verbose=0)
        return advice_of(lambda: model.fit(X, Y, batch_size=batch, epochs=2, verbose=0))

    assert_calm_once(advice)


def test_a_healthy_loop_over_a_dataset_gets_no_advice():
    data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(50).prefetch(2)
    weights = tf.Variable(tf.random.normal([32, 512]))  # enough work even on a busy machine

    @tf.function
    def step(x, y, times):
        for _ in tf.range(times):
            weights.assign_sub(1e-6 * tf.matmul(x, tf.matmul(x, weights) - y, transpose_a=True))

    for x, y in data.take(1):
        step(x, y, tf.constant(1))
    # On a busy machine batches arrive late; more work per batch hides that.
    work = itertools.chain([30, 90, 270, 810], itertools.repeat(2430))

    def advice():
        times = tf.constant(next(work))
        return advice_of(lambda: [step(x, y, times) for x, y in data])

    assert_calm_once(advice)


def test_a_function_that_is_retraced_is_named():
    @tf.function
    def scaled(x, factor):
        return x * factor

    def body():
        for factor in range(8):
            scaled(tf.ones([2, 2]), factor)

    advice = advice_of(body).loc["retracing"]

    assert "scaled was retraced 7 times" in advice["message"]
    assert advice["rows"] == ["scaled"]
    assert advice["severity"] in ("high", "medium")


def test_a_loop_of_small_eager_ops_is_found():
    x = tf.ones([4, 4])

    def body():
        y = x
        for _ in range(1500):
            y = y * 1.01 + x

    advice = found_once(body, "many small eager ops")

    assert {"Mul", "AddV2"} <= set(advice["rows"])
    assert "tf.function" in advice["message"]


def slow_batches():
    for _ in range(15):
        time.sleep(0.03)
        yield X[:10], Y[:10]


SLOW = tf.data.Dataset.from_generator(
    slow_batches, output_signature=(tf.TensorSpec((10, 32)), tf.TensorSpec((10, 1)))
)


def test_a_fit_that_waits_for_its_batches_is_found():
    model = trainable()
    model.fit(SLOW, verbose=0)

    advice = found_once(lambda: model.fit(SLOW, verbose=0), "input-bound")

    assert advice["severity"] == "high"
    assert "IteratorGetNext" in advice["rows"]


def test_a_loop_that_waits_for_its_batches_is_found():
    def body():
        for x, _ in SLOW:
            tf.reduce_sum(x)

    advice = found_once(body, "input-bound")

    assert advice["severity"] == "high"
    assert "prefetch" in advice["message"]


def test_python_between_steps_is_found():
    @tf.function
    def step(x):
        return tf.reduce_sum(x * 2.0)

    x = tf.ones([10, 10])
    step(x)

    def body():
        for _ in range(20):
            step(x)
            time.sleep(0.01)

    advice = found_once(body, "Python between steps")

    assert advice["rows"] == ["step"]
    assert "between 20 steps" in advice["message"]


def test_a_peak_of_few_tensors_is_found():
    def body():
        large = tf.random.normal([6000, 6000])
        small = tf.ones([10])
        return tf.reduce_sum(large) + tf.reduce_sum(small)

    advice = advice_of(body).loc["peak of few tensors"]

    assert any("RandomStandardNormal" in row for row in advice["rows"])
    assert "144.00MB" in advice["message"]


@pytest.fixture
def without_remapping():
    before = tf.config.optimizer.get_experimental_options()
    tf.config.optimizer.set_experimental_options({"remapping": False})
    yield
    tf.config.optimizer.set_experimental_options({"remapping": before.get("remapping", True)})


def layer(x, kernel, bias):
    return tf.nn.relu(tf.nn.bias_add(tf.matmul(x, kernel), bias))


def unfused_advice():
    x, kernel, bias = tf.ones([2000, 8]), tf.ones([8, 400]), tf.ones([400])
    function = tf.function(layer)
    function(x, kernel, bias)
    return advice_of(lambda: [function(x, kernel, bias) for _ in range(5)])


def test_an_unfused_layer_is_found(without_remapping):
    advice = unfused_advice().loc["unfused ops"]

    assert {row.rpartition("/")[2] for row in advice["rows"]} == {"BiasAdd", "Relu"}


def test_a_fused_layer_gets_no_advice():
    assert "unfused ops" not in unfused_advice().index

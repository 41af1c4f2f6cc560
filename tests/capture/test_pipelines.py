"""The ops of input pipelines are counted per element and kept apart from the model's."""

import pytest
from support.captured import (
    batches,
    mlp,
    model_runs,
    node_runs,
    profiled,
    runs,
    runs_from,
    shapes_of,
)

from nbprof.capture import budget

pytestmark = pytest.mark.tensorflow

tf = pytest.importorskip("tensorflow")


def test_pipeline_ops_count_per_element_and_model_ops_per_batch():
    mapped = tf.Variable(0)
    weights = tf.Variable(tf.ones([4, 4]))

    def prepare(v):
        with tf.control_dependencies([mapped.assign_add(1)]):
            return tf.math.erf(tf.cast(v, tf.float32))

    data = tf.data.Dataset.range(24).map(prepare, num_parallel_calls=2).batch(4).prefetch(2)

    @tf.function
    def step(batch):
        return tf.reduce_sum(tf.tanh(tf.linalg.matvec(weights, batch)))

    def epoch():
        for batch in data:
            step(batch)

    for _ in range(2):  # cold, then warm
        before = int(mapped)

        profile = profiled(epoch)

        counted = runs(profile)
        assert counted["Erf"] == counted["Cast"] == int(mapped) - before == 24
        assert counted["MatMul"] == counted["Tanh"] == len(profile.steps) == 6
        assert counted["IteratorGetNext"] == 7  # the last one finds the end
        assert shapes_of(profile)["Erf"] == {("scalar",): 24}


def test_pipeline_and_model_nodes_with_equal_names_are_kept_apart():
    data = tf.data.Dataset.range(6).map(lambda v: tf.math.erf(tf.cast(v, tf.float32), name="same"))

    @tf.function
    def step(v):
        return tf.math.erf(v, name="same")

    profile = profiled(lambda: [step(v) for v in data])

    counted = node_runs(profile)
    assert counted["Dataset_map_lambda/same"] == counted["step/same"] == 6


def test_the_pipeline_of_a_keras_fit_is_not_in_the_models_scopes(monkeypatch):
    model = mlp()
    x, y = batches(5)
    data = tf.data.Dataset.from_tensor_slices((x, y)).map(lambda x, y: (tf.math.erf(x), y))

    monkeypatch.setattr(budget, "FIRST_LOOK", 3600)  # so that no part of the trace is written early
    profile = profiled(lambda: model.fit(data.batch(32).prefetch(2), shuffle=False, verbose=0))

    assert runs(profile)["Erf"] == len(x)
    assert not any("input pipeline goes on" in note for note in profile.notes)
    assert not any("Erf" in name for name in model_runs(profile))
    assert set(model_runs(profile).values()) == {5}


def test_a_note_says_that_a_pipeline_goes_on_while_the_trace_is_written(monkeypatch):
    monkeypatch.setattr(budget, "FIRST_LOOK", 0)
    model, (x, y) = mlp(), batches(5)

    profile = profiled(lambda: model.fit(x, y, batch_size=32, verbose=0))

    assert any("an input pipeline goes on" in note for note in profile.notes)


def test_a_model_in_a_dataset_loop_inside_a_function_is_not_in_the_pipeline():
    @tf.function
    def step(v):
        return tf.sin(v, name="of_the_model")

    @tf.function
    def epoch(data):
        total = 0.0
        for v in data:
            total += step(v)
        return total

    data = tf.data.Dataset.range(6).map(lambda v: tf.cast(v, tf.float32, name="of_the_pipeline"))

    profile = profiled(lambda: epoch(data))

    assert node_runs(profile)["of_the_pipeline"] == 6
    assert node_runs(profile)["of_the_model"] == 6
    assert runs_from(profile, "Sin") == {'return tf.sin(v, name="of_the_model")': 6}


def test_the_ops_of_a_map_function_name_its_lines():
    def prepare(v):
        v = tf.cast(v, tf.float32)
        return tf.math.erf(v)

    data = tf.data.Dataset.range(6).map(prepare)

    profile = profiled(lambda: list(data))

    assert runs_from(profile, "Cast") == {"v = tf.cast(v, tf.float32)": 6}
    assert runs_from(profile, "Erf") == {"return tf.math.erf(v)": 6}


def test_the_iterators_of_a_warm_pipeline_have_times():
    data = tf.data.Dataset.from_tensors(tf.zeros([2**18])).repeat(64).batch(64)
    list(data)

    frame = profiled(lambda: list(data)).op(max_depth=1000).frame  # copies 64 MiB

    assert frame.loc[frame["name"].str.contains("Batch"), "micros"].sum() > 0

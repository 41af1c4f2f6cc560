"""The layers, parameters and parts of real models, with Keras 3 and with Keras 2."""

from collections import Counter

import numpy as np
import pytest
from support.captured import profiled
from support.kerases import (
    KERASES,
    data,
    fitted,
    import_keras,
    rows,
    runs_by_layer,
    total_params,
)

import nbprof

pytestmark = pytest.mark.tensorflow

tf = pytest.importorskip("tensorflow")


@pytest.fixture(scope="module", params=KERASES)
def keras(request):
    return import_keras(request.param)


@pytest.fixture(scope="module")
def mlp(keras):
    layers = keras.layers
    model = keras.Sequential(
        [keras.Input((64,)), layers.Dense(128, "relu", name="wide"), layers.Dense(10, name="out")],
        name="mlp",
    )
    return model, fitted(model, *data(16, 64, outputs=10), optimizer="adam")


def test_parameters_of_an_mlp_and_of_its_optimizer_are_kept_apart(mlp):
    model, profile = mlp

    params = rows(profile.layer(select="params"), "params", "total_params")
    assert model.count_params() == 9610
    assert params["mlp"] == (0, 9610)
    assert params["mlp/wide"] == (64 * 128 + 128,) * 2
    assert params["mlp/out"] == (128 * 10 + 10,) * 2
    assert params["optimizer"][1] == 2 * 9610 + 2  # Adam's moments, its steps and learning rate
    assert params["metrics"][1] == 2  # sum and count of the loss
    assert params["outside layers"][1] == 0


def test_dense_layers_have_the_float_ops_of_their_products(mlp):
    _, profile = mlp

    flops = rows(profile.layer(select="float_ops"), "total_float_ops")
    # A product and a bias; the first layer also has an activation.
    forward = {"wide": 32 * 128 * (2 * 64 + 1 + 1), "out": 32 * 10 * (2 * 128 + 1)}
    for name, count in forward.items():
        assert flops[f"mlp/{name}/forward"][0] == 16 * count
    frame = profile.op(select="float_ops").frame
    family = frame[frame["name"].isin(["MatMul", "BiasAdd"])]["float_ops"].sum()
    assert family == 20_780_032


@pytest.mark.core
def test_products_are_counted_in_the_pass_of_their_layer(mlp):
    _, profile = mlp

    # Backward, the gradient of the weights is a product, and that of the input where it is needed.
    assert runs_by_layer(profile, "MatMul") == {
        ("mlp/wide", "forward"): 16,
        ("mlp/wide", "backward"): 16,
        ("mlp/out", "forward"): 16,
        ("mlp/out", "backward"): 2 * 16,
    }


@pytest.mark.parametrize("metric", ["micros", "bytes", "float_ops", "output_bytes"])
def test_the_layer_view_adds_up_to_the_total_of_the_op_view(mlp, metric):
    _, profile = mlp

    total = profile.layer(select=metric).frame[f"total_{metric}"][0]
    assert total == pytest.approx(profile.op(select=metric).frame[metric].sum())
    assert profile.layer(select=metric).frame[metric].sum() == pytest.approx(total)


def test_optimizer_loss_and_input_pipeline_have_rows_in_the_layer_view(mlp):
    _, profile = mlp

    time = rows(profile.layer(), "total_micros")
    assert all(time[part][0] > 0 for part in ("optimizer", "loss", "metrics", "input pipeline"))


def test_the_code_view_shows_only_lines_of_the_user(mlp):
    _, profile = mlp

    files = set(profile.frames.loc[~profile.frames["framework"], "file"])
    assert not [file for file in files if "keras/src/" in file or "autograph" in file]
    assert any("model.fit(x, y, verbose=0)" in text for text in profile.code().frame["source"])


def convolutional(keras):
    layers = keras.layers
    return keras.Sequential(
        [
            keras.Input((12, 12, 1)),
            layers.Conv2D(4, 3, activation="relu", name="edges"),
            layers.BatchNormalization(name="norm"),
            layers.MaxPooling2D(name="halve"),
            layers.Dropout(0.25, name="drop"),
            layers.Flatten(name="flat"),
            layers.Dense(3, name="digits"),
        ],
        name="cnn",
    )


@pytest.mark.core
def test_both_kerases_have_the_same_rows_parameters_and_products():
    found = []
    for name in KERASES:
        model = convolutional(import_keras(name))
        profile = fitted(model, *data(4, 12, 12, 1, outputs=3), optimizer="adam", metrics=["mae"])
        params = total_params(profile)
        assert params["cnn"] == model.count_params()
        assert "loss" in params
        owned = ("cnn", "optimizer", "metrics")
        params = {row: count for row, count in params.items() if row.startswith(owned)}
        found.append((params, runs_by_layer(profile, "MatMul"), runs_by_layer(profile, "Conv2D")))

    (params, products, convolutions), with_keras_2 = found
    assert with_keras_2[0] == params
    assert with_keras_2[1:] == (products, convolutions)
    assert convolutions == {("cnn/edges", "forward"): 4, ("cnn/edges", "backward"): 4}


def test_models_of_both_kerases_in_one_cell_are_kept_apart():
    models = {}
    x, y = data(2, 6, outputs=3)
    for name, units in zip(KERASES, (4, 5), strict=True):
        keras = import_keras(name)
        layers = [keras.Input((6,)), keras.layers.Dense(units, name="d"), keras.layers.Dense(3)]
        model = keras.Sequential(layers, name=f"with_{units}")
        models[model.name] = model
        model.compile("sgd", "mse")
        model.fit(x, y, verbose=0)

    profile = profiled(lambda: [model.fit(x, y, verbose=0) for model in models.values()])

    params, products = total_params(profile), runs_by_layer(profile, "MatMul")
    for name, model in models.items():
        assert params[name] == model.count_params()
        assert params[f"{name}/d"] == model.layers[0].count_params()
        assert products[(f"{name}/d", "forward")] == products[(f"{name}/d", "backward")] == 2


def block(keras):
    layers = keras.layers

    class Block(layers.Layer):
        def __init__(self):
            super().__init__()
            self.first, self.second = layers.Dense(5, "relu"), layers.Dense(5)

        def call(self, x):
            with tf.name_scope("a_scope_of_the_users"):
                return self.second(self.first(x)) * 2.0

    return Block()


def test_layers_are_found_even_if_scopes_are_not_named_after_them(keras):
    layers = keras.layers
    keep = [layers.Dense(3), layers.ReLU()]  # so that later names are numbered
    inner = keras.Sequential([layers.Dense(6), layers.ReLU(), layers.Dense(3), layers.ReLU()])
    outer = keras.Input((7,))
    hidden = layers.ReLU()(layers.Dense(8)(outer))
    model = keras.Model(outer, inner(block(keras)(hidden)))

    profile = fitted(model, *data(4, 7, outputs=3))

    own = {layer.name for layer in model.layers}
    params = rows(profile.layer(select="params"), "params")
    for name, count in {
        f"{model.name}/{model.layers[1].name}": 7 * 8 + 8,
        f"{model.name}/{model.layers[3].name}/{model.layers[3].first.name}": 8 * 5 + 5,
        f"{model.name}/{inner.name}/{inner.layers[0].name}": 5 * 6 + 6,
        f"{model.name}/{inner.name}/{inner.layers[2].name}": 6 * 3 + 3,
    }.items():
        assert params[name] == (count,)
    counted = rows(profile.layer(select="occurrence"), "total_run_count")
    direct = {name.split("/")[1] for name in counted if name.startswith(f"{model.name}/")}
    assert direct <= own
    # One kernel runs the Dense without activation and the ReLU after it, whose runs count as well.
    assert counted[f"{model.name}/{inner.name}/{inner.layers[1].name}"][0] == 8
    assert len(keep) == 2


def test_a_shared_layer_has_one_row_with_all_its_calls(keras):
    shared = keras.layers.Dense(7, name="shared")
    start = keras.Input((7,))
    model = keras.Model(start, keras.layers.Dense(2, name="out")(shared(shared(start))), name="m")

    profile = fitted(model, *data(3, 7, outputs=2))

    assert total_params(profile)["m/shared"] == 7 * 7 + 7
    products = runs_by_layer(profile, "MatMul")
    assert products[("m/shared", "forward")] == 3 * 2
    assert products[("m/shared", "backward")] == 3 * 3


def subclassed(keras):
    layers = keras.layers

    class Branches(layers.Layer):
        def __init__(self, **options):
            super().__init__(**options)
            self.inner = [layers.Dense(4, name="left"), layers.Dense(4, name="right")]

        def build(self, shape):
            self.scale = self.add_weight(name="scale", shape=(4,), initializer="ones")
            super().build(shape)

        def call(self, x):
            for layer in self.inner:
                x = layer(x)
            return x * self.scale

    class Subclassed(keras.Model):
        def __init__(self):
            super().__init__(name="own")
            self.branches, self.out = Branches(name="branches"), layers.Dense(2, name="out")
            self.seen = keras.metrics.Mean(name="seen")

        def call(self, x):
            hidden = self.branches(x)
            self.seen.update_state(hidden)
            return self.out(hidden)

    return Subclassed()


def test_a_subclassed_model_has_its_own_weights_and_those_of_its_layers(keras):
    model = subclassed(keras)

    profile = fitted(model, *data(3, 4, outputs=2), optimizer="adam")

    params = total_params(profile)
    assert params["own"] == model.count_params()
    assert params["own/branches"] == 2 * (4 * 4 + 4) + 4
    assert params["own/branches/left"] == 4 * 4 + 4
    products = runs_by_layer(profile, "MatMul")
    assert products[("own/branches/right", "forward")] == 3
    assert products[("own/branches/right", "backward")] == 3 * 2
    sources = "\n".join(profile.code().frame["source"])
    assert "x = layer(x)" in sources
    assert "hidden = self.branches(x)" in sources


def test_a_loop_inside_a_layer_belongs_to_the_layer(keras):
    lstm = keras.layers.LSTM(5, name="recurrent")
    model = keras.Sequential([keras.Input((12, 4)), lstm, keras.layers.Dense(2)], name="m")

    profile = fitted(model, *data(2, 12, 4, outputs=2))

    assert total_params(profile)["m/recurrent"] == lstm.count_params()
    products = runs_by_layer(profile, "MatMul")
    of_lstm = Counter()
    for (name, which), count in products.items():
        of_lstm[which] += count if name.startswith("m/recurrent") else 0
    # Each of 12 steps multiplies its input and the last state with weights. Both products have a
    # gradient for the weights, and that of the state also one for the state.
    assert of_lstm["forward"] == 2 * 12 * 2
    assert of_lstm["backward"] >= 2 * 12 * 3


def test_a_layer_called_eagerly_is_found(keras):
    layers = keras.layers
    model = keras.Sequential([layers.Dense(8, name="one"), layers.Dense(2, name="two")], name="m")
    x = tf.ones([4, 3])
    model(x)

    profile = profiled(lambda: [model(x) for _ in range(3)])

    found = rows(profile.layer(select="params,occurrence"), "params", "run_count")
    assert found["m/one"][0] == 3 * 8 + 8
    assert found["m/two"][0] == 8 * 2 + 2
    assert found["m/one"][1] >= 6
    assert runs_by_layer(profile, "MatMul") == {
        ("m/one", "forward"): 3,
        ("m/two", "forward"): 3,
    }


def test_a_model_built_and_called_in_one_cell_has_its_parameters(keras):
    with nbprof.profile() as run:
        layers = [keras.Input((28, 28, 1)), keras.layers.Conv2D(8, 3)]
        model = keras.Sequential(layers, name="once")
        model(np.zeros((2, 28, 28, 1), "f4"))

    frame = run.profile.layer(select="params").frame.set_index("name")

    assert frame["total_params"]["once"] == frame["total_params"].iloc[0] == model.count_params()


@pytest.fixture
def training(keras):
    """Return a step of a training loop written by hand."""
    layers = keras.layers
    model = keras.Sequential([layers.Dense(8, name="one"), layers.Dense(2, name="two")], name="m")
    optimizer, seen = keras.optimizers.Adam(), keras.metrics.Mean()
    x, y = tf.ones([4, 3]), tf.ones([4, 2])

    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        weights = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        seen.update_state(loss)

    step()
    return step


def test_an_eager_training_loop_is_split_into_layers_backward_pass_and_optimizer(training):
    profile = profiled(training)

    runs = rows(profile.layer(select="occurrence"), "total_run_count")
    parts = ("m/one", "optimizer", "metrics", "outside layers/backward")
    assert all(runs[row][0] > 0 for row in parts)
    total = profile.layer().frame["total_micros"][0]
    assert total == pytest.approx(profile.op().frame["micros"].sum())
    params = total_params(profile)
    assert (params["m"], params["optimizer"], params["metrics"]) == (50, 2 * 50 + 2, 2)


def test_a_training_loop_in_a_function_has_the_backward_pass_of_each_layer(training):
    function = tf.function(training)
    function()

    profile = profiled(lambda: [function() for _ in range(3)])

    assert runs_by_layer(profile, "MatMul") == {
        ("m/one", "forward"): 3,
        ("m/one", "backward"): 3,
        ("m/two", "forward"): 3,
        ("m/two", "backward"): 2 * 3,
    }
    params = total_params(profile)
    assert (params["m"], params["optimizer"], params["metrics"]) == (50, 2 * 50 + 2, 2)


def test_frozen_layers_have_no_trainable_parameters(keras):
    layers = keras.layers
    base = keras.Sequential([keras.Input((8,)), layers.Dense(6)], name="base")
    base.trainable = False
    model = keras.Sequential([base, layers.Dense(2)], name="m")

    profile = fitted(model, *data(2, 8, outputs=2))

    nodes = profile.nodes[profile.nodes["trainable"].astype(bool)]
    assert nodes["params"].sum() == 6 * 2 + 2
    assert total_params(profile)["m/base"] == 8 * 6 + 6


def test_parameters_of_mixed_precision_are_those_of_the_variables(keras):
    layers = keras.layers
    policy = keras.mixed_precision.Policy("mixed_bfloat16")
    model = keras.Sequential(
        [layers.Dense(8, name="one", dtype=policy), layers.Dense(2, name="two")], name="m"
    )

    profile = fitted(model, *data(2, 8, outputs=2))

    assert total_params(profile)["m/one"] == 8 * 8 + 8
    assert total_params(profile)["m"] == model.count_params()


def test_parameters_of_a_distributed_model_count_once(keras):
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    with strategy.scope():
        model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4, name="one")], name="m")
        model.compile("sgd", "mse")
    x, y = data(2, 8, outputs=4)
    model.fit(x, y, verbose=0)

    profile = profiled(lambda: model.fit(x, y, verbose=0))

    assert total_params(profile)["m"] == model.count_params() == 8 * 4 + 4

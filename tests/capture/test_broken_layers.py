"""Layers that raise, are half made or run on another framework never cost a report."""

import importlib.util
import sys
from types import ModuleType

import pytest
from support.captured import printed_by, profiled, runs
from support.kerases import KERASES, data, fitted, import_keras, total_params

import nbprof

pytestmark = pytest.mark.tensorflow

tf = pytest.importorskip("tensorflow")

LISTS_OF_VARIABLES = ("weights", "_trainable_weights", "_trainable_variables")
"""Attributes of either Keras that list the variables of a layer."""


@pytest.fixture(scope="module", params=KERASES)
def keras(request):
    return import_keras(request.param)


def spoil(layer, *names):
    """Make these attributes of a layer raise an error."""

    def refuse(self):
        raise RuntimeError("not today")

    kind = type("Moody", (type(layer),), {name: property(refuse) for name in names})
    object.__setattr__(layer, "__class__", kind)


@pytest.fixture
def model(keras):
    layers = [keras.layers.Dense(3, name="fine"), keras.layers.Dense(2, name="moody")]
    return keras.Sequential([keras.Input((4,)), *layers], name="m")


def test_a_broken_layer_that_did_not_run_is_left_out(keras, model):
    moody = [keras.layers.Dense(3) for _ in range(3)]
    spoil(moody[0], "name")
    spoil(moody[1], *LISTS_OF_VARIABLES)
    spoil(moody[2], "_layers", "_flatten_layers")

    profile = fitted(model, *data(2, 4, outputs=2))

    assert total_params(profile)["m"] == model.count_params()
    assert not [note for note in profile.notes if "not today" in note]


def test_a_broken_layer_that_ran_is_named(model):
    function, x = tf.function(model), tf.ones([5, 4])
    function(x)
    spoil(model.layers[1], *LISTS_OF_VARIABLES)

    profile = profiled(lambda: function(x))

    params = total_params(profile)
    assert params["m/fine"] == 4 * 3 + 3
    assert params["outside layers"] == 3 * 2 + 2
    (note,) = [note for note in profile.notes if "not today" in note]
    assert note.startswith("layer m/moody could not be read (RuntimeError: not today)")


def test_a_layer_without_a_name_goes_by_that_of_its_class(model):
    x = tf.ones([5, 4])
    model(x)
    spoil(model.layers[1], "name")

    profile = profiled(lambda: model.layers[1].call(model.layers[0](x)))

    assert total_params(profile)["fine"] == 4 * 3 + 3
    assert runs(profile)["MatMul"] == 2


def test_a_layer_that_was_never_initialised_costs_nothing(keras):
    halfway = keras.layers.Dense.__new__(keras.layers.Dense)
    function = tf.function(lambda x: x * 2.0)

    profile = profiled(lambda: function(tf.ones([3])))

    assert runs(profile)["Mul"] == 1
    assert type(halfway) is keras.layers.Dense


ON_ANOTHER_FRAMEWORK = """
import importlib.util, json, os, sys
os.environ["KERAS_BACKEND"] = sys.argv[1]
import keras, nbprof
import numpy as np
import tensorflow as tf

x = np.ones((64, 4), "f4")
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, name="dense")], name="m")
model.predict(x, verbose=0)
function = tf.function(lambda x: x * 2.0)
batches = tf.data.Dataset.from_tensor_slices(x).batch(32)
cells = {
    "function": lambda: function(tf.ones([3])),
    "fed by TensorFlow": lambda: model.predict(batches, verbose=0),
    "fed by numpy": lambda: model.predict(x, verbose=0),
}
if importlib.util.find_spec("tf_keras"):
    import tf_keras
    two = tf_keras.Sequential([tf_keras.Input((4,)), tf_keras.layers.Dense(3, name="dense")], "two")
    cells["Keras 2"] = lambda: two.predict(x, verbose=0)
found = {}
for name, cell in cells.items():
    with nbprof.profile() as run:
        cell()
    frame = run.profile.layer(select="params").frame
    found[name] = [list(run.profile.notes), dict(zip(frame["name"], frame["total_params"]))]
print(json.dumps(found))
"""


def in_part(framework):
    return (
        f"Keras runs on {framework}, which nbprof does not see: only TensorFlow's part of the "
        "cell, such as the input pipeline, is shown; set KERAS_BACKEND=tensorflow before "
        "importing Keras to see its layers"
    )


def nothing_ran_but(framework):
    return (
        f"no TensorFlow op ran in this cell; Keras runs on {framework}, which nbprof does not see; "
        "set KERAS_BACKEND=tensorflow before importing Keras to see its layers"
    )


@pytest.fixture(scope="module", params=["numpy", "jax", "torch"])
def elsewhere(request):
    """Return a framework that Keras runs on and, by cell, the notes and the layers' parameters."""
    if not hasattr(tf.keras, "ops"):
        pytest.skip("Keras 2 runs on TensorFlow only")
    needed = "scipy" if request.param == "numpy" else request.param
    if importlib.util.find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed")
    return request.param, printed_by(ON_ANOTHER_FRAMEWORK, request.param)


def test_layers_on_another_framework_are_no_layers_of_tensorflow(elsewhere):
    framework, found = elsewhere

    notes, layers = found["function"]
    assert set(layers) == {"_TFProfRoot", "outside layers"}
    assert not [note for note in notes if framework in note]
    if "Keras 2" in found:
        assert found["Keras 2"][1]["two/dense"] == 4 * 3 + 3


def test_a_model_on_another_framework_is_said_to_be_out_of_sight(elsewhere):
    framework, found = elsewhere

    notes, layers = found["fed by TensorFlow"]
    assert set(layers) <= {"_TFProfRoot", "input pipeline", "outside layers"}
    (note,) = [note for note in notes if framework in note]
    assert note.startswith(
        f"Keras runs on {framework}, which nbprof does not see: only TensorFlow's"
    )


def test_the_reason_is_given_if_everything_ran_on_another_framework(elsewhere):
    framework, found = elsewhere

    assert nothing_ran_but(framework) in found["fed by numpy"][0]


@pytest.fixture
def keras_on_jax(monkeypatch):
    """Let Keras believe that it runs on JAX, which need not be installed for that."""
    if not hasattr(tf.keras, "ops"):
        pytest.skip("Keras 2 runs on TensorFlow only")
    monkeypatch.setattr("keras.src.backend.config.backend", lambda: "jax")


def test_a_cell_without_ops_says_where_keras_runs(keras_on_jax):
    assert nothing_ran_but("jax") in profiled(lambda: None).notes


def test_a_cell_of_tensorflow_says_nothing_about_keras_on_jax(keras_on_jax):
    layer = tf.keras.layers.Dense(2)

    notes = profiled(lambda: tf.ones([2]) + 1.0).notes

    assert not [note for note in notes if "jax" in note]
    assert layer.units == 2


def test_a_light_trace_cannot_tell_whether_keras_ran_on_jax(keras_on_jax):
    with nbprof.profile(light=True) as run:
        tf.ones([2]) + 1.0

    assert in_part("jax") in run.profile.notes


def test_a_cell_without_ops_names_other_frameworks_that_are_loaded(monkeypatch):
    for name in ("jax", "torch"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))

    (note,) = [note for note in profiled(lambda: None).notes if "no TensorFlow op" in note]

    assert note.endswith("in this cell; nbprof does not see what jax or torch runs")

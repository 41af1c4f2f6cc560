"""Allocations that TensorFlow and numpy really refuse, eagerly, in a graph and in a fit.

Without oneDNN, TensorFlow's allocator says so at once; with it, it waits ten seconds.
"""

import pytest
from support.captured import printed_by

pytestmark = pytest.mark.tensorflow

pytest.importorskip("tensorflow")

PROGRAM = """
import json, os
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
import numpy as np, tensorflow as tf, nbprof

def eager():
    kept = tf.random.uniform([2000, 1000])
    return tf.zeros([1 << 40])

@tf.function
def square(x):
    noise = tf.random.uniform([1000, 1000])
    return tf.reduce_sum(x @ tf.transpose(x)) + tf.reduce_sum(noise)

def graph():
    square(tf.ones([1 << 20, 1]))

def widen(x):
    return tf.tile(x, [1, 1 << 20])

model = tf.keras.Sequential([
    tf.keras.Input((8,)),
    tf.keras.layers.Dense(1024, name="small"),
    tf.keras.layers.Lambda(widen, output_shape=(1 << 30,), name="big"),
    tf.keras.layers.Lambda(lambda x: tf.reduce_mean(x, axis=1, keepdims=True), output_shape=(1,)),
], name="model")
model.compile("sgd", "mse")

def fit():
    model.fit(np.ones((512, 8), "f4"), np.ones((512, 1), "f4"), verbose=0, batch_size=512)

def array():
    kept = tf.random.uniform([2000, 1000])
    return np.zeros(1 << 45)

class TrainingError(Exception):
    pass

def hidden():
    try:
        return eager()
    except tf.errors.ResourceExhaustedError as error:
        raise TrainingError("after all") from error

found = {}
for body in (eager, graph, fit, array, hidden):
    try:
        with nbprof.profile() as run:
            body()
    except BaseException as error:
        raised = error
    oom = run.profile.out_of_memory()
    first = body.__code__.co_firstlineno
    found[body.__name__] = {
        "raised": type(raised).__name__,
        "headline": run.profile.headline,
        "asked": oom.request.asked_bytes,
        "op_type": oom.op_type,
        "layer": oom.layer,
        "made_at": oom.made_at,
        "raised_line": int((oom.raised_at.split(":") + ["0"])[1]) - first,
        "raised_at": oom.raised_at.split(":")[-1],
        "is_then": oom.is_then,
        "largest": oom.alive.iloc[0][["op_type", "bytes", "layer"]].tolist(),
        "total": int(oom.alive["bytes"].sum()),
    }
print(json.dumps(found, default=int))
"""


@pytest.fixture(scope="module")
def cells():
    return printed_by(PROGRAM)


@pytest.mark.parametrize("name", ["eager", "graph", "fit", "array"])
def test_the_same_exception_leaves_the_block_and_the_headline_names_it(cells, name):
    error = "MemoryError" if name == "array" else "ResourceExhaustedError"

    assert "MemoryError" in cells[name]["raised"] or cells[name]["raised"] == error
    assert f" · raised {error} after " in cells[name]["headline"]
    assert cells[name]["is_then"]


def test_an_eager_op_asked_on_the_line_that_ran_it(cells):
    found = cells["eager"]

    assert (found["asked"], found["op_type"]) == (4 * 2**40, "Fill")
    assert (found["raised_line"], found["raised_at"]) == (2, "eager")
    assert found["made_at"].endswith(":eager")
    assert found["largest"][:2] == ["RandomUniform", 8_000_000]


def test_an_exception_raised_from_it_still_names_what_was_asked_for(cells):
    hidden, eager = cells["hidden"], cells["eager"]

    assert hidden["raised"] == "TrainingError"
    assert " · raised TrainingError after " in hidden["headline"]
    assert hidden["raised_at"] == "eager"
    for name in ("asked", "op_type", "made_at", "is_then", "largest"):
        assert hidden[name] == eager[name]


def test_a_graphs_op_asked_where_it_was_made_and_its_inputs_were_alive(cells):
    found = cells["graph"]

    assert (found["asked"], found["op_type"]) == (4 * 2**40, "MatMul")
    assert found["made_at"].endswith(":square")
    assert (found["raised_line"], found["raised_at"]) == (1, "graph")
    assert found["largest"][:2] == ["Fill", 4 << 20]
    assert found["total"] >= (4 << 20)


def test_a_fit_names_the_layer_that_asked(cells):
    found = cells["fit"]

    assert (found["asked"], found["op_type"]) == (512 * 2**30 * 4, "Tile")
    assert found["layer"] == "model/big"
    assert found["made_at"].endswith(":widen")
    assert (found["raised_line"], found["raised_at"]) == (1, "fit")
    assert found["largest"] == ["MatMul", 512 * 1024 * 4, "model/small"]


def test_an_array_of_numpy_asked_on_its_line(cells):
    found = cells["array"]

    assert (found["asked"], found["op_type"]) == (2**48, "")
    assert (found["raised_line"], found["raised_at"]) == (2, "array")
    assert found["largest"][:2] == ["RandomUniform", 8_000_000]

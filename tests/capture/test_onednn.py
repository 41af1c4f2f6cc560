"""oneDNN's kernels, which TensorFlow uses on many processors, do not change what reports say.

The same program runs in two processes, once with oneDNN and once without.
"""

import os
import re

import pytest
from support.captured import printed_by

pytestmark = pytest.mark.tensorflow

tf = pytest.importorskip("tensorflow")

PROGRAM = """
import json
import numpy as np, tensorflow as tf, nbprof
from tensorflow.python.util import _pywrap_util_port
layers, nn = tf.keras.layers, tf.nn
cells = {}

def rows(view):
    frame = view.frame.astype(object).where(view.frame.notna(), None)
    return frame.to_dict("records")

def keep(name, profile):
    columns = "micros,bytes,float_ops,output_bytes,params,occurrence,op_types"
    views = {
        view: rows(profile.view(view, select=columns, max_depth=1000))
        for view in ("op", "layer", "scope")
    }
    cells[name] = views | {"notes": list(profile.op(select=columns).notes)}

def profiled(name, body):
    body()
    with nbprof.profile() as run:
        body()
    keep(name, run.profile)

cnn = tf.keras.Sequential([
    tf.keras.Input((12, 12, 3)),
    layers.Conv2D(8, 3, activation="relu"),
    layers.BatchNormalization(),
    layers.MaxPooling2D(),
    layers.Conv2D(16, 3, strides=2, padding="same", activation="tanh"),
    layers.DepthwiseConv2D(2, use_bias=False),
    layers.AveragePooling2D(2),
    layers.Flatten(),
    layers.Dense(32, activation="relu"),
    layers.Dense(10),
])
cnn.compile("adam", "mse")
x, y = np.ones((35, 12, 12, 3), "f4"), np.ones((35, 10), "f4")
profiled("cnn", lambda: cnn.fit(x, y, batch_size=16, verbose=0))
profiled("cnn predict", lambda: cnn.predict(x, batch_size=16, verbose=0))

dense = tf.keras.Sequential([
    tf.keras.Input((20,)),
    layers.Dense(64, activation="relu"), layers.Dense(64, activation="gelu"),
    layers.Dense(64, activation="tanh"), layers.Dense(5, activation="softmax"),
])
dense.compile("sgd", "mse")
x, y = np.ones((33, 20), "f4"), np.ones((33, 5), "f4")
for size in (1, 3, 32):
    profiled(f"dense {size}", lambda: dense.fit(x, y, batch_size=size, verbose=0))

given = tf.keras.Input((6, 16))
seen = given + layers.MultiHeadAttention(2, 8)(given, given)
seen = layers.Dense(16, activation="gelu")(layers.LayerNormalization()(seen))
attention = tf.keras.Model(given, layers.Dense(1)(layers.LSTM(4)(seen)))
attention.compile("adam", "mse")
x, y = np.ones((10, 6, 16), "f4"), np.ones((10, 1), "f4")
profiled("attention and lstm", lambda: attention.fit(x, y, batch_size=4, verbose=0))

given = tf.keras.Input((16, 16, 3))
seen = layers.Conv2D(8, 3, strides=2, use_bias=False)(layers.ZeroPadding2D(1)(given))
first = layers.ReLU(6.0)(layers.BatchNormalization()(seen))
second = layers.Conv2D(8, 3, padding="same", name="second")(first)
seen = layers.Activation("relu", name="activation")(layers.Add(name="add")([second, first]))
seen = layers.Conv2DTranspose(4, 3, strides=2, padding="same", activation="swish")(seen)
mobile = tf.keras.Model(given, layers.GlobalAveragePooling2D()(seen))
mobile.compile("rmsprop", "mse")
x, y = np.ones((7, 16, 16, 3), "f4"), np.ones((7, 4), "f4")
profiled("residual", lambda: mobile.fit(x, y, batch_size=4, verbose=0))
profiled("residual predict", lambda: mobile.predict(x, batch_size=4, verbose=0))

kernel, bias, weights = tf.ones((3, 3, 8, 16)), tf.ones(16), tf.ones((8, 16))
space, of_space = tf.ones((3, 3, 3, 4, 8)), tf.ones(8)
around = [[0, 0], [1, 1], [1, 1], [0, 0]]
image = tf.ones((2, 16, 16, 8))

def gradients(image, kernel):
    with tf.GradientTape() as tape:
        tape.watch([image, kernel])
        loss = tf.reduce_sum(nn.relu(nn.conv2d(image, kernel, 2, "SAME")))
    return tape.gradient(loss, [image, kernel])

FUNCTIONS = {
    **{
        f"gradients in {kind.name}": (gradients, tf.cast(image, kind), tf.cast(kernel, kind))
        for kind in (tf.float32, tf.float64, tf.float16, tf.bfloat16)
    },
    "padded": (
        lambda x: nn.relu(nn.bias_add(nn.conv2d(tf.pad(x, around), kernel, 1, "VALID"), bias)),
        tf.ones((4, 32, 32, 8)),
    ),
    "in space": (
        lambda x: nn.relu(nn.bias_add(nn.conv3d(x, space, [1] * 5, "SAME"), of_space)),
        tf.ones((2, 8, 8, 8, 4)),
    ),
    "scaled product": (
        lambda q, m: tf.matmul(q, q, transpose_b=True) * 0.35 + m,
        tf.ones((2, 4, 16, 8)), tf.zeros((2, 1, 16, 16)),
    ),
    "bias first": (lambda x: nn.relu(bias + tf.matmul(x, weights)), tf.ones((20, 8))),
    "swish": (lambda x: nn.silu(x), tf.ones((64, 16))),
}
for name, (body, *inputs) in FUNCTIONS.items():
    function = tf.function(body)
    profiled(name, lambda: function(*inputs))

small, large = tf.ones([64, 32]), tf.ones([512, 512])
profiled("eager", lambda: (tf.matmul(large, large), tf.matmul(small, small, transpose_b=True)))
print(json.dumps({"on": bool(_pywrap_util_port.IsMklEnabled()), "cells": cells}))
"""

MODELS = ("cnn", "cnn predict", "attention and lstm", "residual", "residual predict")
DENSE = ("dense 1", "dense 3", "dense 32")
FUNCTIONS = (
    *(f"gradients in {kind}" for kind in ("float32", "float64", "float16", "bfloat16")),
    *("padded", "in space", "scaled product", "bias first", "swish"),
)


@pytest.fixture(scope="module")
def seen():
    """Return what the program printed with oneDNN and without."""
    before = os.environ["TF_ENABLE_ONEDNN_OPTS"]
    found = []
    try:
        for switch in ("1", "0"):
            os.environ["TF_ENABLE_ONEDNN_OPTS"] = switch
            found.append(printed_by(PROGRAM))
    finally:
        os.environ["TF_ENABLE_ONEDNN_OPTS"] = before
    if not found[0]["on"]:
        pytest.skip("this TensorFlow has no kernels of oneDNN")
    return [one["cells"] for one in found]


PIPELINE = re.compile(
    r"Iterator|tf\.data|input pipeline|Dataset|_TFProfRoot"
    r"|GatherV2|_Arg$|_Retval$|args_\d|.*_RetVal$"
)
"""Matches the rows of input pipelines, among them what Keras makes of arrays."""


def is_own(name):
    """Return whether a row belongs to the model: input pipelines run ahead by chance."""
    return not PIPELINE.match(name)


def numbers(cell, view, *columns):
    return {
        row["name"]: [row[column] for column in columns]
        for row in cell[view]
        if is_own(row["name"])
    }


def op(cell, name):
    (row,) = [row for row in cell["op"] if row["name"] == name]
    return row


@pytest.mark.parametrize("name", [*MODELS, *DENSE, *FUNCTIONS, "eager"])
@pytest.mark.parametrize("view", ["op", "layer", "scope"])
def test_rows_run_counts_and_float_ops_are_those_without_onednn(seen, name, view):
    with_it, without = (
        numbers(cells[name], view, "run_count", "float_ops", "params") for cells in seen
    )

    assert with_it == without


@pytest.mark.parametrize("name", [*MODELS, *DENSE, *FUNCTIONS])
def test_every_float_op_is_counted_without_small_allocations(seen, name):
    for cells in seen:
        flops = numbers(cells[name], "op", "float_ops")
        assert [None] not in flops.values(), flops
        assert sum(count for (count,) in flops.values()) > 0


def test_no_kernel_of_tensorflows_own_is_a_row(seen):
    for cells in seen:
        for cell in cells.values():
            names = {row["name"] for row in cell["op"]}
            assert not [name for name in names if name.startswith(("_Mkl", "_Fused", "_Pad"))]


def test_float_ops_of_a_cnn_are_those_of_pencil_and_paper(seen):
    images, steps = 35, 3  # 16, 16 and 3 images
    first, second, depth = 10 * 10 * 8, 3 * 3 * 16, 2 * 2 * 16
    for cells in seen:
        found = {name: flops for name, (flops,) in numbers(cells["cnn"], "op", "float_ops").items()}
        assert found["Conv2D"] == images * 2 * (first * 27 + second * 72)
        assert found["DepthwiseConv2dNative"] == images * 2 * depth * 4
        assert found["BiasAdd"] == images * (first + second + 32 + 10)
        assert found["BiasAddGrad"] == found["BiasAdd"] - steps * (8 + 16 + 32 + 10)
        # Two gradients for each product: to the weights and to the input.
        assert found["MatMul"] == images * 2 * 3 * (16 * 32 + 32 * 10)
        # A gradient has the products of its convolution; the images themselves need none.
        assert found["Conv2DBackpropInput"] == images * 2 * second * 72
        assert found["Conv2DBackpropFilter"] == found["Conv2D"]
        gradients = ("DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNativeBackpropFilter")
        assert [found[name] for name in gradients] == [found["DepthwiseConv2dNative"]] * 2
        assert found["Relu"] == found["ReluGrad"] == images * (first + 32)
        assert found["Tanh"] * 3 == found["TanhGrad"] == images * second * 3
        assert found["MaxPool"] == images * 5 * 5 * 8 * 4
        assert found["MaxPoolGrad"] == images * 5 * 5 * 8 * 5
        assert found["AvgPool"] == images * 16 * 4


@pytest.mark.parametrize("name", DENSE)
def test_float_ops_of_a_dense_model_do_not_depend_on_the_batch_size(seen, name):
    weights = [20 * 64, 64 * 64, 64 * 64, 64 * 5]
    # Nothing needs the gradient to the model's own input.
    products = 2 * 33 * (3 * sum(weights) - weights[0])
    biases = 33 * (3 * 64 + 5)
    steps = {"dense 1": 33, "dense 3": 11, "dense 32": 2}[name]
    for cells in seen:
        assert op(cells[name], "MatMul")["float_ops"] == products
        assert op(cells[name], "BiasAdd")["float_ops"] == biases
        assert op(cells[name], "BiasAdd")["run_count"] == 4 * steps
        assert op(cells[name], "BiasAddGrad")["float_ops"] == biases - steps * (3 * 64 + 5)


def test_kernels_and_what_they_fused_stand_in_op_types(seen):
    with_it, without = (op(cells["cnn"], "Conv2D")["op_types"].split("|") for cells in seen)

    assert "_MklNativeFusedConv2D with BiasAdd, Relu" in with_it
    assert "_FusedConv2D with BiasAdd, Relu" in without
    assert "fused into MatMul" in op(seen[0]["dense 3"], "Tanh")["op_types"].split("|")
    assert "fused into MatMul" not in op(seen[1]["dense 3"], "Tanh")["op_types"].split("|")


def test_the_time_of_a_fused_op_is_part_of_the_op_it_was_fused_into(seen):
    with_it, without = (op(cells["dense 3"], "Tanh") for cells in seen)

    assert with_it["micros"] is None
    assert without["micros"] > 0
    assert any("fused into other ops" in note for note in seen[0]["dense 3"]["notes"])


def test_a_fused_op_stays_in_its_own_layer(seen):
    image = 7 * 8 * 8 * 8
    for cells in seen:
        rows = numbers(cells["residual predict"], "layer", "total_run_count", "total_float_ops")
        layers = {name.rpartition("/")[2]: row for name, row in rows.items()}
        assert layers["second"][1] == image * (2 * 3 * 3 * 8 + 1)
        assert layers["add"] == [2, image]
        assert layers["activation"] == [2, image]


def test_output_bytes_are_those_without_onednn_where_known(seen):
    for name in ("cnn", "dense 3"):
        with_it, without = (numbers(cells[name], "scope", "output_bytes") for cells in seen)
        known = {row for row in with_it if None not in (*with_it[row], *without[row])}
        assert len(known) > 100
        assert {row: with_it[row] for row in known} == {row: without[row] for row in known}


def test_unrecorded_memory_is_nan_and_a_note_says_why(seen):
    with_it, without = seen

    assert op(with_it["cnn"], "MatMul")["bytes"] is None
    (note,) = [note for note in with_it["cnn"]["notes"] if "256 KiB" in note]
    assert "TF_ENABLE_ONEDNN_OPTS=0" in note
    assert not any("256 KiB" in note for note in without["cnn"]["notes"])
    assert None not in {row["bytes"] for row in without["cnn"]["op"]}


def test_an_eager_product_is_counted_even_if_no_allocation_has_its_shape(seen):
    for cells in seen:
        row = op(cells["eager"], "MatMul")
        assert row["run_count"] == 2
        assert row["float_ops"] == 2 * 512**3 + 2 * 64 * 64 * 32
        assert row["output_bytes"] == 4 * (512 * 512 + 64 * 64)

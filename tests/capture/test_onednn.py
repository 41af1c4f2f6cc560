"""oneDNN's kernels, which TensorFlow uses on many processors, do not change what reports say.

The same program runs in two processes, once with oneDNN and once without.
"""

import os

import pytest
from support.captured import printed_by

pytestmark = pytest.mark.tensorflow

tf = pytest.importorskip("tensorflow")

PROGRAM = """
import json
import numpy as np, tensorflow as tf, nbprof
from tensorflow.python.util import _pywrap_util_port
from nbprof.op_types import main_type
layers = tf.keras.layers
model = tf.keras.Sequential([
    tf.keras.Input((28, 28, 1)),
    layers.Conv2D(4, 3, activation="relu"),
    layers.MaxPool2D(),
    layers.Conv2D(8, 3, strides=2, padding="same"),
    layers.DepthwiseConv2D(3),
    layers.AveragePooling2D(2),
    layers.Flatten(),
    layers.Dense(16, activation="tanh"),
    layers.Dense(10),
])
model.compile("sgd", "mse")
x, y = np.ones((80, 28, 28, 1), "f4"), np.ones((80, 10), "f4")
model.fit(x, y, verbose=0)
with nbprof.profile() as fit:
    model.fit(x, y, verbose=0)
small, large = tf.ones([64, 32]), tf.ones([512, 512])
tf.matmul(large, large), tf.matmul(small, small, transpose_b=True)
with nbprof.profile() as eager:
    made = tf.matmul(large, large)
    made = [tf.matmul(small, small, transpose_b=True), made]

def rows(view):
    frame = view.frame.astype(object).where(view.frame.notna(), None)
    return frame.to_dict("records")

layer = fit.profile.layer(select="float_ops,params")
op = fit.profile.op(select="bytes,float_ops,output_bytes,occurrence", max_depth=1000)
runs = {}
for row in rows(op):
    runs[main_type(row["name"])] = runs.get(main_type(row["name"]), 0) + row["run_count"]
print(json.dumps({
    "on": bool(_pywrap_util_port.IsMklEnabled()),
    "layers": {
        row["name"]: [row["total_float_ops"], row["total_params"]]
        for row in rows(layer) if row["name"].startswith("sequential")
    },
    "ops": {row["name"]: row for row in rows(op)},
    "runs": runs,
    "notes": list(fit.profile.notes),
    "eager": rows(eager.profile.op(select="bytes,float_ops,output_bytes,occurrence")),
}))
"""

FUNCTIONS = """
import json
import numpy as np, tensorflow as tf, nbprof
nn, layers = tf.nn, tf.keras.layers
kernel, bias, weights = tf.ones((3, 3, 8, 16)), tf.ones(16), tf.ones((8, 16))
space, of_space = tf.ones((3, 3, 3, 4, 8)), tf.ones(8)
around = [[0, 0], [1, 1], [1, 1], [0, 0]]

def gradients(image, kernel):
    with tf.GradientTape() as tape:
        tape.watch([image, kernel])
        loss = tf.reduce_sum(nn.relu(nn.conv2d(image, kernel, 2, "SAME")))
    return tape.gradient(loss, [image, kernel])

def residual(order):
    given = tf.keras.Input((16, 16, 8))
    first = layers.Conv2D(16, 3, strides=2, padding="same", activation="relu", name="first")(given)
    second = layers.Conv2D(16, 3, padding="same", name="second")(first)
    model = tf.keras.Model(given, layers.ReLU()(layers.Add()([first, second][::order])))
    return lambda x: model(x, training=False)

image = tf.ones((2, 16, 16, 8))
CASES = {
    **{
        f"gradients in {kind.name}": (gradients, tf.cast(image, kind), tf.cast(kernel, kind))
        for kind in (tf.float32, tf.float64, tf.float16, tf.bfloat16)
    },
    "sum added first": (residual(1), image),
    "sum added last": (residual(-1), image),
    "padded": (
        lambda x: nn.relu(nn.bias_add(nn.conv2d(tf.pad(x, around), kernel, 1, "VALID"), bias)),
        tf.ones((4, 32, 32, 8)),
    ),
    "in space": (
        lambda x: nn.relu(nn.bias_add(nn.conv3d(x, space, [1] * 5, "SAME"), of_space)),
        tf.ones((2, 8, 8, 8, 4)),
    ),
    "attention": (
        lambda q, m: tf.matmul(q, q, transpose_b=True) * 0.35 + m,
        tf.ones((2, 4, 16, 8)), tf.zeros((2, 1, 16, 16)),
    ),
    "bias first": (lambda x: nn.relu(bias + tf.matmul(x, weights)), tf.ones((20, 8))),
    "swish": (lambda x: nn.silu(x), tf.ones((64, 16))),
}
found = {}
for name, (body, *given) in CASES.items():
    function = tf.function(body)
    function(*given)
    with nbprof.profile() as run:
        function(*given)
    frame = run.profile.op(select="float_ops", max_depth=1000).frame
    layer = run.profile.layer(select="float_ops").frame
    found[name] = {
        "ops": dict(zip(frame["name"], frame["float_ops"].fillna(-1.0))),
        "layers": {
            name.rpartition("/")[2]: flops
            for name, flops in zip(layer["name"], layer["total_float_ops"])
            if name.endswith(("first", "second"))
        },
    }
print(json.dumps(found))
"""

FUSED = {"BiasAdd", "BiasAddGrad", "Tanh"}
"""Op types that only oneDNN fuses with others."""


def with_and_without(program):
    before = os.environ["TF_ENABLE_ONEDNN_OPTS"]
    try:
        for switch in ("1", "0"):
            os.environ["TF_ENABLE_ONEDNN_OPTS"] = switch
            yield printed_by(program)
    finally:
        os.environ["TF_ENABLE_ONEDNN_OPTS"] = before


@pytest.fixture(scope="module")
def seen():
    with_it, without = with_and_without(PROGRAM)
    if not with_it["on"]:
        pytest.skip("this TensorFlow has no kernels of oneDNN")
    return with_it, without


@pytest.mark.usefixtures("seen")
def test_fused_kernels_count_as_the_ops_they_replace():
    with_it, without = with_and_without(FUNCTIONS)

    for name, found in with_it.items():
        flops = {op_type: count for op_type, count in found["ops"].items() if count > 0}
        plain = sum(without[name]["ops"].values())
        assert sum(flops.values()) == plain > 0, (name, flops, without[name])
        assert "gradients" in name or any(op_type.startswith("_Mkl") for op_type in flops), name
    for name in ("sum added first", "sum added last"):
        first, second = (with_it[name]["layers"][layer] for layer in ("first", "second"))
        image = 2 * 8 * 8 * 16
        assert first == without[name]["layers"]["first"] == image * (2 * 3 * 3 * 8 + 1)
        assert second == image * (2 * 3 * 3 * 16 + 2)  # with the sum that was fused


def test_kernel_names_are_kept_in_op_types(seen):
    with_it, without = seen

    assert {"_MklMatMul", "_MklNativeFusedConv2D"} <= set(with_it["ops"])
    assert not any(name.startswith("_Mkl") for name in without["ops"])


def test_layers_have_the_same_float_ops_and_parameters_as_without_onednn(seen):
    with_it, without = seen

    assert with_it["layers"] == without["layers"]
    assert with_it["layers"]["sequential/conv2d/backward"][0] > 0


def test_ops_have_the_same_run_counts_as_without_onednn(seen):
    with_it, without = ({**one["runs"]} for one in seen)

    for op_type in FUSED:
        with_it.pop(op_type, None), without.pop(op_type, None)
    assert with_it == without


def test_unrecorded_memory_is_nan_and_a_note_says_why(seen):
    with_it, without = seen

    assert with_it["ops"]["_MklMatMul"]["bytes"] is None
    assert with_it["ops"]["_MklNativeFusedConv2D"]["bytes"] >= 26 * 26 * 4 * 32 * 4
    (note,) = [note for note in with_it["notes"] if "256 KiB" in note]
    assert "TF_ENABLE_ONEDNN_OPTS=0" in note
    assert not any("256 KiB" in note for note in without["notes"])
    assert None not in {row["bytes"] for row in without["ops"].values()}


def test_output_bytes_are_at_most_those_without_onednn(seen):
    with_it, without = (
        {name: row["output_bytes"] for name, row in found["ops"].items()} for found in seen
    )

    both = {name for name in with_it.keys() & without.keys() if with_it[name] is not None}
    assert len(both) > 10
    assert not [name for name in both if with_it[name] > (without[name] or 0)]
    for name in ("Mul", "ReluGrad", "ReadVariableOp", "AssignSubVariableOp"):
        assert with_it[name] == without[name]
    assert with_it["_MklMatMul"] == without["MatMul"]


def test_an_eager_product_is_counted_even_if_no_allocation_has_its_shape(seen):
    for found in seen:
        (row,) = [row for row in found["eager"] if row["name"] == "MatMul"]
        assert row["run_count"] == 2
        assert row["float_ops"] == 2 * 512**3 + 2 * 64 * 64 * 32
        assert row["output_bytes"] == 4 * (512 * 512 + 64 * 64)

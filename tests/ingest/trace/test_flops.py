"""Float operations, compared with TensorFlow's registry and with arithmetic by hand."""

import numpy as np
import pytest
from support.captured import batches, mlp, profiled

from nbprof.ingest.trace.program.node_attributes import read_attributes
from nbprof.ingest.trace.shapes.flops import FORMULAS, Run, float_ops
from nbprof.ingest.trace.shapes.output_shapes import infer_shape

pytestmark = pytest.mark.tensorflow

tf = pytest.importorskip("tensorflow")
raw = tf.raw_ops


def tensor(*dims):
    return tf.compat.v1.placeholder(tf.float32, dims)


def back(op, **tensors):
    return op(**tensors, strides=[1, 2, 2, 1], padding="VALID")


BUILT = {
    "matmul": lambda: tf.matmul(tensor(5, 7), tensor(7, 3)),
    "matmul, left transposed": lambda: tf.matmul(tensor(7, 5), tensor(7, 3), transpose_a=True),
    "matmul, right transposed": lambda: tf.matmul(tensor(5, 7), tensor(3, 7), transpose_b=True),
    "batched matmul": lambda: tf.matmul(tensor(2, 5, 7), tensor(2, 7, 3)),
    "convolution": lambda: tf.nn.conv2d(tensor(2, 9, 9, 3), tensor(3, 3, 3, 8), 2, "SAME"),
    "depthwise": lambda: tf.nn.depthwise_conv2d(
        tensor(2, 9, 9, 3), tensor(3, 3, 3, 1), [1, 1, 1, 1], "VALID"
    ),
    "convolution in space": lambda: tf.nn.conv3d(
        tensor(1, 5, 5, 5, 2), tensor(2, 2, 2, 2, 4), [1, 1, 1, 1, 1], "VALID"
    ),
    "gradient to the input": lambda: back(
        raw.Conv2DBackpropInput,
        input_sizes=[2, 9, 9, 3],
        filter=tensor(3, 3, 3, 8),
        out_backprop=tensor(2, 4, 4, 8),
    ),
    "gradient to the filter": lambda: back(
        raw.Conv2DBackpropFilter,
        input=tensor(2, 9, 9, 3),
        filter_sizes=[3, 3, 3, 8],
        out_backprop=tensor(2, 4, 4, 8),
    ),
    "max pool": lambda: tf.nn.max_pool2d(tensor(2, 9, 9, 3), 2, 2, "SAME"),
    "average pool": lambda: tf.nn.avg_pool2d(tensor(2, 9, 9, 3), 3, 2, "SAME"),
    "max pool gradient": lambda: back(
        raw.MaxPoolGrad,
        orig_input=tensor(2, 8, 8, 3),
        orig_output=tensor(2, 4, 4, 3),
        grad=tensor(2, 4, 4, 3),
        ksize=[1, 2, 2, 1],
    ),
    "average pool gradient": lambda: back(
        raw.AvgPoolGrad, orig_input_shape=[2, 8, 8, 3], grad=tensor(2, 4, 4, 3), ksize=[1, 2, 2, 1]
    ),
    "broadcast sum": lambda: tensor(4, 5) + tensor(5),
    "outer product": lambda: tensor(4, 1) * tensor(1, 6),
    "comparison": lambda: tensor(3) > tensor(3),
    "power": lambda: tf.pow(tensor(3), tensor(3)),
    "reduced sum": lambda: tf.reduce_sum(tensor(4, 5), 1),
    "mean": lambda: tf.reduce_mean(tensor(4, 5)),
    "bias": lambda: tf.nn.bias_add(tensor(4, 5), tensor(5)),
    "bias gradient": lambda: raw.BiasAddGrad(out_backprop=tensor(4, 5)),
    "largest": lambda: tf.argmax(tensor(4, 5), 1),
    "softmax": lambda: tf.nn.softmax(tensor(4, 5)),
    "l2 loss": lambda: tf.nn.l2_loss(tensor(4, 5)),
    "sum of three": lambda: tf.add_n([tensor(4, 5)] * 3),
    "inverse root": lambda: tf.math.rsqrt(tensor(4, 5)),
    "its gradient": lambda: raw.RsqrtGrad(y=tensor(4, 5), dy=tensor(4, 5)),
    "squared difference": lambda: tf.math.squared_difference(tensor(4, 5), tensor(5)),
    "square": lambda: tf.square(tensor(3)),
    "no formula": lambda: tf.nn.relu(tensor(3)),
}


def shape(tensor):
    return tuple(tensor.shape.as_list())


@pytest.mark.parametrize("name", BUILT)
def test_a_formula_counts_what_tensorflows_registry_counts(name):
    from tensorflow.python.framework import ops

    with tf.Graph().as_default() as graph:
        op = BUILT[name]().op
        registered = ops.get_stats_for_node_def(graph, op.node_def, "flops").value
    run = Run(tuple(map(shape, op.inputs)), shape(op.outputs[0]), read_attributes(op.node_def))

    assert float_ops(op.type, run) == (registered or 0)


SHAPED = {
    **{name: BUILT[name] for name in BUILT if "matmul" in name or "pool" in name},
    **{name: BUILT[name] for name in BUILT if "convolution" in name},
    "depthwise": BUILT["depthwise"],
    "bias gradient": BUILT["bias gradient"],
    "transposed in a batch": lambda: tf.matmul(tensor(2, 1, 5, 7), tensor(4, 3, 7), adjoint_b=True),
    "dilated": lambda: tf.nn.conv2d(
        tensor(2, 12, 11, 3), tensor(3, 2, 3, 8), [1, 1], "VALID", dilations=2
    ),
    "padded": lambda: tf.nn.conv2d(
        tensor(2, 9, 9, 3), tensor(3, 3, 3, 8), [2, 3], [[0, 0], [1, 2], [3, 0], [0, 0]]
    ),
    "channels first": lambda: tf.nn.conv2d(
        tensor(2, 3, 9, 8), tensor(3, 3, 3, 5), [2, 1], "SAME", data_format="NCHW"
    ),
    "pool, channels first": lambda: tf.nn.max_pool2d(
        tensor(2, 3, 9, 8), 3, 2, "VALID", data_format="NCHW"
    ),
    "several channels each": lambda: tf.nn.depthwise_conv2d(
        tensor(2, 9, 9, 3), tensor(2, 3, 3, 4), [1, 2, 2, 1], "SAME"
    ),
    "channels first, in space": lambda: tf.nn.conv3d(
        tensor(1, 2, 5, 6, 7), tensor(2, 2, 2, 2, 4), [1] * 5, "VALID", data_format="NCDHW"
    ),
    "bias gradient, channels first": lambda: raw.BiasAddGrad(
        out_backprop=tensor(4, 5, 3, 2), data_format="NCHW"
    ),
}
SHAPED.pop("average pool gradient")  # its shape is an input value, not an attribute


@pytest.mark.parametrize("name", SHAPED)
def test_an_inferred_output_shape_is_the_one_tensorflow_infers(name):
    with tf.Graph().as_default():
        op = SHAPED[name]().op
    attributes = read_attributes(op.node_def)

    assert infer_shape(op.type, tuple(map(shape, op.inputs)), attributes) == shape(op.outputs[0])
    assert infer_shape(op.type, (None, None), attributes) is None


def test_every_registered_formula_exists_here():
    from tensorflow.python.framework import ops

    registered = {
        key.partition(",")[0] for key in ops._stats_registry._registry if key.endswith(",flops")
    }

    assert registered - set(FORMULAS) == set()


def test_eager_and_graph_ops_report_the_shapes_they_ran_with():
    x = tf.ones([512, 256])
    double = tf.function(lambda a: tf.matmul(a, a, transpose_b=True))

    profile = profiled(lambda: (tf.matmul(x, x, transpose_a=True), double(x), double(x)))

    frame = profile.op(select="micros,input_shapes").frame.set_index("name")
    seen = {tuple(e["shapes"]): e["run_count"] for e in frame["input_shapes"]["MatMul"]}
    assert seen == {("512x256", "512x256"): 3}


def test_a_matrix_product_counts_two_operations_per_multiplication():
    x = tf.ones([512, 512])

    frame = profiled(lambda: tf.matmul(x, x)).op(select="float_ops").frame

    assert frame["float_ops"][0] == 2 * 512**3 == 268_435_456


def test_training_an_mlp_counts_its_matrix_products_exactly():
    model = mlp()

    profile = profiled(lambda: model.fit(*batches(16), batch_size=32, verbose=0))

    frame = profile.op(select="float_ops", max_depth=1000).frame.set_index("name")["float_ops"]
    assert frame["MatMul"] == 20_709_376
    assert frame["BiasAdd"] == 16 * 32 * (128 + 10)
    assert not frame.isna().any()


def test_training_a_cnn_counts_its_convolutions_and_their_gradients():
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            tf.keras.Input((12, 12, 3)),
            layers.Conv2D(8, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(4, 3),
            layers.Flatten(),
            layers.Dense(2),
        ]
    )
    model.compile("sgd", "mse")
    x, y = np.ones((8, 12, 12, 3), "f4"), np.ones((8, 2), "f4")

    profile = profiled(lambda: model.fit(x, y, batch_size=8, verbose=0))

    frame = profile.op(select="float_ops", max_depth=1000).frame.set_index("name")["float_ops"]
    forward = 2 * 8 * (10 * 10 * 8 * 27 + 3 * 3 * 4 * 72)
    biases = 8 * (10 * 10 * 8 + 3 * 3 * 4)
    assert frame["Conv2D"] == forward
    assert frame["BiasAdd"] == biases + 8 * 2
    assert frame[["Conv2DBackpropFilter", "Conv2DBackpropInput", "MaxPoolGrad"]].gt(0).all()

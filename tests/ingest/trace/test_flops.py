"""Float operations, compared with TensorFlow's registry and with arithmetic by hand."""

import re

import numpy as np
import pytest
from support.captured import batches, mlp, profiled

from nbprof.float_op_table import counted
from nbprof.ingest.trace.program.node_attributes import read_attributes
from nbprof.ingest.trace.shapes.flops import Run, float_ops
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
}
GRADIENTS = ("gradient to the input", "gradient to the filter")
"""Ops whose products TensorFlow's registry does not count as they are computed."""


def shape(tensor):
    return tuple(tensor.shape.as_list())


@pytest.mark.parametrize("name", [name for name in BUILT if name not in GRADIENTS])
def test_a_formula_counts_what_tensorflows_registry_counts(name):
    from tensorflow.python.framework import ops

    with tf.Graph().as_default() as graph:
        op = BUILT[name]().op
        registered = ops.get_stats_for_node_def(graph, op.node_def, "flops").value
    run = Run(tuple(map(shape, op.inputs)), shape(op.outputs[0]), read_attributes(op.node_def))

    assert float_ops(op.type, run) == registered


def counts(ops):
    """Return the float operations of ops by their types, for ops whose shapes are known."""
    found = {}
    for op in ops:
        inputs = tuple(map(shape, op.inputs))
        outputs = [shape(output) for output in op.outputs] or [None]
        run = Run(inputs, outputs[0], read_attributes(op.node_def))
        found[op.type] = found.get(op.type, 0) + float_ops(op.type, run)
    return found


@pytest.mark.parametrize("padding", ["SAME", "VALID", "EXPLICIT"])
@pytest.mark.parametrize("order", ["NHWC", "NCHW"])
@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (3, 1), (1, 2)])
@pytest.mark.parametrize("groups", [1, 4])
def test_both_gradients_of_a_convolution_have_its_products(
    padding, order, stride, dilation, groups
):
    last = order == "NHWC"
    around = [[0, 0], [2, 1], [0, 3], [0, 0]] if last else [[0, 0], [0, 0], [2, 1], [0, 3]]
    with tf.Graph().as_default() as graph:
        image = tensor(2, 9, 8, 8) if last else tensor(2, 8, 9, 8)
        kernel = tensor(3, 2, 8 // groups, 12)
        made = tf.nn.conv2d(
            image,
            kernel,
            stride,
            around if padding == "EXPLICIT" else padding,
            data_format=order,
            dilations=dilation,
        )
        tf.gradients(made, [image, kernel])
        found = counts(op for op in graph.get_operations() if op.type.startswith("Conv2D"))

    assert set(found) == {"Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"}
    assert set(found.values()) == {2 * made.shape.num_elements() * 3 * 2 * 8 // groups}


def test_transposing_a_batch_does_not_change_its_count():
    with tf.Graph().as_default() as graph:
        tf.matmul(tensor(2, 7, 5), tensor(2, 7, 3), transpose_a=True)
        tf.matmul(tensor(2, 5, 7), tensor(2, 7, 3))
        found = counts(op for op in graph.get_operations() if "MatMul" in op.type)

    assert found == {"BatchMatMulV2": 2 * (2 * 2 * 5 * 7 * 3)}


def test_gradients_of_an_einsum_are_einsums_with_as_many_products():
    with tf.Graph().as_default() as graph:
        query, key = tensor(4, 10, 2, 8), tensor(4, 12, 2, 8)
        tf.gradients(tf.einsum("bqhd,bkhd->bhqk", query, key), [query, key])
        found = counts(op for op in graph.get_operations() if op.type == "Einsum")

    assert found == {"Einsum": 3 * 2 * 4 * 10 * 12 * 2 * 8}


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

    assert [op_type for op_type in registered if counted(op_type) is None] == []


def test_every_op_for_recurrent_layers_is_counted_and_none_is_of_onednn():
    from tensorflow.core.framework import op_def_pb2
    from tensorflow.python.client import pywrap_tf_session as session

    registered = op_def_pb2.OpList()
    registered.ParseFromString(session.TF_GetBuffer(session.TF_GetAllOpList()))
    names = {op.name for op in registered.op if re.search("RNN|LSTM|GRU", op.name)}
    computing = {name for name in names if "Params" not in name}

    assert not {name for name in names if re.search("Mkl|OneDnn", name, re.IGNORECASE)}
    # What no formula counts is named in docs/float-ops.md.
    assert {name for name in computing if counted(name) is None} == {"LSTMBlockCellGrad"}


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
    assert frame["Conv2DBackpropFilter"] == forward
    assert frame["Conv2DBackpropInput"] == 2 * 8 * 3 * 3 * 4 * 72  # none to the images themselves
    assert frame["MaxPoolGrad"] == 8 * 5 * 5 * 8 * 5
    assert frame["Relu"] == frame["ReluGrad"] == 8 * 10 * 10 * 8
    assert not frame.isna().any()


def counted_in(body):
    frame = profiled(body).op(select="float_ops", max_depth=1000).frame
    return dict(zip(frame["name"], frame["float_ops"], strict=True))


def test_eager_ops_on_variables_arrays_and_numbers_are_counted():
    image = tf.Variable(tf.ones((2, 8, 8, 3)))
    array = np.ones((3, 5), "f4")

    found = counted_in(
        lambda: (
            tf.nn.max_pool2d(image, 2, 2, "SAME"),
            tf.nn.avg_pool2d(image, 3, 2, "VALID"),
            tf.nn.conv2d(image, tf.ones((2, 2, 3, 4)), 1, "VALID"),
            image.assign_add(tf.ones_like(image)),
            tf.add_n([image, image, image]),
            raw.Mul(x=image, y=2.0),
            raw.MatMul(a=array, b=np.ones((5, 7), "f4")),
        )
    )

    size = 2 * 8 * 8 * 3
    assert found["MaxPool"] == 2 * 4 * 4 * 3 * 4
    assert found["AvgPool"] == 2 * 3 * 3 * 3 * 9
    assert found["Conv2D"] == 2 * (2 * 7 * 7 * 4) * (2 * 2 * 3)
    assert found["AssignAddVariableOp"] == found["Mul"] == size
    assert found["AddN"] == 2 * size
    assert found["MatMul"] == 2 * 3 * 5 * 7
    assert found["ReadVariableOp"] == 0


@pytest.mark.parametrize("as_graph", [False, True])
def test_an_einsum_counts_twice_the_product_of_its_sizes(as_graph):
    query, key, weights = tf.ones((4, 10, 2, 8)), tf.ones((4, 12, 2, 8)), tf.ones((10, 12))

    def body(query, key, weights):
        scores = tf.einsum("bqhd,bkhd->bhqk", query, key)
        return scores, tf.einsum("bhqk,bkhd,qk->bqhd", scores, key, weights)

    function = tf.function(body) if as_graph else body
    function(query, key, weights)

    found = counted_in(lambda: function(query, key, weights))

    every = 4 * 10 * 12 * 2
    # TensorFlow multiplies three operands in two steps, the first without anything to sum over.
    in_two_steps = [first + 2 * every * 8 for first in (every, every * 8)]
    assert found["Einsum"] - 2 * every * 8 in in_two_steps


@pytest.mark.parametrize("as_graph", [False, True])
def test_gradients_of_a_convolution_without_padding_have_its_products(as_graph):
    convolution, image = tf.keras.layers.Conv2D(16, 3), tf.ones((32, 5, 5, 8))
    convolution(image)

    def body():
        with tf.GradientTape() as tape:
            tape.watch(image)
            cost = tf.reduce_sum(tf.square(convolution(image)))
        return tape.gradient(cost, [image, *convolution.trainable_weights])

    function = tf.function(body) if as_graph else body
    function()

    found = counted_in(function)

    kinds = ("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter")
    assert [found[kind] for kind in kinds] == [663_552] * 3


@pytest.mark.parametrize("as_graph", [False, True])
def test_a_transposed_convolution_has_a_product_for_each_element_and_weight(as_graph):
    layer, image = tf.keras.layers.Conv2DTranspose(1, 4, 2, "same"), tf.ones((64, 14, 14, 32))
    layer(image)
    function = tf.function(layer) if as_graph else layer
    function(image)

    found = counted_in(lambda: function(image))

    assert found["Conv2DBackpropInput"] == 2 * (64 * 14 * 14 * 32) * (4 * 4 * 1) == 12_845_056


@pytest.mark.parametrize(
    "fail",
    [
        lambda x: raw.MaxPool(input=x, ksize=["a"], strides=[1] * 4, padding="SAME"),
        lambda x: raw.MaxPool(input=x, ksize=None, strides=[1] * 4, padding="SAME"),
        lambda x: raw.Einsum(inputs=[x, "text"], equation="ij,jk->ik"),
        lambda x: raw.Einsum(inputs=[x], equation=3),
        lambda x: raw.Mul(x=x, y=[[1], [2, 3]]),
    ],
)
def test_an_op_that_fails_fails_in_the_same_way(fail):
    x = tf.ones((1, 4, 4, 1))
    with pytest.raises(Exception) as bare:  # noqa: PT011 any
        fail(x)

    with pytest.raises(type(bare.value)) as watched:
        profiled(lambda: fail(x))

    assert str(watched.value) == str(bare.value)

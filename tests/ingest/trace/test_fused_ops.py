"""Kernels count as the ops that the program wrote, in traces made by hand."""

from types import SimpleNamespace

import numpy as np
import pytest
from support.xspace_bytes import event, line, plane, space

from nbprof import ingest
from nbprof.capture.capture import Capture, TraceWindow
from nbprof.ingest.trace.program.node_attributes import read_constant

US = 1_000_000  # ps
FUNCTION = "__inference_f_1"


def node(name, op, *inputs, **attributes):
    attr = {key: value(given) for key, given in attributes.items()}
    return SimpleNamespace(name=name, op=op, device="", input=inputs, attr=attr)


def value(given):
    """Return a stand-in for an AttrValue that holds a truth value, a text, numbers or a tensor."""
    kind = {bool: "b", bytes: "s", list: "list"}.get(type(given), "tensor")
    held = SimpleNamespace(i=given if kind == "list" else [], func=[])
    return SimpleNamespace(
        WhichOneof=lambda _: kind,
        HasField=lambda _: False,
        **{"b": given, "s": given, "list": held, "tensor": given},
    )


def constant(name, *numbers):
    shape = SimpleNamespace(dim=[SimpleNamespace(size=len(numbers))])
    tensor = SimpleNamespace(dtype=3, tensor_content=b"", int_val=numbers, tensor_shape=shape)
    return node(name, "Const", value=tensor)


def read(nodes, *ops):
    """Profile one call of a function with these nodes that ran these ops: `(name, shapes)`."""
    function = SimpleNamespace(
        node_def=nodes,
        signature=SimpleNamespace(input_arg=[SimpleNamespace(name="x")]),
        SerializeToString=lambda: repr(nodes).encode(),
    )
    runs = [
        event(
            name,
            (20 + 10 * place) * US,
            5 * US,
            {"shape": shapes},
            display_name=name.rpartition(":")[2],
        )
        for place, (name, shapes) in enumerate(ops)
    ]
    whole = [
        event("EagerExecute", 0, 900 * US, {"eager_op": FUNCTION, "is_func": 1}),
        event("FunctionRun", 5 * US, 890 * US, {"id": 7, "function_name": FUNCTION}),
        event("ExecutorState::Process", 10 * US, 880 * US, {"id": 7}),
    ]
    trace = space(plane("/host:CPU", lines=[line(0, "t", 0, whole + runs)]))
    capture = Capture(
        windows=(TraceWindow(trace=trace),),
        what="In [1]",
        how="by hand",
        start_ns=0,
        wall_ns=1_000_000,
        cost_ns=0,
        traced_ns=1_000_000,
        function_def={FUNCTION: function}.get,
    )
    return ingest.read(capture)


def rows(profile):
    frame = profile.scope(select="micros,float_ops,occurrence,op_types,output_bytes").frame
    return frame[frame["run_count"] > 0].set_index("name")


SAME = {"strides": [1, 1, 1, 1], "padding": b"SAME", "data_format": b"NHWC"}
CONVOLUTION = (
    node("conv", "Conv2D", "x", "kernel:output:0", **SAME),
    node("bias", "BiasAdd", "conv:output:0", "b:output:0"),
    node("relu", "Relu", "bias:output:0"),
)
SHAPES = "(float[2,8,8,3];float[3,3,3,4];float[4])"


@pytest.mark.parametrize("kernel", ["_FusedConv2D", "_MklNativeFusedConv2D"])
def test_a_fused_kernel_is_listed_as_the_ops_it_replaced(kernel):
    found = rows(read(CONVOLUTION, (f"relu:{kernel}", SHAPES)))

    out = 2 * 8 * 8 * 4
    assert list(found.index) == ["conv", "bias", "relu"]
    assert list(found["run_count"]) == [1, 1, 1]
    assert list(found["float_ops"]) == [2 * out * 27, out, out]
    assert list(found["output_bytes"]) == [4 * out] * 3
    assert found["op_types"]["conv"].split("|")[1:] == ["Conv2D", f"{kernel} with BiasAdd, Relu"]
    assert found["op_types"]["bias"].split("|")[1:] == ["BiasAdd", "fused into Conv2D"]


def test_the_time_of_a_fused_kernel_is_that_of_the_op_that_does_the_work():
    profile = read(CONVOLUTION, ("relu:_FusedConv2D", SHAPES))

    found = rows(profile)["micros"]
    assert found["conv"] == 5
    assert np.isnan(found["bias"])
    assert np.isnan(found["relu"])
    frame = profile.op(select="micros").frame
    assert list(frame["name"]) == ["Conv2D", "BiasAdd", "Relu"]
    assert frame["micros_percent"][0] == 100
    (note,) = [note for note in profile.op(select="micros").notes if "fused" in note]
    assert "BiasAdd, Relu" in note
    assert not [note for note in profile.op(select="float_ops").notes if "fused" in note]


def test_fused_ops_have_the_shapes_they_worked_on():
    profile = read(CONVOLUTION, ("relu:_FusedConv2D", SHAPES))

    frame = profile.op(select="input_shapes").frame.set_index("name")["input_shapes"]
    assert [entry["shapes"] for entry in frame["BiasAdd"]] == [["2x8x8x4", "4"]]
    assert [entry["shapes"] for entry in frame["Relu"]] == [["2x8x8x4"]]
    assert np.isnan(frame["Relu"][0]["micros"])


def test_a_fused_op_is_between_its_inputs_and_those_that_use_it():
    profile = read(
        (*CONVOLUTION, node("out", "Neg", "relu:output:0")),
        ("relu:_FusedConv2D", SHAPES),
        ("out:Neg", "(float[2,8,8,4])"),
    )

    names = profile.nodes["name"]
    edges = set(zip(names[profile.inputs["source"]], names[profile.inputs["node"]], strict=True))
    assert edges == {("conv", "bias"), ("bias", "relu"), ("relu", "out")}


def test_a_bias_gradient_fused_into_that_of_the_filter_keeps_its_row():
    back = (
        constant("sizes", 3, 3, 3, 4),
        node("filter", "Conv2DBackpropFilter", "x", "sizes:output:0", "up:output:0", **SAME),
        node("bias", "BiasAddGrad", "up:output:0", data_format=b"NHWC"),
    )
    kernel = "filter:_MklNativeConv2DBackpropFilterWithBias"

    found = rows(read(back, (kernel, "(float[2,8,8,3];int32[4];float[2,8,8,4])")))

    assert found["float_ops"]["bias"] == 2 * 8 * 8 * 4 - 4
    assert found["float_ops"]["filter"] == 2 * (3 * 3 * 3 * 4) * (2 * 8 * 8)
    assert list(found["output_bytes"]) == [4 * 3 * 3 * 3 * 4, 4 * 4]


def test_padding_fused_into_a_convolution_counts_for_its_output():
    nodes = (
        constant("around", 0, 0, 1, 1, 1, 1, 0, 0),
        node("pad", "Pad", "x", "around:output:0"),
        node("conv", "Conv2D", "pad:output:0", "k:output:0", **(SAME | {"padding": b"VALID"})),
    )
    shapes = "(float[2,8,8,3];float[3,3,3,4];int32[4,2])"

    found = rows(read(nodes, ("conv:_MklNativePadWithConv2D", shapes)))

    assert set(found.index) == {"pad", "conv"}
    assert found["float_ops"]["conv"] == 2 * (2 * 8 * 8 * 4) * 27


def test_a_type_that_the_optimiser_changed_is_the_written_one():
    found = rows(
        read((node("half", "RealDiv", "x", "two:output:0"),), ("half:Mul", "(float[6];float[])"))
    )

    assert found["op_types"]["half"].split("|") == ["/device:CPU:0", "Mul", "RealDiv"]
    assert found["float_ops"]["half"] == 6


def test_a_sum_needs_no_allocation_if_its_axes_are_constant():
    nodes = (constant("axes", 1), node("sum", "Sum", "x", "axes:output:0", keep_dims=False))

    assert rows(read(nodes, ("sum:Sum", "(float[6,4];int32[1])")))["float_ops"]["sum"] == 6 * 3


def test_a_sum_needs_no_allocation_if_another_op_uses_it():
    nodes = (
        node("sum", "Sum", "x", "axes:output:0", keep_dims=False),
        node("same", "Reshape", "sum:output:0", "shape:output:0"),
        node("out", "Neg", "same:output:0"),
    )
    summed = ("sum:Sum", "(float[6,4];int32[1])")

    removed = rows(read(nodes, summed, ("out:Neg", "(float[4])")))
    assert removed["float_ops"]["sum"] == 20
    unused = rows(read(nodes, summed))
    assert np.isnan(unused["float_ops"]["sum"])


def test_a_kernel_without_a_definition_counts_as_its_name_tells():
    found = rows(read((), ("relu:_MklNativeFusedConv2D", SHAPES)))

    assert found["op_types"]["relu"].split("|")[1:] == ["Conv2D", "_MklNativeFusedConv2D"]
    assert not np.isnan(found["micros"]["relu"])


def test_constants_are_read_whether_written_out_or_packed():
    def tensor(dtype, count, packed=b"", **listed):
        shape = SimpleNamespace(dim=[SimpleNamespace(size=count)])
        return SimpleNamespace(dtype=dtype, tensor_content=packed, tensor_shape=shape, **listed)

    assert read_constant(constant("axes", 1, -1)) == (1, -1)
    packed = node("c", "Const", value=tensor(9, 2, np.array([3, 4], "<i8").tobytes()))
    assert read_constant(packed) == (3, 4)
    repeated = node("c", "Const", value=tensor(3, 3, int_val=[7]))
    assert read_constant(repeated) == (7, 7, 7)
    assert read_constant(node("c", "Const", value=tensor(1, 1))) is None
    assert read_constant(node("c", "Neg", "x")) is None


def test_a_chain_of_functions_is_listed_as_the_ops_it_replaced():
    nodes = (
        node("square", "Square", "x"),
        node("neg", "Neg", "square:output:0"),
        node("exp", "Exp", "neg:output:0"),
    )

    found = rows(read(nodes, ("exp/unary_ops_composition:_UnaryOpsComposition", "(float[6,4])")))

    assert found["float_ops"].to_dict() == {"exp": 24, "neg": 24, "square": 24}
    assert found["micros"]["exp"] == 5
    assert found["op_types"]["exp"].split("|")[1:] == [
        "Exp",
        "_UnaryOpsComposition with Square, Neg",
    ]


def test_a_chain_of_functions_without_a_definition_is_unknown():
    found = rows(read((), ("exp/unary_ops_composition:_UnaryOpsComposition", "(float[6,4])")))

    assert found["float_ops"].isna().all()


NORMALIZATION = (
    node("norm", "FusedBatchNormV3", "x", "s:output:0", is_training=True),
    node("relu", "Relu", "norm:y:0"),
    node("same", "Identity", "relu:activations:0"),
)


@pytest.mark.parametrize("left", [("relu:Identity",), ()])
def test_an_activation_that_batch_normalization_computes_keeps_its_row(left):
    names = ("norm:_MklNativeFusedBatchNormEx", *left, "same:Identity")

    found = rows(read(NORMALIZATION, *((name, "(float[2,4,4,3])") for name in names)))

    size = 2 * 4 * 4 * 3
    assert found["float_ops"].to_dict() == {"norm": 6 * size, "relu": size, "same": 0}
    assert np.isnan(found["micros"]["relu"]) == (not left)


def test_batch_normalization_alone_has_no_activation():
    alone = (NORMALIZATION[0], node("same", "Identity", "norm:y:0"))
    ran = ("norm:_FusedBatchNormEx", "same:Identity")

    found = rows(read(alone, *((name, "(float[2,4,4,3])") for name in ran)))

    assert found["float_ops"].to_dict() == {"norm": 6 * 2 * 4 * 4 * 3, "same": 0}

"""The name of a oneDNN kernel tells which op it replaced."""

import pytest

from nbprof.op_types import main_type, replaced_type


@pytest.mark.parametrize(
    ("kernel", "replaced", "main"),
    [
        ("_MklMatMul", "MatMul", "MatMul"),
        ("_MklNativeFusedMatMul", "_FusedMatMul", "MatMul"),
        ("_MklNativeConv2D", "Conv2D", "Conv2D"),
        ("_MklNativeFusedConv2D", "_FusedConv2D", "Conv2D"),
        ("_MklNativeConv2DWithBias", "_FusedConv2D", "Conv2D"),
        (
            "_MklNativeConv2DBackpropFilterWithBias",
            "_FusedConv2DBackpropFilter",
            "Conv2DBackpropFilter",
        ),
        ("_MklNativeFusedBatchNormV3", "FusedBatchNormV3", "FusedBatchNormV3"),
        ("_MklNativeFusedBatchNormEx", "_FusedBatchNormEx", "BatchNormEx"),
        ("_MklSoftmax", "Softmax", "Softmax"),
        ("MatMul", "MatMul", "MatMul"),
        ("_FusedMatMul", "_FusedMatMul", "MatMul"),
        ("_Retval", "_Retval", "_Retval"),
    ],
)
def test_a_onednn_kernel_maps_to_the_op_it_replaced(kernel, replaced, main):
    assert replaced_type(kernel) == replaced
    assert main_type(kernel) == main

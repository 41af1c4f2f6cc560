"""The type of a kernel tells which op of the program does its work."""

import pytest

from nbprof.op_types import kernel_of, main_type


@pytest.mark.parametrize(
    ("kernel", "main"),
    [
        ("_MklMatMul", "MatMul"),
        ("_MklNativeFusedMatMul", "MatMul"),
        ("_FusedMatMul", "MatMul"),
        ("_MklFusedBatchMatMulV2", "BatchMatMulV2"),
        ("_MklNativeConv2D", "Conv2D"),
        ("_MklNativeFusedConv2D", "Conv2D"),
        ("_MklNativeConv2DWithBias", "Conv2D"),
        ("_FusedDepthwiseConv2dNative", "DepthwiseConv2dNative"),
        ("_MklNativePadWithConv2D", "Conv2D"),
        ("_MklPadWithFusedConv2D", "Conv2D"),
        ("_MklNativeConv2DBackpropInput", "Conv2DBackpropInput"),
        ("_MklNativeConv2DBackpropFilterWithBias", "Conv2DBackpropFilter"),
        ("_MklNativeFusedBatchNormV3", "FusedBatchNormV3"),
        ("_MklNativeFusedBatchNormGradV3", "FusedBatchNormGradV3"),
        ("_MklNativeFusedBatchNormEx", "FusedBatchNormV3"),
        ("_FusedBatchNormEx", "FusedBatchNormV3"),
        ("_MklQuantizedConv2DWithBiasAndRelu", "QuantizedConv2DWithBiasAndRelu"),
        ("_MklNativeMaxPool", "MaxPool"),
        ("_MklSoftmax", "Softmax"),
        ("_MklSwish", "Mul"),
        ("MatMul", "MatMul"),
        ("FusedBatchNormV3", "FusedBatchNormV3"),
        ("FusedPadConv2D", "FusedPadConv2D"),
        ("_Retval", "_Retval"),
        ("_UnaryOpsComposition", "_UnaryOpsComposition"),
    ],
)
def test_a_kernel_counts_as_the_op_that_does_its_work(kernel, main):
    assert main_type(kernel) == main


def test_a_kernel_tells_where_the_ops_fused_into_it_stood():
    assert kernel_of("_FusedConv2D").after
    assert kernel_of("_MklNativePadWithFusedConv2D").after
    assert "Pad" in kernel_of("_MklNativePadWithFusedConv2D").before
    assert kernel_of("_MklNativeConv2DBackpropFilterWithBias").beside == ("BiasAddGrad",)
    assert not kernel_of("_MklNativeConv2D").is_fused
    assert not kernel_of("Conv2D").is_fused


def test_every_kernel_of_onednn_that_tensorflow_registers_stands_for_a_registered_op():
    pytest.importorskip("tensorflow")
    from tensorflow.core.framework.op_def_pb2 import OpList
    from tensorflow.python.client import pywrap_tf_session

    ops = OpList.FromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList())).op
    names = {op.name for op in ops}
    replaced = {name: main_type(name) for name in names if name.startswith(("_Mkl", "_Fused"))}

    assert len(replaced) > 80
    unknown = {main for main in replaced.values() if main not in names}
    assert unknown <= {"LayerNorm", "FusedInstanceNorm", "NativeSparseMatrixMatMul"}

"""Op types of kernels that TensorFlow runs in the place of others.

On many processors it puts kernels of oneDNN in the place of its own, which carry names such as
`_MklNativeConv2D`; and it fuses ops with those that follow them, as in `_FusedConv2D`.
"""

FUSED = "_Fused"
_ONEDNN = ("_MklNative", "_Mkl")
_BIAS = "WithBias"
_NOT_FUSED_BY_TENSORFLOW = "FusedBatchNorm"
"""An op of its own, which is called so; only the one that ends in `Ex` is several."""


def replaced_type(op_type: str) -> str:
    """Give the type that TensorFlow has for what a kernel of oneDNN does; others stay as they are.

    >>> replaced_type("_MklNativeFusedConv2D"), replaced_type("_MklMatMul"), replaced_type("Add")
    ('_FusedConv2D', 'MatMul', 'Add')
    """
    prefix = next((one for one in _ONEDNN if op_type.startswith(one)), None)
    if prefix is None:
        return op_type
    plain = op_type.removeprefix(prefix)
    if plain.endswith(_BIAS):
        return FUSED + plain.removesuffix(_BIAS)
    is_one_op = plain.startswith(_NOT_FUSED_BY_TENSORFLOW) and not plain.endswith("Ex")
    return f"_{plain}" if plain.startswith("Fused") and not is_one_op else plain


def main_type(op_type: str) -> str:
    """Give the type of the op that does the work: of fused ones the first.

    >>> main_type("_MklNativeFusedConv2D"), main_type("_FusedMatMul"), main_type("Relu")
    ('Conv2D', 'MatMul', 'Relu')
    """
    return replaced_type(op_type).removeprefix(FUSED)

"""Op types of kernels that TensorFlow runs in the place of others.

On many processors it puts kernels of oneDNN in the place of its own, which carry names such as
`_MklNativeConv2D`; and it fuses ops with those that follow them, as in `_FusedConv2D`.
"""

FUSED, PADDED = "_Fused", "_PadWith"
_ONEDNN = ("_MklNative", "_Mkl")
_BIAS = "WithBias"
_NOT_FUSED_BY_TENSORFLOW = "FusedBatchNorm"
"""An op of its own, which is called so; only the one that ends in `Ex` is several."""


def replaced_type(op_type: str) -> str:
    """Give the type of what a kernel of oneDNN was put in the place of; others stay as they are."""
    prefix = next((one for one in _ONEDNN if op_type.startswith(one)), None)
    if prefix is None:
        return op_type
    plain = op_type.removeprefix(prefix)
    if plain.endswith(_BIAS):
        return FUSED + plain.removesuffix(_BIAS)
    if plain.startswith(PADDED[1:]):
        return f"_{plain}"
    is_one_op = plain.startswith(_NOT_FUSED_BY_TENSORFLOW) and not plain.endswith("Ex")
    return f"_{plain}" if plain.startswith("Fused") and not is_one_op else plain


def main_type(op_type: str) -> str:
    """Give the type of the op that does the work, of several that were fused."""
    replaced = replaced_type(op_type)
    if replaced.startswith(PADDED):
        return replaced.removeprefix(PADDED).removeprefix(FUSED[1:])
    return replaced.removeprefix(FUSED)


def is_fused(op_type: str) -> bool:
    """Tell whether it stands for several ops."""
    return replaced_type(op_type) != main_type(op_type)

"""Map the op types that TensorFlow substitutes at run time back to those the program wrote.

On many processors TensorFlow replaces its own kernels with oneDNN's, named like `_MklNativeConv2D`,
and it fuses an op with those that follow it, as in `_FusedConv2D`.
"""

FUSED = "_Fused"
"""Prefix of an op that was fused with its successors."""
PADDED = "_PadWith"
"""Prefix of an op that was fused with the padding before it."""
_ONEDNN = ("_MklNative", "_Mkl")
_BIAS = "WithBias"
_BATCH_NORM = "FusedBatchNorm"
"""Prefix of ordinary ops, which are not fused unless they end in `Ex`."""


def replaced_type(op_type: str) -> str:
    """Return the type that a oneDNN kernel replaced; other types stay as they are."""
    prefix = next(filter(op_type.startswith, _ONEDNN), None)
    if prefix is None:
        return op_type
    plain = op_type.removeprefix(prefix)
    if plain.endswith(_BIAS):
        return FUSED + plain.removesuffix(_BIAS)
    if plain.startswith(PADDED[1:]):
        return f"_{plain}"
    is_one_op = plain.startswith(_BATCH_NORM) and not plain.endswith("Ex")
    return f"_{plain}" if plain.startswith("Fused") and not is_one_op else plain


def main_type(op_type: str) -> str:
    """Return the type that does the main work of a fused op; otherwise like `replaced_type`."""
    replaced = replaced_type(op_type)
    if replaced.startswith(PADDED):
        return replaced.removeprefix(PADDED).removeprefix(FUSED[1:])
    return replaced.removeprefix(FUSED)


def is_fused(op_type: str) -> bool:
    """Return whether the type stands for several fused ops."""
    return replaced_type(op_type) != main_type(op_type)

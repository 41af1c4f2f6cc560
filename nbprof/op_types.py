"""Which op of the program does the work of a kernel that TensorFlow put in its place.

On many processors TensorFlow replaces its own kernels with oneDNN's, named like `_MklNativeConv2D`,
and it fuses an op with its neighbours, as in `_FusedConv2D`. `KERNELS` declares them all.
"""

import re
from dataclasses import dataclass, replace
from functools import cache


@dataclass(frozen=True)
class Kernel:
    """What a kernel's type tells about the ops it replaces."""

    main: str
    """The type of the op that does the work."""
    after: bool = False
    """Whether ops after the main one are fused into it; the kernel has the name of the last."""
    before: tuple[str, ...] = ()
    """Types of ops before the main one that are fused into it."""
    then: tuple[str, ...] = ()
    """Types of ops right after the main one that may be fused into it; the name stays its own."""
    beside: tuple[str, ...] = ()
    """Types of ops with the same input as the main one that are fused into it."""
    counted: bool = True
    """Whether the float operations of the main op are those of the kernel."""

    @property
    def is_fused(self) -> bool:
        """Whether it replaces more than one op."""
        return self.after or bool(self.before or self.then or self.beside)


_ONEDNN = "_Mkl(?:Native)?"
_ANY = f"(?:{_ONEDNN}|_)"
_PADS = ("Pad", "PadV2")
CHAIN = "_UnaryOpsComposition"
"""A chain of functions of one tensor; it has the name of the last of them, which is the main op."""
MOVED = ("Relu", "ReluGrad")
"""Ops that batch normalization may compute, too; then an `Identity` has their name."""
_UNARY = (
    *("Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Exp"),
    *("Expm1", "Floor", "Inv", "Log", "Log1p", "Neg", "Reciprocal", "Rint", "Round", "Rsqrt"),
    *("Sigmoid", "Sin", "Sinh", "Sqrt", "Square", "Tan", "Tanh", "Elu", "Relu", "Relu6", "Selu"),
)
KERNELS = (
    (CHAIN, Kernel(CHAIN, before=_UNARY)),
    (f"{_ANY}FusedBatchNormEx", Kernel("FusedBatchNormV3", then=("Relu",))),
    ("_FusedBatchNormGradEx", Kernel("FusedBatchNormGradV3")),
    (f"{_ONEDNN}(FusedBatchNorm.*|Quantized.*)", Kernel(r"\1")),
    (f"{_ONEDNN}Swish", Kernel("Mul", before=("Sigmoid",))),
    (f"{_ONEDNN}FusedMish", Kernel("Mul", before=("Tanh", "Softplus"))),
    (f"{_ONEDNN}(LayerNorm|FusedInstanceNorm)", Kernel(r"\1", counted=False)),
    (f"{_ANY}PadWithFused(.+)", Kernel(r"\1", after=True, before=_PADS)),
    (f"{_ANY}PadWith(.+)", Kernel(r"\1", before=_PADS)),
    (f"{_ONEDNN}(.+BackpropFilter)WithBias", Kernel(r"\1", beside=("BiasAddGrad",))),
    (f"{_ONEDNN}(.+)WithBias", Kernel(r"\1", after=True)),
    (f"{_ANY}Fused(.+)", Kernel(r"\1", after=True)),
    (f"{_ONEDNN}(.+)", Kernel(r"\1")),
)
"""Patterns of the types of kernels, the first that matches decides; `\\1` is a pattern's group."""
_KERNELS = [(re.compile(pattern), kernel) for pattern, kernel in KERNELS]


@cache
def kernel_of(op_type: str) -> Kernel:
    """Return what an executed type stands for; an ordinary type stands for itself."""
    if op_type.startswith("_"):
        for pattern, kernel in _KERNELS:
            if found := pattern.fullmatch(op_type):
                return replace(kernel, main=found.expand(kernel.main))
    return Kernel(op_type)


def working_type(executed: str, written: str) -> str:
    """Return the type of an executed op, or the written one where that tells what was computed."""
    is_moved = executed == "Identity" and written in MOVED
    return written if is_moved or executed == CHAIN else executed


def main_type(op_type: str) -> str:
    """Return the type of the op that does the work of a kernel."""
    return kernel_of(op_type).main

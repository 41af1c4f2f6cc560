"""Infer the size of a run's outputs where no allocation shows it.

Such an op forwards a buffer, or its allocation was too small to be recorded. Its size then follows
from the shapes of its inputs and from its attributes.
"""

import re
from collections.abc import Callable, Sequence
from math import nan, prod

from nbprof.ingest.trace.program.node_attributes import GRADIENTS
from nbprof.ingest.trace.shapes.flops import Dims, broadcast
from nbprof.op_types import main_type

Typed = tuple[int, Dims]
"""The size of an element in bytes, and the dimensions."""
Inputs = Sequence[Typed | None]

ITEM_SIZES = {
    **dict.fromkeys(("float", "int32", "uint32", "qint32"), 4),
    **dict.fromkeys(("double", "int64", "uint64", "complex64"), 8),
    **dict.fromkeys(("half", "bfloat16", "int16", "uint16", "qint16", "quint16"), 2),
    **dict.fromkeys(("int8", "uint8", "bool", "qint8", "quint8"), 1),
    **{"complex128": 16, "string": 24},
}
"""Bytes per element, by the type names that the shapes in traces use."""

_INPUT = re.compile(rb"(\w+)\[([\d,]*)\]")
_NO_OUTPUT = re.compile(
    r"Assign(Add|Sub)?VariableOp|Resource(Sparse)?(Apply|Scatter)\w+|DestroyResourceOp"
    r"|_?Retval|_(Host)?Send|NoOp|Assert|ControlTrigger|Delete\w+|MakeIterator|.*Summary"
)
_SEVERAL_OUTPUTS = re.compile(r"FusedBatchNorm.*")
_SIZES_FIRST = {op_type for op_type, (_, place) in GRADIENTS.items() if place == 0}
"""Ops whose first input holds the output's shape, not data."""
_PASSES_ON = re.compile(
    r"Identity|Snapshot|Reshape|Squeeze|ExpandDims|Bitcast|StopGradient|PreventGradient|CheckNumerics"
    r"|EnsureShape|Switch|Merge|Enter|Exit|NextIteration|LoopCond|(Placeholder)?WithDefault|DeepCopy"
)
_ELEMENTWISE = re.compile(
    r"(Relu|Relu6|Elu|Selu|LeakyRelu|Softplus|Softsign|Sigmoid|Tanh|Sqrt|Rsqrt|Reciprocal|Inv)Grad|"
    r"Add|AddV2|Sub|Mul|MulNoNan|Div|RealDiv|DivNoNan|FloorDiv|FloorMod|Maximum|Minimum|Pow|SquaredDifference"
    r"|Relu|Relu6|Elu|Selu|LeakyRelu|Softplus|Softsign|Sigmoid|Tanh|Sqrt|Rsqrt|Square|Exp|Log|Log1p"
    r"|Neg|Abs|Sign|Floor|Ceil|Round|Reciprocal|Inv|Erf|Sin|Cos|BiasAdd|BiasAddV1|Softmax|LogSoftmax|Select(V2)?"
    r"|LogicalAnd|LogicalOr|LogicalNot|ClipByValue"
)


def parse_typed(text: bytes) -> tuple[Typed | None, ...]:
    """Read `(float[32,64];int32[])`; an input without a shape, such as a resource, is None."""
    inner = text.removeprefix(b"(").removesuffix(b")")
    return tuple(map(_typed, inner.split(b";"))) if inner else ()


def _typed(text: bytes) -> Typed | None:
    found = _INPUT.fullmatch(text)
    size = ITEM_SIZES.get(found[1].decode()) if found else None
    if found is None or size is None:
        return None
    return size, tuple(map(int, filter(None, found[2].split(b","))))


def output_bytes(
    op_type: str, inputs: Inputs, shape_of: Callable[[Sequence[Dims | None]], Dims | None]
) -> float:
    """Return the bytes of a run's outputs, NaN if unknown.

    `shape_of` returns the shape of the only output for the input shapes, None if unknown.
    """
    op_type = main_type(op_type)
    if _NO_OUTPUT.fullmatch(op_type):
        return 0.0
    if not inputs or inputs[0] is None or _SEVERAL_OUTPUTS.fullmatch(op_type):
        return nan
    shape = shape_of([typed and typed[1] for typed in inputs])
    if shape is not None:
        typed = inputs[1 if op_type in _SIZES_FIRST else 0]
        return float(typed[0] * prod(shape)) if typed else nan
    rule = next((rule for ops, rule in _RULES if ops.fullmatch(op_type)), None)
    return rule([typed for typed in inputs if typed is not None]) if rule else nan


def is_elementwise(op_type: str) -> bool:
    """Return whether an op's output has the shape that its inputs broadcast to."""
    return _ELEMENTWISE.fullmatch(op_type) is not None


def _first_input_bytes(inputs: Sequence[Typed]) -> float:
    size, dims = inputs[0]
    return float(size * prod(dims))


def _broadcast_bytes(inputs: Sequence[Typed]) -> float:
    dims = inputs[0][1]
    for _, more in inputs[1:]:
        dims = broadcast(dims, more)
    return float(inputs[-1][0] * prod(dims))


_RULES: tuple[tuple[re.Pattern[str], Callable[[Sequence[Typed]], float]], ...] = (
    (_PASSES_ON, _first_input_bytes),
    (_ELEMENTWISE, _broadcast_bytes),
)

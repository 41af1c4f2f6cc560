"""The attributes of nodes that shapes and float operations depend on."""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from nbprof.float_op_table import COUNTED

Attribute = Sequence[int] | bytes | bool
Attributes = Mapping[str, Attribute]

NEEDED = frozenset(
    (
        *("strides", "ksize", "dilations", "explicit_paddings", "padding", "data_format"),
        *("transpose_a", "transpose_b", "adj_x", "adj_y", "keep_dims"),
        *(name for row in COUNTED for name in row.attributes),
    )
)
"""Names of the attributes to read."""
CONSTANT = "constant"
"""Name for the value of an input that decides the output's shape, if the input is a constant."""
REDUCTIONS = ("Sum", "Mean", "Max", "Min", "Prod", "All", "Any", "ArgMax", "ArgMin")
PADDINGS = ("Pad", "PadV2", "MirrorPad")
GRADIENTS = {
    "Conv2DBackpropInput": ("Conv2D", 0),
    "Conv2DBackpropFilter": ("Conv2D", 1),
    "Conv3DBackpropInputV2": ("Conv3D", 0),
    "Conv3DBackpropFilterV2": ("Conv3D", 1),
    "DepthwiseConv2dNativeBackpropInput": ("DepthwiseConv2dNative", 0),
    "DepthwiseConv2dNativeBackpropFilter": ("DepthwiseConv2dNative", 1),
}
"""The convolution that an op is the gradient of, and to which of the convolution's inputs.

The op returns the shape of that input. The same index among its own inputs holds it as a value.
"""
CONSTANT_INPUT = {
    **dict.fromkeys((*REDUCTIONS, *PADDINGS), 1),
    **{op_type: place for op_type, (_, place) in GRADIENTS.items()},
}
"""Index of the input that decides the output's shape: axes, paddings, or the shape itself."""
_INTEGERS = {3: ("int_val", np.int32), 9: ("int64_val", np.int64)}
"""Where a TensorProto keeps whole numbers, and of which type, by its own number for the type."""


class MissingError(Exception):
    """A rule needs a shape or an attribute that is unknown."""


def read_attributes(node: Any) -> dict[str, Attribute]:
    """Read the needed attributes of a NodeDef."""
    return {name: _value(node.attr[name]) for name in NEEDED.intersection(node.attr)}


def _value(message: Any) -> Attribute:
    kind = message.WhichOneof("value")
    if kind == "b":
        return bool(message.b)
    if kind == "s":
        return bytes(message.s)
    return (int(message.i),) if kind == "i" else tuple(message.list.i)


def read_constant(node: Any) -> tuple[int, ...] | None:
    """Read the whole numbers that a NodeDef holds as a constant; None if it holds none."""
    tensor = node.attr["value"].tensor if node.op == "Const" else None
    if tensor is None or tensor.dtype not in _INTEGERS:
        return None
    field, dtype = _INTEGERS[tensor.dtype]
    if tensor.tensor_content:
        return tuple(map(int, np.frombuffer(tensor.tensor_content, dtype)))
    values: tuple[int, ...] = tuple(getattr(tensor, field))
    count = int(prod(dimension.size for dimension in tensor.tensor_shape.dim))
    return values + values[-1:] * (count - len(values))  # equal values at the end are left out


def numbers(attributes: Attributes, name: str) -> Sequence[int]:
    """Return an attribute that is a list of numbers."""
    value = attributes.get(name)
    if value is None or isinstance(value, bytes | bool):
        raise MissingError
    return value


def flag(attributes: Attributes, name: str) -> bool:
    """Return an attribute that is true or false."""
    value = attributes.get(name)
    if not isinstance(value, bool):
        raise MissingError
    return value


def data_format(attributes: Attributes) -> str:
    """Return the order of a node's dimensions, such as `NHWC`, or an empty text."""
    known = attributes.get("data_format")
    return known.decode("utf-8", "replace") if isinstance(known, bytes) else ""

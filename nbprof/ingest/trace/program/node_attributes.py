"""The attributes of nodes that shapes and float operations depend on."""

from collections.abc import Mapping, Sequence
from typing import Any

Attribute = Sequence[int] | bytes | bool
Attributes = Mapping[str, Attribute]

NEEDED = frozenset(
    (
        *("strides", "ksize", "dilations", "explicit_paddings", "padding", "data_format"),
        *("transpose_a", "transpose_b", "adj_x", "adj_y"),
    )
)
"""Names of the attributes to read."""


class MissingError(Exception):
    """A rule needs a shape or an attribute that is unknown."""


def read_attributes(node: Any) -> dict[str, Attribute]:
    """Read the needed attributes of a NodeDef."""
    return {name: _value(node.attr[name]) for name in NEEDED.intersection(node.attr)}


def _value(message: Any) -> Attribute:
    kind = message.WhichOneof("value")
    if kind == "b":
        return bool(message.b)
    return bytes(message.s) if kind == "s" else tuple(message.list.i)


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

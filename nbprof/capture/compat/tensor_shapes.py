"""Shapes and sizes of what Python hands to TensorFlow's dispatchers and gets back."""

from functools import cache
from typing import Any

BYTES_OF_STRING = 24
"""What a string takes in a tensor, its text elsewhere."""


@cache
def _eager_tensor() -> Any:
    from tensorflow.python.framework import ops

    return ops.EagerTensor


def input_shapes(arguments: tuple[Any, ...], op_place: int | None) -> tuple[Any, ...]:
    """Give the shapes of the inputs among a dispatcher's arguments, None for other values.

    `TFE_Py_FastPathExecute` has the inputs one by one, and attributes after them, each led in by
    its name; the others have a list of inputs.
    """
    if op_place is None:
        return ()
    tensor = _eager_tensor()
    shapes: list[Any] = []
    for value in arguments[3:] if op_place == 1 else arguments[3]:
        if type(value) is tensor:
            shapes.append(value._shape_tuple())
        elif type(value) is list:
            shapes += [item._shape_tuple() if type(item) is tensor else None for item in value]
        elif type(value) is str and op_place == 1:
            break
        else:
            shapes.append(None)
    return tuple(shapes)


def output_shape(given: Any) -> tuple[Any, ...]:
    """Give the shape of what a dispatcher returned, of a list the first tensor's."""
    first = given[0] if type(given) is list and given else given
    return (first._shape_tuple(),) if type(first) is _eager_tensor() else (None,)


def tensor_bytes(given: Any) -> int:
    """Give the size of what a dispatcher returned: a tensor, a list of them, or nothing."""
    if type(given) is _eager_tensor():
        return int(given._num_elements()) * element_size(given._datatype_enum())
    return sum(map(tensor_bytes, given)) if type(given) is list else 0


@cache
def element_size(number: int) -> int:
    """Give the bytes of an element of a type; handles of resources have none of their own."""
    from tensorflow.python.framework import dtypes

    if number in (dtypes.resource.as_datatype_enum, dtypes.variant.as_datatype_enum):
        return 0
    if number == dtypes.string.as_datatype_enum:
        return BYTES_OF_STRING
    return int(dtypes.as_dtype(number).size)

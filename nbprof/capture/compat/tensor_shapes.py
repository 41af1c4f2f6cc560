"""Read the shapes and sizes of the arguments and results of TensorFlow's dispatchers."""

from functools import cache
from typing import Any

BYTES_OF_STRING = 24
"""Bytes of one element of a string tensor; long texts are stored elsewhere."""


@cache
def eager_tensor() -> Any:
    """Return the class of tensors that hold a value."""
    from tensorflow.python.framework import ops

    return ops.EagerTensor


def input_shapes(arguments: tuple[Any, ...], op_place: int | None) -> tuple[Any, ...]:
    """Return the shapes of the inputs among a dispatcher's arguments, None for other values.

    `TFE_Py_FastPathExecute` takes the inputs one by one, then attributes, each preceded by its
    name; the others take a list of inputs.
    """
    if op_place is None:
        return ()
    tensor = eager_tensor()
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


def output_shape(result: Any) -> tuple[Any, ...]:
    """Return the shape of a dispatcher's result; of a list, that of the first tensor."""
    first = result[0] if type(result) is list and result else result
    return (first._shape_tuple(),) if type(first) is eager_tensor() else (None,)


def tensor_bytes(result: Any) -> int:
    """Return the bytes of a dispatcher's result: a tensor, a list of tensors, or nothing."""
    if type(result) is eager_tensor():
        return int(result._num_elements()) * element_size(result._datatype_enum())
    return sum(map(tensor_bytes, result)) if type(result) is list else 0


@cache
def element_size(number: int) -> int:
    """Return the bytes of an element of a type, given the type's number; handles count as 0."""
    from tensorflow.python.framework import dtypes

    if number in (dtypes.resource.as_datatype_enum, dtypes.variant.as_datatype_enum):
        return 0
    if number == dtypes.string.as_datatype_enum:
        return BYTES_OF_STRING
    return int(dtypes.as_dtype(number).size)

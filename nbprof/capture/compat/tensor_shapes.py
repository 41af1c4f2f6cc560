"""Read the shapes and sizes of the arguments and results of TensorFlow's dispatchers."""

from functools import cache
from itertools import pairwise
from typing import Any

BYTES_OF_STRING = 24
"""Bytes of one element of a string tensor; long texts are stored elsewhere."""


@cache
def eager_tensor() -> Any:
    """Return the class of tensors that hold a value."""
    from tensorflow.python.framework import ops

    return ops.EagerTensor


@cache
def _has_shape() -> tuple[Any, ...]:
    """Return the classes of further values that ops take for tensors and that have a shape."""
    import numpy as np
    from tensorflow.python.ops import resource_variable_ops as variables

    return tuple(filter(None, (np.ndarray, getattr(variables, "BaseResourceVariable", None))))


def input_shapes(arguments: tuple[Any, ...], op_place: int | None) -> tuple[Any, ...]:
    """Return the shapes of the inputs among a dispatcher's arguments, None for unknown ones.

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
            shapes += [
                item._shape_tuple() if type(item) is tensor else _shape_of(item) for item in value
            ]
        elif type(value) is str and op_place == 1:
            break
        else:
            shapes.append(_shape_of(value))
    return tuple(shapes)


def _shape_of(value: Any) -> tuple[int, ...] | None:
    """Return the shape of a number, an array or a variable, None for anything else."""
    if type(value) in (int, float, bool):
        return ()
    if not isinstance(value, _has_shape()):
        return None
    dims = getattr(value.shape, "dims", value.shape)  # a variable's are None if unknown
    known = [] if dims is None else [getattr(size, "value", size) for size in dims]
    return None if dims is None or None in known else tuple(known)


def attributes(
    arguments: tuple[Any, ...], op_place: int | None, wanted: tuple[str, ...]
) -> tuple[tuple[str, Any], ...]:
    """Return the wanted attributes among a dispatcher's arguments, as far as they are valid."""
    given = arguments[3:] if op_place == 1 else arguments[4]
    return tuple(
        (name, _attribute(value))
        for name, value in pairwise(given)
        if type(name) is str and name in wanted
    )


def _attribute(value: Any) -> tuple[int, ...] | bytes | bool | None:
    """Return an attribute as a FunctionDef has it; None if it is not a text, truth or numbers."""
    if type(value) in (bytes, bool):
        return value  # type: ignore[no-any-return]
    if type(value) is str:
        return value.encode(errors="replace")
    numbers = value if type(value) in (list, tuple) else (value,)
    return tuple(numbers) if all(type(number) is int for number in numbers) else None


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

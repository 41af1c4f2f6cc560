"""Find how many bytes TensorFlow's objects hold, without ever importing TensorFlow."""

import math
import sys
from typing import Any

STRING_BYTES = 24
"""Bytes of one element of a string tensor, including a short text."""
LONGEST_INLINE = 22
"""Length in bytes of the longest text stored inside its element."""
SAMPLE_SIZE = 1000
"""Number of strings from which a string tensor is estimated."""


def tensor_class() -> Any:
    """Return the class of tensors that hold data; None if TensorFlow is not loaded."""
    ops = sys.modules.get("tensorflow.python.framework.ops")
    return getattr(ops, "EagerTensor", None)


def variable_class() -> Any:
    """Return the class of variables; None if TensorFlow is not loaded."""
    module = sys.modules.get("tensorflow.python.ops.resource_variable_ops")
    return getattr(module, "BaseResourceVariable", None)


def tensor_bytes(value: Any) -> int | None:
    """Return the bytes of a tensor or variable; None for anything else.

    A symbolic tensor of a graph, or one of unknown shape, holds none.
    """
    kinds = tuple(kind for kind in (tensor_class(), variable_class()) if kind is not None)
    if not kinds or not isinstance(value, kinds):
        return None
    try:
        count = value.shape.num_elements()
        dtype = value.dtype
    except (AttributeError, ValueError, RuntimeError):  # a handle, or part of a deleted graph
        return 0
    if count is None or dtype.name in ("resource", "variant"):
        return 0
    if dtype.name == "string":
        return _string_bytes(value, count)
    return int(count) * int(dtype.size)


def _string_bytes(value: Any, count: int) -> int:
    """Estimate the bytes of a string tensor from its first strings."""
    import numpy as np

    try:
        flat = np.ravel(value.numpy()) if count <= SAMPLE_SIZE else _first_strings(value)
    except (AttributeError, ValueError, RuntimeError):
        return STRING_BYTES * count
    lengths = [len(text) for text in flat.tolist() if isinstance(text, bytes)]
    outside = sum(length for length in lengths if length > LONGEST_INLINE)
    return STRING_BYTES * count + math.ceil(outside * count / max(1, len(lengths)))


def _first_strings(value: Any) -> Any:
    """Return about as many strings as the sample needs, without copying the whole tensor."""
    import numpy as np

    per_row = max(1, math.prod(value.shape[1:]))
    return np.ravel(value[: math.ceil(SAMPLE_SIZE / per_row)].numpy())


def tensor_address(value: Any) -> int | None:
    """Return the address of a tensor's data in this process; None if unknown."""
    import numpy as np

    kind = tensor_class()
    if kind is None or not isinstance(value, kind) or not str(value.device).endswith("CPU:0"):
        return None
    try:
        array = np.asarray(memoryview(value))
    except (BufferError, NotImplementedError, TypeError, ValueError):  # numpy has no such type
        return None
    address: int = array.__array_interface__["data"][0]
    return address


def has_parts(value: Any) -> bool:
    """Return whether an object of TensorFlow or Keras consists of tensors and variables."""
    return _is_variable(value) or _is_composite(value) or _has_variables(value)


def parts_of(value: Any) -> list[Any] | None:
    """Return the tensors and variables an object of TensorFlow or Keras consists of.

    None for any other object. A model's optimizer is part of it.
    """
    if _is_variable(value):
        return [getattr(value, "_value", None)]
    if _is_composite(value):
        nest = sys.modules["tensorflow"].nest
        parts: list[Any] = nest.flatten(value, expand_composites=True)
        return parts
    if not _has_variables(value):
        return None
    try:
        listed = value.variables
        # A method of Keras 2's legacy optimizers; its newer ones return a list that can be called.
        variables = list(listed() if callable(listed) else listed)
    except Exception:  # noqa: BLE001 anybody's model, perhaps not built yet
        variables = []
    optimizer = getattr(value, "optimizer", None)
    return variables if optimizer is None else [*variables, optimizer]


def _is_variable(value: Any) -> bool:
    return _is(value, "keras.src.backend.common.variables", "Variable")


def _is_composite(value: Any) -> bool:
    return _is(
        value, "tensorflow.python.framework.composite_tensor", "CompositeTensor"
    ) and not _is(value, "tensorflow.python.ops.resource_variable_ops", "BaseResourceVariable")


def _has_variables(value: Any) -> bool:
    return any(_is(value, *kind) for kind in _WITH_VARIABLES)


_WITH_VARIABLES = (
    ("keras.src.layers.layer", "Layer"),
    ("keras.src.optimizers.base_optimizer", "BaseOptimizer"),
    ("tensorflow.python.module.module", "Module"),
    *(
        (f"{keras_2}.src.optimizers.{module}", name)
        for keras_2 in ("keras", "tf_keras")
        for module, name in (
            ("optimizer", "_BaseOptimizer"),
            ("legacy.optimizer_v2", "OptimizerV2"),
        )
    ),
)


MACHINERY = {"tensorflow", "keras", "tf_keras", "IPython", "ipykernel", "comm", "zmq", "tornado"}
"""Packages whose objects are not followed: a widget leads to the kernel, and that to all names."""


def is_machinery(value: Any) -> bool:
    """Return whether an object belongs to one of the packages that are not followed."""
    return str(type(value).__module__).partition(".")[0] in MACHINERY


def _is(value: Any, module: str, name: str) -> bool:
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(value, kind)

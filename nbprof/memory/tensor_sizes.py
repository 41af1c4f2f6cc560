"""How many bytes TensorFlow's objects hold. TensorFlow is never imported for this."""

import math
import sys
from typing import Any

STRING_BYTES = 24
"""What a tensor of strings holds for each, short ones included; longer ones lie elsewhere."""
SHORT = 22
SAMPLED = 1000


def tensor_class() -> Any:
    """Give the class of tensors that hold data, if TensorFlow is at work."""
    ops = sys.modules.get("tensorflow.python.framework.ops")
    return getattr(ops, "EagerTensor", None)


def variable_class() -> Any:
    """Give the class of variables, if TensorFlow is at work."""
    module = sys.modules.get("tensorflow.python.ops.resource_variable_ops")
    return getattr(module, "BaseResourceVariable", None)


def tensor_bytes(value: Any) -> int | None:
    """Give the bytes of a tensor or variable; None for anything else.

    A tensor that only stands for one of a graph, or whose shape is not known, holds none.
    """
    kinds = tuple(kind for kind in (tensor_class(), variable_class()) if kind is not None)
    if not kinds or not isinstance(value, kinds):
        return None
    try:
        count = value.shape.num_elements()
        dtype = value.dtype
    except (AttributeError, ValueError, RuntimeError):  # a handle, or of a graph that is gone
        return 0
    if count is None or dtype.name in ("resource", "variant"):
        return 0
    if dtype.name == "string":
        return _strings(value, count)
    return int(count) * int(dtype.size)


def _strings(value: Any, count: int) -> int:
    """Estimate a tensor of strings from the first of them."""
    import numpy as np

    try:
        flat = np.ravel(value.numpy()) if count <= SAMPLED else _first(value)
    except (AttributeError, ValueError, RuntimeError):
        return STRING_BYTES * count
    lengths = [len(text) for text in flat.tolist() if isinstance(text, bytes)]
    longer = sum(length for length in lengths if length > SHORT)
    return STRING_BYTES * count + math.ceil(longer * count / max(1, len(lengths)))


def _first(value: Any) -> Any:
    """Give some of the strings, not all of which need to be copied for it."""
    import numpy as np

    each = max(1, math.prod(value.shape[1:]))
    return np.ravel(value[: math.ceil(SAMPLED / each)].numpy())


def tensor_address(value: Any) -> int | None:
    """Give where a tensor's data lies in the memory of this process; None where that is unknown."""
    import numpy as np

    kind = tensor_class()
    if kind is None or not isinstance(value, kind) or not str(value.device).endswith("CPU:0"):
        return None
    try:
        array = np.asarray(memoryview(value))
    except (BufferError, NotImplementedError, TypeError, ValueError):  # a type numpy does not have
        return None
    address: int = array.__array_interface__["data"][0]
    return address


def has_parts(value: Any) -> bool:
    """Tell whether something of TensorFlow or Keras consists of tensors and variables."""
    return _is_variable(value) or _is_composite(value) or _has_variables(value)


def parts_of(value: Any) -> list[Any] | None:
    """Give the tensors and variables that something of TensorFlow or Keras consists of.

    None for anything else. A model's optimizer belongs to it.
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
        variables = list(value.variables)
    except Exception:  # noqa: BLE001 models of anybody's making, perhaps not built yet
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
)


MACHINERY = {"tensorflow", "keras", "tf_keras", "IPython", "ipykernel", "comm", "zmq", "tornado"}
"""Whose objects lead to everything else: a widget to the kernel, and the kernel to all names."""


def is_machinery(value: Any) -> bool:
    """Tell whether an object is one of these, and none of the above."""
    return str(type(value).__module__).partition(".")[0] in MACHINERY


def _is(value: Any, module: str, name: str) -> bool:
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(value, kind)

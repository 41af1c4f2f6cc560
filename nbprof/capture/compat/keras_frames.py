"""Which code is a Keras layer, and which does another part of the work."""

import inspect
import sys
from functools import cache
from types import CodeType
from typing import Any

from nbprof.capture.capture import BACKWARD, LOSS, METRICS, OPTIMIZER

PARTS = {
    "keras.src.optimizers": OPTIMIZER,
    "tensorflow.python.training.optimizer": OPTIMIZER,
    "keras.src.metrics": METRICS,
    "keras.src.losses": LOSS,
    "tensorflow.python.eager.backprop": BACKWARD,
}
"""Which parts of the work these modules do."""


def part_of_module(module: str) -> str:
    """Say which part of the work besides layers a module does, or give an empty text."""
    return next((part for prefix, part in PARTS.items() if module.startswith(prefix)), "")


def is_layer_call(code: CodeType) -> bool:
    """Tell whether this is the method through which every Keras layer is called."""
    keras = sys.modules.get("keras")
    return hasattr(keras, "layers") and code is _layer_call(keras)


@cache
def _layer_call(keras: Any) -> CodeType | None:
    # What stands in the class is a wrapper of Keras', whose code many methods share.
    return getattr(inspect.unwrap(keras.layers.Layer.__call__), "__code__", None)

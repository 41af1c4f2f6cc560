"""The objects of TensorFlow and Keras that are alive in this process.

They are looked for among all that the garbage collector tracks: hundreds of thousands, which
takes as long as reading the trace of a short cell. So what was found is remembered, weakly: it does
for cells that run no function, read no variable and call no layer that was not among it.
"""

import gc
import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from itertools import compress
from typing import Any
from weakref import ref


class Alive:
    """Objects of interest, each list in the order of the collector."""

    def __init__(self, things: Iterable[Any]) -> None:
        kinds = _kinds()
        found: dict[str, list[Any]] = {name: [] for name in kinds}
        for thing in things:
            for name, types in kinds.items():
                if type(thing) in types:
                    found[name].append(thing)
        self.functions, self.variables = found["functions"], found["variables"]
        self.layers, self.optimizers = found["layers"], found["optimizers"]
        self.metrics = found["metrics"]

    def has(self, functions: set[str], handles: Iterable[Any], layers: Iterable[Any]) -> bool:
        """Tell whether all of these are among them."""
        names = {function.name.decode() for function in self.functions}
        known = {id(variable._handle) for variable in self.variables}
        known |= set(map(id, self.layers))
        return functions <= names and all(id(one) in known for one in (*handles, *layers))


@dataclass
class _Memory:
    """What was found the last time."""

    things: list["ref[Any]"] = field(default_factory=list)
    missing: set[str] = field(default_factory=set)
    """Functions that were asked for, and are no objects."""


_memory = _Memory()


def find_alive(
    functions: Collection[str], handles: Collection[Any], layers: Collection[Any]
) -> Alive:
    """Find what is alive: all there was at some moment when these were there already."""
    asked = {name for name in functions if name.startswith("__")}  # the others are no functions
    remembered = Alive(thing for one in _memory.things if (thing := one()) is not None)
    if remembered.has(asked - _memory.missing, handles, layers):
        return remembered
    # Asking the type, not isinstance: that would call into proxies and lazy modules. No line of
    # Python per object: there are hundreds of thousands.
    wanted = set().union(*_kinds().values())
    everything = gc.get_objects()
    found = list(compress(everything, map(wanted.__contains__, map(type, everything))))
    alive = Alive(found)
    _memory.things = list(map(ref, found))
    _memory.missing = asked - {function.name.decode() for function in alive.functions}
    return alive


def _kinds() -> dict[str, set[type]]:
    from tensorflow.python.eager.polymorphic_function.atomic_function import AtomicFunction
    from tensorflow.python.ops.resource_variable_ops import BaseResourceVariable

    layer, optimizer, metric = _keras_classes()
    return {
        "functions": {AtomicFunction},
        "layers": _with_subclasses(layer),
        "optimizers": _with_subclasses(optimizer),
        "metrics": _with_subclasses(metric),
        "variables": _with_subclasses(BaseResourceVariable),
    }


def _keras_classes() -> tuple[type | None, ...]:
    keras: Any = sys.modules.get("keras")
    if not hasattr(keras, "metrics"):
        return None, None, None
    return keras.layers.Layer, keras.optimizers.Optimizer, keras.metrics.Metric


def _with_subclasses(root: type | None) -> set[type]:
    found: set[type] = set()
    waiting = [] if root is None else [root]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += one.__subclasses__()
    return found

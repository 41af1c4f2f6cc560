"""Find the TensorFlow and Keras objects that are alive in this process.

Searching the hundreds of thousands of objects that the garbage collector tracks takes as long as
reading the trace of a short cell. So the result is remembered, through weak references, and reused
for cells whose functions, variables and layers are all in it.
"""

import gc
import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from itertools import compress
from typing import Any
from weakref import ref


class Alive:
    """The live objects of each kind, in the collector's order."""

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
        """Return whether all these functions, handles and layers are among the objects found."""
        names = {function.name.decode() for function in self.functions}
        known = {id(variable._handle) for variable in self.variables}
        known |= set(map(id, self.layers))
        return functions <= names and all(id(thing) in known for thing in (*handles, *layers))


@dataclass
class _LastSearch:
    """The result of the last search."""

    things: list["ref[Any]"] = field(default_factory=list)
    missing: set[str] = field(default_factory=set)
    """Names of functions for which no object was found."""


_last_search = _LastSearch()


def find_alive(
    functions: Collection[str], handles: Collection[Any], layers: Collection[Any]
) -> Alive:
    """Return the live objects, among them those behind these functions, handles and layers."""
    needed = {name for name in functions if name.startswith("__")}  # other names are ops
    remembered = Alive(thing for weak in _last_search.things if (thing := weak()) is not None)
    if remembered.has(needed - _last_search.missing, handles, layers):
        return remembered
    # By type(), because isinstance would call into proxies and lazy modules; in C, because no line
    # of Python should run for each of hundreds of thousands of objects.
    wanted = set().union(*_kinds().values())
    everything = gc.get_objects()
    found = list(compress(everything, map(wanted.__contains__, map(type, everything))))
    alive = Alive(found)
    _last_search.things = list(map(ref, found))
    _last_search.missing = needed - {function.name.decode() for function in alive.functions}
    return alive


def _kinds() -> dict[str, set[type]]:
    """Return the types of each kind of object."""
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
    """Return Layer, Optimizer and Metric, or None for each if Keras is not imported."""
    keras: Any = sys.modules.get("keras")
    if not hasattr(keras, "metrics"):
        return None, None, None
    return keras.layers.Layer, keras.optimizers.Optimizer, keras.metrics.Metric


def _with_subclasses(root: type | None) -> set[type]:
    found: set[type] = set()
    waiting = [] if root is None else [root]
    while waiting:
        kind = waiting.pop()
        if kind not in found:
            found.add(kind)
            waiting += kind.__subclasses__()
    return found

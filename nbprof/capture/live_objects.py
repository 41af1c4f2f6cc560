"""Find the TensorFlow and Keras objects that are alive in this process.

Searching the hundreds of thousands of objects that the garbage collector tracks takes as long as
reading the trace of a short cell. So the result is remembered, through weak references, and reused
for cells whose functions, variables and layers are all in it.
"""

import gc
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import compress
from typing import Any
from weakref import ref

from nbprof.capture.kerases import Keras, loaded_kerases, subclasses


@dataclass(frozen=True, eq=False, kw_only=True)
class _Kinds:
    """The types of the objects that are searched for."""

    functions: frozenset[type]
    variables: frozenset[type]
    layers: Mapping[type, Keras]
    optimizers: Mapping[type, Keras]
    metrics: Mapping[type, Keras]

    @classmethod
    def now(cls) -> "_Kinds":
        """Return the types that exist at present."""
        from tensorflow.python.eager.polymorphic_function.atomic_function import AtomicFunction
        from tensorflow.python.ops.resource_variable_ops import BaseResourceVariable

        kerases = loaded_kerases()
        return cls(
            functions=frozenset([AtomicFunction]),
            variables=subclasses([BaseResourceVariable]),
            layers={kind: loaded.keras for loaded in kerases for kind in loaded.layers},
            optimizers={kind: loaded.keras for loaded in kerases for kind in loaded.optimizers},
            metrics={kind: loaded.keras for loaded in kerases for kind in loaded.metrics},
        )

    @property
    def all(self) -> frozenset[type]:
        """The types of all kinds."""
        return self.functions.union(self.variables, self.layers, self.optimizers, self.metrics)


class Alive:
    """The live objects of each kind, in the collector's order."""

    def __init__(self, things: Iterable[Any]) -> None:
        self._kinds = kinds = _Kinds.now()
        things = list(things)
        named = ((_name(thing), thing) for thing in things if type(thing) in kinds.functions)
        self.functions = [(name, thing) for name, thing in named if name]
        """The functions, each with its name."""
        self.variables = [
            thing
            for thing in things
            if type(thing) in kinds.variables and hasattr(thing, "_handle")
        ]
        self.layers = [thing for thing in things if type(thing) in kinds.layers]
        self.optimizers = [
            (thing, keras) for thing in things if (keras := kinds.optimizers.get(type(thing)))
        ]
        """The optimizers, each with its Keras."""
        self.metrics = [
            (thing, keras) for thing in things if (keras := kinds.metrics.get(type(thing)))
        ]
        """The metrics, each with its Keras."""

    def keras_of(self, layer: Any) -> Keras | None:
        """Return the Keras that a layer is made with; None for one on another framework."""
        return self._kinds.layers.get(type(layer))

    def has(self, functions: set[str], handles: Iterable[Any], layers: Iterable[Any]) -> bool:
        """Return whether all these functions, handles and layers are among the objects found."""
        known = {id(variable._handle) for variable in self.variables}
        known |= set(map(id, self.layers))
        ours = (layer for layer in layers if self.keras_of(layer) is not None)
        return functions <= self.function_names and all(
            id(thing) in known for thing in (*handles, *ours)
        )

    @property
    def function_names(self) -> set[str]:
        """The names of all functions."""
        return {name for name, _ in self.functions}


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
    wanted = _Kinds.now().all
    everything = gc.get_objects()
    found = list(compress(everything, map(wanted.__contains__, map(type, everything))))
    alive = Alive(found)
    _last_search.things = list(map(ref, found))
    _last_search.missing = needed - alive.function_names
    return alive


def _name(function: Any) -> str:
    """Return the name of a function; empty for one that could not be made."""
    try:
        return str(function.name.decode())
    except AttributeError:
        return ""

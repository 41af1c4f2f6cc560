"""Find the Python objects behind what ran: variables, the functions that hold them, Keras layers.

TensorFlow's trace knows only names, so the objects are searched for after the cell. Like `compat`,
this file uses private parts of TensorFlow.
"""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nbprof.capture.capture import METRICS, OPTIMIZER, STATE, Layer, Model, Variable
from nbprof.capture.live_objects import Alive, find_alive

if TYPE_CHECKING:
    from weakref import ref

    from nbprof.capture.kerases import Keras


@dataclass(frozen=True, eq=False)
class CalledLayer:
    """A layer that was called eagerly and may be gone by now."""

    alive: "ref[Any]"
    name: str
    kind: str


def name_of(layer: Any) -> str:
    """Return the name of a layer, or of its class if the layer cannot say."""
    try:
        return str(layer.name)
    except Exception:  # noqa: BLE001 anybody can write a layer
        return type(layer).__name__


def find_model(
    functions: Collection[str],
    read: Mapping[int, "ref[Any]"],
    called: Iterable["CalledLayer"],
) -> Model:
    """Find the variables that these functions hold or that were `read` eagerly, and all layers.

    `called` are the layers that were called eagerly; they come first, in their order.
    """
    found = ((layer, layer.alive()) for layer in called)
    called_layers = [gone if layer is None else layer for gone, layer in found]
    living = [layer for layer in called_layers if not isinstance(layer, CalledLayer)]
    handles = [handle for weak in read.values() if (handle := weak()) is not None]
    alive = find_alive(functions, handles, living)
    layers = {id(layer): layer for layer in (*called_layers, *alive.layers)}
    variables = _Variables(alive)
    read_layers = [_read(layer, alive, variables) for layer in layers.values()]
    variables.own_the_rest(alive)
    arguments = _find_arguments(functions, alive, variables)
    used = [number for numbers in arguments.values() for number in numbers.values()]
    used += variables.behind(handles)
    described = _describe_layers(read_layers, list(layers), variables)
    return Model(
        variables=tuple(variables.described),  # complete only after the layers are described
        layers=described,
        used=tuple(set(used)),
        arguments=arguments,
        signatures=_find_signatures(alive),
    )


def _find_arguments(
    functions: Collection[str], alive: Alive, variables: "_Variables"
) -> dict[str, dict[str, int]]:
    """Return which arguments of the functions are which variables."""
    arguments = {}
    for name, function in alive.functions:
        graph = function._cached_graph
        if name in functions and graph is not None:
            arguments[name] = variables.arguments(function.cached_definition, graph)
    return arguments


@dataclass(eq=False)
class _ReadLayer:
    """What a layer tells about itself: little if it is gone, broken or on another framework."""

    name: str
    kind: str
    sublayers: list[Any] = field(default_factory=list)
    weights: list[Any] = field(default_factory=list)
    """The TensorFlow variables behind its parameters."""
    states: list[Any] = field(default_factory=list)
    """The TensorFlow variables in which it counts and draws."""
    problem: str = ""
    """The error in reading it."""


def _read(layer: Any, alive: Alive, variables: "_Variables") -> _ReadLayer:
    """Read a layer as far as possible."""
    if isinstance(layer, CalledLayer):
        return _ReadLayer(layer.name, layer.kind)
    keras = alive.keras_of(layer)
    found = _ReadLayer(name_of(layer), type(layer).__name__)
    if keras is None:
        return found
    try:
        found.sublayers = list(keras.sublayers(layer))
        found.weights = variables.own(keras, layer, keras.weights(layer), "")
        found.states = variables.own(keras, layer, keras.states(layer), STATE)
    except Exception as error:  # noqa: BLE001 anybody can write a layer
        found.problem = f"{type(error).__name__}: {error}"
    return found


def _describe_layers(
    layers: list[_ReadLayer], ids: list[int], variables: "_Variables"
) -> tuple[Layer, ...]:
    """Describe layers in terms of numbers; `ids` are the ids of the layers that were read."""
    number = {key: place for place, key in enumerate(ids)}
    return tuple(
        Layer(
            name=layer.name,
            kind=layer.kind,
            sublayers=tuple(number[id(inner)] for inner in layer.sublayers if id(inner) in number),
            weights=tuple(map(variables.number, layer.weights)),
            states=tuple(map(variables.number, layer.states)),
            problem=layer.problem,
        )
        for layer in layers
    )


def _find_signatures(alive: Alive) -> dict[str, dict[str, str]]:
    """Return the types that functions were traced for, by function and parameter."""
    return {
        name: _signature(function.function_type)
        for name, function in alive.functions
        if name.startswith("__inference_")
    }


def _signature(function_type: Any) -> dict[str, str]:
    return {
        name: _spell(parameter.type_constraint)
        for name, parameter in function_type.parameters.items()
        if name != "self"
    }


def _spell(kind: Any) -> str:
    """Write a type as a reader expects it: `float32[32, 8]`, `3`."""
    if hasattr(kind, "dtype") and hasattr(kind, "shape"):
        dims = "?" if kind.shape.rank is None else str(kind.shape.as_list())
        return f"{kind.dtype.name}{dims}".replace("None", "?")
    return repr(kind.value) if hasattr(kind, "value") else str(kind)


@dataclass(frozen=True, eq=False)
class _Owned:
    """What Keras calls a TensorFlow variable; the replicas of a variable share one of these."""

    name: str
    trainable: bool
    role: str


class _Variables:
    """Numbers variables; a Keras variable and the TensorFlow variables it wraps are one."""

    def __init__(self, alive: Alive) -> None:
        self.described: list[Variable] = []
        self._number: dict[int, int] = {}
        self._variable_of_handle = {id(variable._handle): variable for variable in alive.variables}
        self._owned: dict[int, _Owned] = {}

    def own(self, keras: "Keras", owner: Any, variables: Iterable[Any], role: str) -> list[Any]:
        """Return the TensorFlow variables behind Keras variables, and remember whose they are.

        Variables without a value, or with one of another framework, have none.
        """
        first = []
        for variable in variables:
            replicas = _replicas(keras.value(variable))
            if replicas:
                owned = _Owned(keras.path(variable), keras.is_trainable(owner, variable), role)
                self._owned |= {id(one): self._owned.get(id(one), owned) for one in replicas}
                first.append(replicas[0])
        return first

    def own_the_rest(self, alive: Alive) -> None:
        """Remember which variables belong to optimizers and metrics."""
        for role, owners in ((OPTIMIZER, alive.optimizers), (METRICS, alive.metrics)):
            for owner, keras in owners:
                with suppress(Exception):  # anybody can write an optimizer or a metric
                    self.own(keras, owner, keras.variables(owner), role)

    def arguments(self, definition: Any, graph: Any) -> dict[str, int]:
        """Return which arguments of a function are which variables."""
        outside = {id(inside): outside for outside, inside in graph.captures}
        found = {}
        for argument, inside in zip(definition.signature.input_arg, graph.inputs, strict=False):
            variable = self._variable_of_handle.get(id(outside.get(id(inside))))
            if variable is not None:
                found[argument.name] = self.number(variable)
        return found

    def behind(self, handles: Iterable[Any]) -> list[int]:
        """Return the numbers of the variables behind these handles that are still alive."""
        found = (self._variable_of_handle.get(id(handle)) for handle in handles)
        return [self.number(variable) for variable in found if variable is not None]

    def number(self, variable: Any) -> int:
        """Return the number of a TensorFlow variable; describe it the first time."""
        owned = self._owned.get(id(variable))
        number = self._number.setdefault(id(owned or variable), len(self.described))
        if number == len(self.described):
            known = variable.shape.is_fully_defined()
            self.described.append(
                Variable(
                    name=owned.name if owned else variable.name.partition(":")[0],
                    dims=tuple(variable.shape.as_list()) if known else None,
                    trainable=owned.trainable if owned else bool(variable.trainable),
                    role=owned.role if owned else "",
                    itemsize=int(variable.dtype.size),
                )
            )
        return number


def _replicas(value: Any) -> list[Any]:
    """Return the TensorFlow variables in the value of a Keras variable, one for each replica."""
    from tensorflow.python.ops.variables import Variable as TensorFlowVariable

    values = getattr(value, "values", None)
    replicas = values if isinstance(values, tuple) else (value,)
    return [replica for replica in replicas if isinstance(replica, TensorFlowVariable)]

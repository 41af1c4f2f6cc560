"""Find the Python objects behind what ran: variables, the functions that hold them, Keras layers.

TensorFlow's trace knows only names, so the objects are searched for after the cell. Like `compat`,
this file uses private parts of TensorFlow and Keras.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbprof.capture.capture import METRICS, OPTIMIZER, STATE, Layer, Model, Variable
from nbprof.capture.live_objects import Alive, find_alive

if TYPE_CHECKING:
    from weakref import ref


@dataclass(frozen=True, eq=False)
class CalledLayer:
    """A layer that was called eagerly and may be gone by now."""

    alive: "ref[Any]"
    name: str
    kind: str


def find_model(
    functions: Collection[str],
    read: Mapping[int, "ref[Any]"],
    called: Iterable["CalledLayer"],
) -> Model:
    """Find the variables that these functions hold or that were `read` eagerly, and all layers.

    `called` are the layers that were called eagerly; they come first, in their order.
    """
    called_layers = [layer.alive() or layer for layer in called]
    living = [layer for layer in called_layers if not isinstance(layer, CalledLayer)]
    handles = [handle for weak in read.values() if (handle := weak()) is not None]
    alive = find_alive(functions, handles, living)
    layers = list(dict.fromkeys([*called_layers, *alive.layers]))
    variables = _Variables(alive, layers)
    arguments = _find_arguments(functions, alive, variables)
    used = [number for numbers in arguments.values() for number in numbers.values()]
    used += variables.behind(handles)
    described = _describe_layers(layers, variables)
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
    for function in alive.functions:
        name = function.name.decode()
        graph = function._cached_graph
        if name in functions and graph is not None:
            arguments[name] = variables.arguments(function.cached_definition, graph)
    return arguments


def _describe_layers(layers: list[Any], variables: "_Variables") -> tuple[Layer, ...]:
    number = {layer: place for place, layer in enumerate(layers)}
    return tuple(
        Layer(
            name=str(layer.name),
            kind=layer.kind if isinstance(layer, CalledLayer) else type(layer).__name__,
            sublayers=tuple(number[below] for below in _sublayers(layer) if below in number),
            weights=variables.numbers(_weights(layer)),
            states=variables.numbers(_states(layer)),
        )
        for layer in layers
    )


def _find_signatures(alive: Alive) -> dict[str, dict[str, str]]:
    """Return the types that functions were traced for, by function and parameter."""
    return {
        function.name.decode(): _signature(function.function_type)
        for function in alive.functions
        if function.name.startswith(b"__inference_")
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


def _sublayers(layer: Any) -> list[Any]:
    return list(getattr(layer, "_layers", ()))


def _weights(layer: Any) -> list[Any]:
    if isinstance(layer, CalledLayer):
        return []
    return [*layer._trainable_variables, *layer._non_trainable_variables]


def _states(layer: Any) -> list[Any]:
    """Return the variables of a layer's random generators, which are not parameters."""
    return [generator.state for generator in getattr(layer, "_seed_generators", ())]


class _Variables:
    """Numbers variables; a Keras variable and the TensorFlow variables it wraps are one."""

    def __init__(self, alive: Alive, layers: Iterable[Any]) -> None:
        self.described: list[Variable] = []
        self._number: dict[int, int] = {}
        self._variable_of_handle = {id(variable._handle): variable for variable in alive.variables}
        self._keras: dict[int, tuple[Any, str]] = {}
        for layer in layers:
            self._assign(_weights(layer), "")
            self._assign(_states(layer), STATE)
        for optimizer in alive.optimizers:
            self._assign(optimizer.variables, OPTIMIZER)
        for metric in alive.metrics:
            self._assign(metric.variables, METRICS)

    def _assign(self, variables: Iterable[Any], role: str) -> None:
        """Remember which Keras variable each TensorFlow variable belongs to, and its role."""
        for variable in variables:
            for part in _parts(variable):
                self._keras.setdefault(id(part), (variable, role))

    def numbers(self, keras_variables: Iterable[Any]) -> tuple[int, ...]:
        """Return the numbers of Keras variables; those without a value have none."""
        parts = (_parts(variable)[:1] for variable in keras_variables)
        return tuple(self._add(part) for (part,) in filter(None, parts))

    def arguments(self, definition: Any, graph: Any) -> dict[str, int]:
        """Return which arguments of a function are which variables."""
        outside = {id(inside): outside for outside, inside in graph.captures}
        found = {}
        for argument, inside in zip(definition.signature.input_arg, graph.inputs, strict=False):
            variable = self._variable_of_handle.get(id(outside.get(id(inside))))
            if variable is not None:
                found[argument.name] = self._add(variable)
        return found

    def behind(self, handles: Iterable[Any]) -> list[int]:
        """Return the numbers of the variables behind these handles that are still alive."""
        found = (self._variable_of_handle.get(id(handle)) for handle in handles)
        return [self._add(variable) for variable in found if variable is not None]

    def _add(self, variable: Any) -> int:
        """Return the number of a TensorFlow variable; describe it the first time."""
        keras, role = self._keras.get(id(variable), (None, ""))
        whole = variable if keras is None else keras
        number = self._number.setdefault(id(whole), len(self.described))
        if number == len(self.described):
            known = variable.shape.is_fully_defined()
            self.described.append(
                Variable(
                    name=keras.path if keras is not None else variable.name.partition(":")[0],
                    dims=tuple(variable.shape.as_list()) if known else None,
                    trainable=bool(whole.trainable),
                    role=role,
                    itemsize=int(variable.dtype.size),
                )
            )
        return number


def _parts(variable: Any) -> list[Any]:
    """Return the TensorFlow variables behind a Keras variable, one for each replica."""
    value = getattr(variable, "_value", None)
    if value is None:
        return []
    return list(getattr(value, "values", ())) or [value]

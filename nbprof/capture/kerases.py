"""Keras 3 and Keras 2: the files they consist of, and how to read their layers.

Keras 2 is `tf.keras` up to TensorFlow 2.15, `tf_keras`, and an old copy inside TensorFlow. Its
variables are TensorFlow's own, where Keras 3 wraps them; its metrics are layers; a layer lists the
variables of its sublayers with its own. No other file knows which Keras a layer belongs to.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from nbprof.capture.capture import LOSS, METRICS, OPTIMIZER

TENSORFLOW = "tensorflow"
"""The backend that nbprof sees."""
FOREIGN = ("jax", "torch", "numpy", "openvino")
"""The other backends of Keras 3."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Keras:
    """A generation of Keras; files are named without suffix, relative to one of its roots."""

    roots: tuple[str, ...]
    """Folders that may contain its source, relative to those that Python searches."""
    layer: tuple[str, str]
    """File and name of the class of all layers."""
    metric: tuple[str, str]
    """File and name of the class of all metrics."""
    optimizers: tuple[tuple[str, str], ...]
    """Files and names of the classes of all optimizers, in any release."""
    layer_calls: tuple[str, ...]
    """Files whose function `__call__` calls a layer."""
    parts: Mapping[str, str]
    """The part of training that each of these files and folders does."""
    backend: Callable[[], str]
    """Returns the name of the framework that its layers run on."""
    sublayers: Callable[[Any], Iterable[Any]]
    """Returns the layers directly inside a layer."""
    weights: Callable[[Any], list[Any]]
    """Returns the variables that belong to a layer itself, not to its sublayers."""
    states: Callable[[Any], list[Any]]
    """Returns the variables in which a layer counts and draws, which are not parameters."""
    variables: Callable[[Any], Iterable[Any]]
    """Returns the variables of an optimizer or a metric; values of other types do not count."""
    is_trainable: Callable[[Any, Any], bool]
    """Returns whether training changes a variable of a layer, an optimizer or a metric."""
    path: Callable[[Any], str]
    """Returns the full name of a variable."""
    value: Callable[[Any], Any]
    """Returns the TensorFlow variable, distributed or not, behind a variable; None without one."""


COUNTERS = ("_train_counter", "_test_counter", "_predict_counter", "_steps_per_execution")
"""Attributes of a Keras 2 model with the variables in which it counts steps."""


def _own_weights(layer: Any) -> list[Any]:
    """Return those of a Keras 2 layer's variables that none of its sublayers has."""
    try:
        of_sublayers = [variable for inner in _flat_sublayers(layer) for variable in inner.weights]
        others = set(map(id, of_sublayers))
        return [variable for variable in layer.weights if id(variable) not in others]
    except Exception:  # noqa: BLE001 a layer inside raises, such as a model that is not built
        return [*layer._trainable_weights, *layer._non_trainable_weights]


def _flat_sublayers(layer: Any) -> Iterator[Any]:
    found: Iterator[Any] = layer._flatten_layers(recursive=False, include_self=False)
    return found


def _states(layer: Any) -> list[Any]:
    """Return the state of a Keras 2 layer's random generator, and the counters of a model."""
    generator = getattr(getattr(layer, "_random_generator", None), "_generator", None)
    return [getattr(generator, "state", None), *(getattr(layer, name, None) for name in COUNTERS)]


def _variables(owner: Any) -> list[Any]:
    """Return the variables of an optimizer or a metric of Keras 2, with the learning rate."""
    listed = owner.variables
    rates = (getattr(owner, "_learning_rate", None), *getattr(owner, "_hyper", {}).values())
    return [*(listed() if callable(listed) else listed), *rates]  # old optimizers have a method


KERAS_3 = Keras(
    roots=("keras/src",),
    layer=("layers/layer", "Layer"),
    metric=("metrics", "Metric"),
    optimizers=(
        ("optimizers/base_optimizer", "BaseOptimizer"),
        ("optimizers/optimizer", "Optimizer"),
    ),
    layer_calls=("layers/layer",),
    parts={
        "metrics": METRICS,
        "optimizers": OPTIMIZER,
        "losses": LOSS,
        "trainers/compile_utils": LOSS,
    },
    backend=lambda: str(sys.modules["keras.src.backend.config"].backend()),
    sublayers=lambda layer: getattr(layer, "_layers", ()),
    weights=lambda layer: [*layer._trainable_variables, *layer._non_trainable_variables],
    states=lambda layer: [seeds.state for seeds in getattr(layer, "_seed_generators", ())],
    variables=lambda owner: owner.variables,
    is_trainable=lambda _, variable: bool(variable.trainable),
    path=lambda variable: str(variable.path),
    value=lambda variable: getattr(variable, "_value", None),
)

KERAS_2 = Keras(
    roots=("keras/src", "tf_keras/src", "tensorflow/python/keras"),
    layer=("engine/base_layer", "Layer"),
    metric=("metrics", "Metric"),
    optimizers=(
        ("optimizers/optimizer", "_BaseOptimizer"),
        ("optimizers/legacy/optimizer_v2", "OptimizerV2"),
        ("optimizer_v2/optimizer_v2", "OptimizerV2"),
    ),
    layer_calls=("engine/base_layer", "engine/base_layer_v1"),
    parts={
        "metrics": METRICS,
        "optimizers": OPTIMIZER,
        "optimizer_v2": OPTIMIZER,
        "mixed_precision/loss_scale_optimizer": OPTIMIZER,
        "losses": LOSS,
        "engine/compile_utils": LOSS,
    },
    backend=lambda: TENSORFLOW,
    sublayers=_flat_sublayers,
    weights=_own_weights,
    states=_states,
    variables=_variables,
    # Freezing a layer leaves the flags of its variables alone.
    is_trainable=lambda owner, variable: bool(
        variable.trainable and getattr(owner, "trainable", True)
    ),
    path=lambda variable: str(variable.name).partition(":")[0],
    # With mixed precision, variables are wrapped.
    value=lambda variable: getattr(variable, "_variable", variable),
)

KERASES = (KERAS_3, KERAS_2)

ROOTS = tuple(dict.fromkeys(root for keras in KERASES for root in keras.roots))
"""Folders that may contain the source of a Keras."""

_SOURCE = re.compile(rf"(?:.*/)?(?:{'|'.join(ROOTS)})/(?P<file>.+)")
_LAYER_CALLS = frozenset(file for keras in KERASES for file in keras.layer_calls)
_PARTS = {place: part for keras in KERASES for place, part in keras.parts.items()}


def is_layer_call(place: str, function: str) -> bool:
    """Return whether a frame calls a Keras layer, given its file or module and its function."""
    return function == "__call__" and _file_in_keras(place) in _LAYER_CALLS


@cache
def part_of(place: str) -> str:
    """Return the part of training that a file or module of Keras does; empty for others."""
    file = _file_in_keras(place)
    while file and file not in _PARTS:
        file = file.rpartition("/")[0]
    return _PARTS.get(file, "")


@cache
def _file_in_keras(place: str) -> str:
    """Return the place of a file or module in the source of its Keras; empty if it has none."""
    is_path = place.endswith(".py")
    path = place[:-3].replace("\\", "/") if is_path else place.replace(".", "/")
    found = _SOURCE.fullmatch(path)
    return found["file"] if found else ""


def backend_of(place: str) -> str:
    """Return the framework that a file of Keras makes it run on; empty for other files."""
    folder, _, rest = _file_in_keras(place).partition("/")
    name = rest.partition("/")[0]
    return name if folder == "backend" and name in FOREIGN else ""


def foreign_backend() -> str:
    """Return the framework that Keras runs on if it is loaded; empty if that is TensorFlow."""
    if _class(KERAS_3.roots[0], KERAS_3.layer) is None:
        return ""
    backend = KERAS_3.backend()
    return "" if backend == TENSORFLOW else backend


@dataclass(frozen=True, eq=False, kw_only=True)
class LoadedKeras:
    """A Keras that this process has imported, with all its classes and those derived from them."""

    keras: Keras
    layers: frozenset[type]
    optimizers: frozenset[type]
    metrics: frozenset[type]


def loaded_kerases() -> list[LoadedKeras]:
    """Return the Kerases that this process has imported and that run on TensorFlow."""
    return [
        _loaded(keras, root)
        for keras in KERASES
        for root in keras.roots
        if _class(root, keras.layer) is not None and keras.backend() == TENSORFLOW
    ]


def _loaded(keras: Keras, root: str) -> LoadedKeras:
    metrics = subclasses([_class(root, keras.metric)])
    return LoadedKeras(
        keras=keras,
        layers=subclasses([_class(root, keras.layer)]) - metrics,
        optimizers=subclasses(_class(root, kind) for kind in keras.optimizers),
        metrics=metrics,
    )


def _class(root: str, kind: tuple[str, str]) -> type | None:
    file, name = kind
    found = getattr(sys.modules.get(f"{root}/{file}".replace("/", ".")), name, None)
    return found if isinstance(found, type) else None


def subclasses(roots: Iterable[type | None]) -> frozenset[type]:
    """Return these classes and all that are derived from them."""
    found: set[type] = set()
    waiting = [root for root in roots if root is not None]
    while waiting:
        kind = waiting.pop()
        if kind not in found:
            found.add(kind)
            waiting += type.__subclasses__(kind)
    return frozenset(found)

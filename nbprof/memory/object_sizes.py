"""Find how many bytes an object holds, with everything it keeps alive.

Arrays count with their data, and shared data counts once. DataFrames count with their
texts; tensors, variables and models with what TensorFlow holds for them. Modules, classes and the
internals of TensorFlow and the notebook are not followed.
"""

import gc
import math
import sys
import time
from collections.abc import Callable, Iterable
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from nbprof.memory.counted_once import CountedObjects, CountedRanges, shallow_size
from nbprof.memory.tensor_sizes import (
    has_parts,
    is_machinery,
    parts_of,
    tensor_address,
    tensor_bytes,
    tensor_class,
    variable_class,
)

NOT_FOLLOWED = (ModuleType, type, CodeType, FrameType, BuiltinFunctionType)
"""Types whose objects are neither sized nor followed."""
PLAIN = {str, bytes, int, float, complex, bool, type(None)}
"""Types whose objects refer to nothing else."""
BULK_SIZE = 1000
"""Size at least this many plain objects together, with numpy."""
LEAST_SAMPLE = 100
"""Extrapolate a list only if at least this many of its elements have been sized."""
MOST_ELEMENTS = 100_000
"""Size at most this many elements of an array of objects."""
CLOCK_EVERY = 512
"""Check the clock once per this many objects."""
NEVER = math.inf


Sizing = tuple[int, list[Any], bool]
"""An object's own bytes, the objects to follow from it, and whether the bytes are exact."""


class Sizer:
    """Sizes objects, each once, for at most `seconds`; objects in `beyond` are not followed."""

    def __init__(self, seconds: float, beyond: Iterable[Any] = ()) -> None:
        self._counts: dict[type, list[int]] = {}
        """Number of objects and their bytes in the object added last."""
        self.shares = False
        """Whether the object added last shares something with what was counted before it."""
        self.late_at = NEVER
        """How many objects of the one added last had been met when the time was up."""
        self._met = 0
        self._most = NEVER
        """How many objects to meet, if a number was given instead of the time."""
        self._deadline = time.perf_counter() + seconds
        self._seen: set[int] = set()
        self._beyond = frozenset(map(id, beyond))
        self._ranges = CountedRanges()
        self._objects = CountedObjects()
        self._methods: dict[type, Callable[[Any], Sizing]] = {}
        """How to size objects of each type."""
        self._temporaries: list[Any] = []
        """Objects made for sizing, kept alive so that no other object gets their ids."""

    def fresh(self) -> "Sizer":
        """Return another Sizer that has counted nothing and has the time this one has left."""
        fresh = Sizer(self._deadline - time.perf_counter())
        fresh._beyond = self._beyond
        return fresh

    @property
    def by_type(self) -> dict[str, tuple[int, int]]:
        """Number of objects and their bytes in the object added last, by the name of their type."""
        named: dict[str, tuple[int, int]] = {}
        for kind, (count, size) in self._counts.items():
            name = type_name(kind)
            before = named.get(name, (0, 0))
            named[name] = (before[0] + count, before[1] + size)
        return named

    def add(self, value: Any, most: float = NEVER) -> tuple[int, bool]:
        """Return the bytes an object adds to what was counted, and whether they are exact.

        `most` is the `late_at` of an earlier Sizer: given that, the time does not matter, and an
        object that has not changed has the same size, even if it is an estimate.
        """
        total, exact = 0, True
        self._counts = {}
        self.shares, self.late_at, self._met, self._most = False, NEVER, 0, most
        seen, left = self._seen, [value]
        while left:
            each = left.pop()
            number, kind = id(each), type(each)
            self._met += 1
            if self._met % CLOCK_EVERY == 0 and self._is_late():
                return _extrapolated(value, total, len(left) + 1), False
            if number in seen:
                self.shares |= kind not in PLAIN
                continue
            if isinstance(each, NOT_FOLLOWED) or number in self._beyond:
                continue
            seen.add(number)
            size, further, is_exact = self._size(each)
            exact &= is_exact
            total += size
            self._count(kind, 1, size)
            if len(further) >= BULK_SIZE:
                further, plain = self._without_plain(further)
                total += plain
            left += further
        return total, exact

    def _count(self, kind: type, objects: int, size: int) -> None:
        counted = self._counts.get(kind)
        if counted is None:
            self._counts[kind] = [objects, size]
        else:
            counted[0] += objects
            counted[1] += size

    def _without_plain(self, values: list[Any]) -> tuple[list[Any], int]:
        """Size a list of only plain objects in bulk; return what is left to follow, and bytes."""
        if not set(map(type, values)) <= PLAIN:
            return values, 0
        import numpy as np

        objects = np.empty(len(values), dtype=object)
        objects[:] = values
        found, _ = self._objects.add(objects, self._is_late)
        for kind, (count, size) in found.items():
            self._count(kind, count, size)
        return [], sum(size for _, size in found.values())

    def _is_late(self) -> bool:
        timed = self._most == NEVER
        late = time.perf_counter() > self._deadline if timed else self._met >= self._most
        if late:
            self.late_at = min(self.late_at, self._met)
        return late

    def _size(self, value: Any) -> Sizing:
        if type(value) in PLAIN:
            return sys.getsizeof(value), [], True
        method = self._methods.get(type(value))
        if method is None:
            method = self._methods[type(value)] = self._method_for(value)
        return method(value)

    def _method_for(self, value: Any) -> Callable[[Any], Sizing]:
        """Choose how to size objects of this type."""
        data_methods = (self._array, self._table, self._column, self._tensor)
        for kinds, method in zip(_data_classes(), data_methods, strict=True):
            if kinds and isinstance(value, kinds):
                return method
        if has_parts(value):
            return self._parts
        if is_machinery(value):
            return self._alone
        return self._function if isinstance(value, FunctionType) else self._other

    def _parts(self, value: Any) -> Sizing:
        parts = parts_of(value)
        self._temporaries.append(parts)
        return shallow_size(value), list(parts or ()), True

    def _function(self, value: Any) -> Sizing:
        return shallow_size(value), [value.__closure__, value.__defaults__, value.__dict__], True

    def _alone(self, value: Any) -> Sizing:
        return shallow_size(value), [], True

    def _other(self, value: Any) -> Sizing:
        size = shallow_size(value)
        further = gc.get_referents(value)  # whether it is tracked changes with each collection
        if not further and isinstance(nbytes := _attribute(value, "nbytes"), int):
            size = max(size, nbytes)  # an array of another library
        return size, further, True

    def _new_bytes(self, start: int, size: int) -> int:
        """Return how many bytes of a range of memory were not counted before."""
        new = self._ranges.add(start, size)
        self.shares |= new < size
        return new

    def _array(self, array: Any) -> Sizing:
        import numpy as np

        owner = _owner(array)
        header = sys.getsizeof(array) - (array.nbytes if array.base is None else 0)
        if isinstance(array, np.memmap) or isinstance(owner, np.memmap):
            return header, [], True  # its data belongs to a file
        size = max(0, header) + self._new_bytes(*_bounds(owner))
        if not array.dtype.hasobject:
            return size, [], True
        elements = array.ravel()[:MOST_ELEMENTS].tolist()
        self._temporaries.append(elements)
        if array.size <= MOST_ELEMENTS:
            return size, elements, True
        mean = sum(map(sys.getsizeof, elements)) / len(elements)
        return size + int(mean * array.size), [], False

    def _table(self, table: Any) -> Sizing:
        columns = [self._column_data(table.iloc[:, number]) for number in range(table.shape[1])]
        size = shallow_size(table.index) + sum(size for size, _ in columns)
        return size, [], all(exact for _, exact in columns)

    def _column(self, column: Any) -> Sizing:
        index = getattr(column, "index", None)
        size, exact = self._column_data(column)
        return size + (shallow_size(index) if index is not None else 0), [], exact

    def _column_data(self, column: Any) -> tuple[int, bool]:
        """Size a column's data and each distinct text in it, unless they were counted before."""
        import numpy as np

        objects = getattr(column.array, "_ndarray", None)  # numpy-backed arrays have one
        if isinstance(objects, np.ndarray) and objects.dtype == object:
            texts, exact = self._objects.add(objects, self._is_late)
            self.shares |= self._objects.met_known
            size = sum(size for _, size in texts.values())
            return self._new_bytes(*_bounds(_owner(objects))) + size, exact
        settings = {"index": False} if hasattr(column, "index") else {}
        deep = int(column.memory_usage(deep=True, **settings))
        if not isinstance(column.dtype, np.dtype):
            return deep, True
        data = column.to_numpy(copy=False)
        rest = deep - int(data.nbytes)
        if rest < 0:  # the array was made just now, such as the numbers of a range
            return deep, True
        return rest + self._new_bytes(*_bounds(_owner(data))), True

    def _tensor(self, tensor: Any) -> Sizing:
        size = tensor_bytes(tensor) or 0
        has_texts = getattr(tensor.dtype, "name", "") == "string"
        address = None if has_texts else tensor_address(tensor)
        if address is not None:
            size = self._new_bytes(address, size)
        return shallow_size(tensor) + size, [], not has_texts


def _extrapolated(value: Any, total: int, left: int) -> int:
    """Extrapolate a long list from the elements sized so far; otherwise return their total."""
    if not isinstance(value, list | tuple) or len(value) - left < LEAST_SAMPLE:
        return total
    own = shallow_size(value)
    return own + round((total - own) * len(value) / (len(value) - left))


def owns_data(value: Any) -> bool:
    """Return whether an object is an array, a table, a tensor or made of tensors."""
    return any(kinds and isinstance(value, kinds) for kinds in _data_classes()) or has_parts(value)


def _data_classes() -> Iterable[Any]:
    """Yield the classes of arrays, tables, columns and tensors of the libraries in use."""
    numpy, pandas = sys.modules.get("numpy"), sys.modules.get("pandas")
    yield _member(numpy, "ndarray")
    yield _member(pandas, "DataFrame")
    yield tuple(kind for kind in (_member(pandas, "Series"), _member(pandas, "Index")) if kind)
    yield tuple(kind for kind in (tensor_class(), variable_class()) if kind)


def _owner(array: Any) -> Any:
    """Return the array that owns the data of a view."""
    import numpy as np

    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _bounds(array: Any) -> tuple[int, int]:
    """Return the address of an array and the bytes it spans."""
    import numpy as np

    module = getattr(np.lib, "array_utils", np)  # numpy 2 moved byte_bounds there
    low, high = module.byte_bounds(array)
    return low, high - low


def _member(module: ModuleType | None, name: str) -> Any:
    return getattr(module, name, None)


def _attribute(value: Any, name: str) -> Any:
    try:
        return getattr(value, name, None)
    except Exception:  # noqa: BLE001 anybody's class may define the property
        return None


def type_name(kind: type) -> str:
    """Return a type's name as users know it: without the inner modules of large libraries."""
    module = str(kind.__module__)
    if module == "builtins":
        return kind.__qualname__
    if module.partition(".")[0] in ("tensorflow", "keras", "pandas", "numpy"):
        module = module.partition(".")[0]
    return f"{module}.{kind.__qualname__}"

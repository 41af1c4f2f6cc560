"""How many bytes an object holds, with everything that only it leads to.

Arrays count with their data, data that several share counts once, DataFrames with their texts,
tensors, variables and models with what TensorFlow holds for them. Modules, classes and TensorFlow's
own machinery are not followed.
"""

import gc
import sys
import time
from collections.abc import Callable, Iterable
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from nbprof.memory.buffers import Buffers
from nbprof.memory.shared_objects import Distinct
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
PLAIN = {str, bytes, int, float, complex, bool, type(None)}
"""Types whose objects lead nowhere."""
MANY = 1000
"""Lists of more plain objects than this are added up in one go."""
FEW = 100
"""So many elements of a list are needed to tell what the others hold."""
SAMPLED = 100_000
"""Of an array of more objects than this, so many are looked at."""
LOOKS = 512
"""The clock is looked at once in so many objects."""


Looked = tuple[int, list[Any], bool]
"""An object's own bytes, what it leads to, and whether the bytes are exact."""


class Sizer:
    """Adds objects up, each once, for at most `seconds`; those `beyond` are not followed."""

    def __init__(self, seconds: float, beyond: Iterable[Any] = ()) -> None:
        self._counts: dict[type, list[int]] = {}
        self.shares = False
        """Whether what was last added leads to something that was counted before."""
        self._until = time.perf_counter() + seconds
        self._seen: set[int] = set()
        self._beyond = frozenset(map(id, beyond))
        self._buffers = Buffers()
        self._distinct = Distinct()
        self._ways: dict[type, Callable[[Any], Looked]] = {}
        """How objects of each type are looked at."""
        self._made: list[Any] = []
        """Objects that were made only to look at them; their ids must not be used again."""

    def afresh(self) -> "Sizer":
        """Give another that has counted nothing, and the time that is left."""
        fresh = Sizer(self._until - time.perf_counter())
        fresh._beyond = self._beyond
        return fresh

    @property
    def by_type(self) -> dict[str, tuple[int, int]]:
        """How many objects of each type, and their bytes."""
        named: dict[str, tuple[int, int]] = {}
        for kind, (count, size) in self._counts.items():
            name = type_name(kind)
            before = named.get(name, (0, 0))
            named[name] = (before[0] + count, before[1] + size)
        return named

    def add(self, value: Any) -> tuple[int, bool]:
        """Give the bytes that an object adds, and whether they are all exact."""
        total, exact, looked = 0, True, 0
        self.shares = False
        seen, left = self._seen, [value]
        while left:
            each = left.pop()
            number, kind = id(each), type(each)
            if number in seen:
                self.shares |= kind not in PLAIN
                continue
            if isinstance(each, NOT_FOLLOWED) or number in self._beyond:
                continue
            seen.add(number)
            looked += 1
            if looked % LOOKS == 0 and self._late():
                return _extrapolated(value, total, len(left)), False
            size, further, is_exact = self._look(each)
            exact &= is_exact
            total += size
            self._count(kind, 1, size)
            if len(further) >= MANY:
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
        """Add up a long list of plain objects at once; give what is left to follow."""
        if not set(map(type, values)) <= PLAIN:
            return values, 0
        import numpy as np

        objects = np.empty(len(values), dtype=object)
        objects[:] = values
        found, _ = self._distinct.add(objects, self._late)
        for kind, (count, size) in found.items():
            self._count(kind, count, size)
        return [], sum(size for _, size in found.values())

    def _late(self) -> bool:
        return time.perf_counter() > self._until

    def _look(self, value: Any) -> Looked:
        if type(value) in PLAIN:
            return sys.getsizeof(value), [], True
        look = self._ways.get(type(value))
        if look is None:
            look = self._ways[type(value)] = self._way(value)
        return look(value)

    def _way(self, value: Any) -> Callable[[Any], Looked]:
        """Choose how objects of this type are looked at."""
        for kinds, look in self._special():
            if kinds and isinstance(value, kinds):
                return look
        if has_parts(value):
            return self._parts
        if is_machinery(value):
            return self._shallowly
        return self._function if isinstance(value, FunctionType) else self._other

    def _parts(self, value: Any) -> Looked:
        parts = parts_of(value)
        self._made.append(parts)
        return _shallow(value), list(parts or ()), True

    def _function(self, value: Any) -> Looked:
        return _shallow(value), [value.__closure__, value.__defaults__, value.__dict__], True

    def _shallowly(self, value: Any) -> Looked:
        return _shallow(value), [], True

    def _other(self, value: Any) -> Looked:
        size = _shallow(value)
        further = gc.get_referents(value) if gc.is_tracked(value) else []
        if not further and isinstance(held := _attribute(value, "nbytes"), int):
            size = max(size, held)  # an array of some other library
        return size, further, True

    def _special(self) -> Iterable[tuple[Any, Callable[[Any], Looked]]]:
        looks = (self._array, self._table, self._column, self._tensor)
        return zip(_data_classes(), looks, strict=True)

    def _new(self, start: int, size: int) -> int:
        """Give how many bytes of a stretch of memory were not counted before."""
        new = self._buffers.add(start, size)
        self.shares |= new < size
        return new

    def _array(self, array: Any) -> Looked:
        import numpy as np

        owner = _owner(array)
        header = sys.getsizeof(array) - (array.nbytes if array.base is None else 0)
        if isinstance(array, np.memmap) or isinstance(owner, np.memmap):
            return header, [], True  # its data is a file's
        size = max(0, header) + self._new(*_bounds(owner))
        if not array.dtype.hasobject:
            return size, [], True
        flat = array.ravel()[:SAMPLED].tolist()
        self._made.append(flat)
        if array.size <= SAMPLED:
            return size, flat, True
        sampled = sum(map(sys.getsizeof, flat)) / len(flat)
        return size + int(sampled * array.size), [], False

    def _table(self, table: Any) -> Looked:
        found = [self._column_data(table.iloc[:, number]) for number in range(table.shape[1])]
        size = _shallow(table.index) + sum(size for size, _ in found)
        return size, [], all(exact for _, exact in found)

    def _column(self, column: Any) -> Looked:
        index = getattr(column, "index", None)
        size, exact = self._column_data(column)
        return size + (_shallow(index) if index is not None else 0), [], exact

    def _column_data(self, column: Any) -> tuple[int, bool]:
        """Count a column's data once, if it lies in an array, and its texts, each of them once."""
        import numpy as np

        objects = getattr(column.array, "_ndarray", None)  # of numpy's or of pandas' own kind
        if isinstance(objects, np.ndarray) and objects.dtype == object:
            texts, exact = self._distinct.add(objects, self._late)
            self.shares |= self._distinct.met
            size = sum(size for _, size in texts.values())
            return self._new(*_bounds(_owner(objects))) + size, exact
        settings = {"index": False} if hasattr(column, "index") else {}
        deep = int(column.memory_usage(deep=True, **settings))
        if not isinstance(column.dtype, np.dtype):
            return deep, True
        data = column.to_numpy(copy=False)
        rest = deep - int(data.nbytes)
        if rest < 0:  # made only now, such as the numbers of a range
            return deep, True
        return rest + self._new(*_bounds(_owner(data))), True

    def _tensor(self, tensor: Any) -> Looked:
        size = tensor_bytes(tensor) or 0
        texts = getattr(tensor.dtype, "name", "") == "string"
        address = None if texts else tensor_address(tensor)
        if address is not None:
            size = self._new(address, size)
        return _shallow(tensor) + size, [], not texts


def _extrapolated(value: Any, total: int, left: int) -> int:
    """Estimate a long list from the elements that there was time for; else give what was seen."""
    if not isinstance(value, list | tuple) or len(value) - left < FEW:
        return total
    own = _shallow(value)
    return own + round((total - own) * len(value) / (len(value) - left))


def owns_data(value: Any) -> bool:
    """Tell whether an object is an array, a table, a tensor or made of tensors."""
    return any(kinds and isinstance(value, kinds) for kinds in _data_classes()) or has_parts(value)


def _data_classes() -> Iterable[Any]:
    numpy, pandas = sys.modules.get("numpy"), sys.modules.get("pandas")
    yield _member(numpy, "ndarray")
    yield _member(pandas, "DataFrame")
    yield tuple(kind for kind in (_member(pandas, "Series"), _member(pandas, "Index")) if kind)
    yield tuple(kind for kind in (tensor_class(), variable_class()) if kind)


def _owner(array: Any) -> Any:
    """Find the array whose data another shows."""
    import numpy as np

    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _bounds(array: Any) -> tuple[int, int]:
    """Give where an array begins and how many bytes it spans; numpy has moved this function."""
    import numpy as np

    inner = getattr(np.lib, "array_utils", np)
    low, high = inner.byte_bounds(array)
    return low, high - low


def _shallow(value: Any) -> int:
    try:
        return sys.getsizeof(value)
    except Exception:  # noqa: BLE001 the __sizeof__ of anybody's class
        return 0


def _member(module: ModuleType | None, name: str) -> Any:
    return getattr(module, name, None)


def _attribute(value: Any, name: str) -> Any:
    try:
        return getattr(value, name, None)
    except Exception:  # noqa: BLE001 a property of anybody's class
        return None


def type_name(kind: type) -> str:
    """Write a type as users know it: without the inner modules of the large libraries."""
    module = str(kind.__module__)
    if module == "builtins":
        return kind.__qualname__
    if module.partition(".")[0] in ("tensorflow", "keras", "pandas", "numpy"):
        module = module.partition(".")[0]
    return f"{module}.{kind.__qualname__}"

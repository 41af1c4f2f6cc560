"""How many bytes an object holds, with everything that only it leads to.

Arrays count with their data, data that several share counts once, DataFrames with their texts,
tensors, variables and models with what TensorFlow holds for them. Modules, classes and TensorFlow's
own machinery are not followed.
"""

import gc
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from nbprof.memory.buffers import Buffers
from nbprof.memory.tensors import (
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
SAMPLED = 100_000
"""Of an array of more objects than this, so many are looked at."""
LOOKS = 512
"""The clock is looked at once in so many objects."""


Looked = tuple[int, list[Any], bool]
"""An object's own bytes, what it leads to, and whether the bytes are exact."""


class Sizer:
    """Adds objects up, each once, for at most `seconds`."""

    def __init__(self, seconds: float) -> None:
        self.by_type: dict[str, tuple[int, int]] = {}
        """How many objects of each type, and their bytes."""
        self.shares = False
        """Whether what was last added leads to something that was counted before."""
        self._until = time.perf_counter() + seconds
        self._seen: set[int] = set()
        self._buffers = Buffers()
        self._ways: dict[type, Callable[[Any], Looked]] = {}
        """How objects of each type are looked at."""
        self._made: list[Any] = []
        """Objects that were made only to look at them; their ids must not be used again."""

    def afresh(self) -> "Sizer":
        """Give another that has counted nothing, and the time that is left."""
        return Sizer(self._until - time.perf_counter())

    def add(self, value: Any) -> tuple[int, bool]:
        """Give the bytes that an object adds, and whether they are all exact."""
        total, exact, looked = 0, True, 0
        self.shares = False
        left = [value]
        while left:
            each = left.pop()
            if isinstance(each, NOT_FOLLOWED):
                continue
            if id(each) in self._seen:
                self.shares |= type(each) not in PLAIN
                continue
            self._seen.add(id(each))
            looked += 1
            if looked % LOOKS == 0 and time.perf_counter() > self._until:
                return total, False
            size, further, is_exact = self._look(each)
            exact &= is_exact
            total += size
            self._count(type_name(type(each)), 1, size)
            further, plain = self._without_plain(further)
            total += plain
            left += further
        return total, exact

    def _count(self, kind: str, objects: int, size: int) -> None:
        before = self.by_type.get(kind, (0, 0))
        self.by_type[kind] = (before[0] + objects, before[1] + size)

    def _without_plain(self, values: list[Any]) -> tuple[list[Any], int]:
        """Add up a long list of plain objects at once; give what is left to follow."""
        if len(values) < MANY or not set(map(type, values)) <= PLAIN:
            return values, 0
        new = dict(zip(map(id, values), values, strict=True))
        for known in self._seen & new.keys():
            del new[known]
        self._seen.update(new)
        sizes = Counter[type]()
        kinds = Counter(map(type, new.values()))
        if len(kinds) == 1:
            sizes[next(iter(kinds))] = sum(map(sys.getsizeof, new.values()))
        else:
            for value in new.values():
                sizes[type(value)] += sys.getsizeof(value)
        for kind, size in sizes.items():
            self._count(type_name(kind), kinds[kind], size)
        return [], sizes.total()

    def _look(self, value: Any) -> Looked:
        if type(value) in PLAIN:
            return sys.getsizeof(value), [], True
        look = self._ways.get(type(value))
        if look is None:
            special = ((kinds, look) for kinds, look in self._special() if kinds)
            found = (look for kinds, look in special if isinstance(value, kinds))
            look = self._ways[type(value)] = next(found, self._other)
        return look(value)

    def _other(self, value: Any) -> Looked:
        parts = parts_of(value)
        if parts is not None:
            self._made.append(parts)
            return _shallow(value), list(parts), True
        if is_machinery(value):
            return _shallow(value), [], True
        if isinstance(value, FunctionType):
            return _shallow(value), [value.__closure__, value.__defaults__, value.__dict__], True
        size = _shallow(value)
        further = gc.get_referents(value) if gc.is_tracked(value) else []
        if not further and isinstance(held := _attribute(value, "nbytes"), int):
            size = max(size, held)  # an array of some other library
        return size, further, True

    def _special(self) -> Iterable[tuple[Any, Callable[[Any], Looked]]]:
        numpy, pandas = sys.modules.get("numpy"), sys.modules.get("pandas")
        yield getattr(numpy, "ndarray", None), self._array
        yield getattr(pandas, "DataFrame", None), self._table
        yield (
            tuple(kind for kind in (_member(pandas, "Series"), _member(pandas, "Index")) if kind),
            self._column,
        )
        yield tuple(kind for kind in (tensor_class(), variable_class()) if kind), self._tensor

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
        columns = [table.iloc[:, number] for number in range(table.shape[1])]
        size = _shallow(table.index) + sum(self._column_data(column) for column in columns)
        return size, [], True

    def _column(self, column: Any) -> Looked:
        index = getattr(column, "index", None)
        size = self._column_data(column)
        return size + (_shallow(index) if index is not None else 0), [], True

    def _column_data(self, column: Any) -> int:
        """Count a column's data once, if it lies in an array; with its texts in any case."""
        import numpy as np

        deep = column.memory_usage(deep=True) if not hasattr(column, "index") else (
            column.memory_usage(index=False, deep=True)
        )  # fmt: skip
        dtype = column.dtype
        if not isinstance(dtype, np.dtype) or dtype.hasobject:
            return int(deep)
        data = column.to_numpy(copy=False)
        rest = int(deep) - int(data.nbytes)
        if rest < 0:  # made only now, such as the numbers of a range
            return int(deep)
        return rest + self._new(*_bounds(_owner(data)))

    def _tensor(self, tensor: Any) -> Looked:
        size = tensor_bytes(tensor) or 0
        texts = getattr(tensor.dtype, "name", "") == "string"
        address = None if texts else tensor_address(tensor)
        if address is not None:
            size = self._new(address, size)
        return _shallow(tensor) + size, [], not texts


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

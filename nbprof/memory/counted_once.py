"""Remember what has been counted, so that shared memory and shared objects count once.

`CountedRanges` remembers ranges of memory, such as the data of arrays. `CountedObjects` remembers
plain objects, such as the texts of a column, and compares many addresses at once with numpy.
"""

import ctypes
import sys
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Addresses = npt.NDArray[np.uintp]

SAMPLE_SIZE = 20_000
"""Number of objects to size when there is no time for all."""


def shallow_size(value: Any) -> int:
    """Return the bytes of an object without what it refers to; 0 if it refuses to be sized."""
    try:
        return sys.getsizeof(value)
    except Exception:  # noqa: BLE001 anybody's class may define __sizeof__
        return 0


class CountedRanges:
    """A set of addresses, kept as sorted ranges that do not touch."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, start: int, size: int) -> int:
        """Add a range; return how many of its bytes were not counted before."""
        if size <= 0:
            return 0
        end = start + size
        first = bisect_left(self._ends, start)
        last = bisect_right(self._starts, end)
        overlapping = list(zip(self._starts[first:last], self._ends[first:last], strict=True))
        known = sum(max(0, min(end, e) - max(start, s)) for s, e in overlapping)
        self._starts[first:last] = [min([start, *(s for s, _ in overlapping)])]
        self._ends[first:last] = [max([end, *(e for _, e in overlapping)])]
        return size - known


class CountedObjects:
    """A set of objects, kept as sorted arrays of their addresses."""

    def __init__(self) -> None:
        self._known: list[Addresses] = []
        self.met_known = False
        """Whether the last call of `add` met objects that were counted before."""

    def add(
        self, objects: Any, is_late: Callable[[], bool]
    ) -> tuple[dict[type, tuple[int, int]], bool]:
        """Add an array of objects; return count and bytes by type, and whether they are exact.

        Objects that were counted before are left out. If `is_late()`, a sample stands for all.
        """
        import numpy as np

        flat = np.ascontiguousarray(objects).ravel()
        addresses, places = np.unique(_addresses(flat), return_index=True)
        distinct = len(addresses)
        for known in self._known:
            is_new = ~np.isin(addresses, known, assume_unique=True)
            addresses, places = addresses[is_new], places[is_new]
        self._known.append(addresses)
        self.met_known = len(addresses) < distinct
        stride = max(1, len(places) // SAMPLE_SIZE) if is_late() else 1
        sample = flat[places[::stride]].tolist()
        return _by_type(sample, len(places) / max(1, len(sample))), stride == 1


def _addresses(flat: Any) -> "Addresses":
    """Return the addresses of the objects in an array, which are the pointers it consists of."""
    import numpy as np

    if not len(flat):
        return np.zeros(0, dtype=np.uintp)
    pointers = (ctypes.c_size_t * len(flat)).from_address(flat.ctypes.data)
    return np.ctypeslib.as_array(pointers).astype(np.uintp)


def _by_type(values: list[Any], factor: float) -> dict[type, tuple[int, int]]:
    """Return count and bytes by type, each multiplied by `factor`."""
    counts = Counter(map(type, values))
    sizes = dict.fromkeys(counts, 0)
    if len(counts) == 1:
        sizes[type(values[0])] = sum(map(shallow_size, values))
    else:
        for value in values:
            sizes[type(value)] += shallow_size(value)
    return {
        kind: (round(count * factor), round(sizes[kind] * factor)) for kind, count in counts.items()
    }

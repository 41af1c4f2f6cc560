"""Many plain objects at once, each counted once: texts of a column, numbers of a long list.

What is compared are the addresses that an array of objects consists of, by numpy.
"""

import ctypes
import sys
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Addresses = npt.NDArray[np.uintp]

SAMPLED = 20_000
"""So many objects are looked at where there is no time for all."""


class Distinct:
    """The objects that were counted, as sorted addresses."""

    def __init__(self) -> None:
        self._known: list[Addresses] = []
        self.met = False
        """Whether some of what was last added had been counted before."""

    def add(self, objects: Any, hurry: Callable[[], bool]) -> tuple[dict[type, list[int]], bool]:
        """Count an array of objects; give count and bytes by type, and whether they are exact.

        Only those that were not counted before are in it. When it is time to `hurry`, some of them
        stand for all.
        """
        import numpy as np

        flat = np.ascontiguousarray(objects).ravel()
        addresses, places = np.unique(_addresses(flat), return_index=True)
        distinct = len(addresses)
        for known in self._known:
            is_new = ~np.isin(addresses, known, assume_unique=True)
            addresses, places = addresses[is_new], places[is_new]
        self._known.append(addresses)
        self.met = len(addresses) < distinct
        few = max(1, len(places) // SAMPLED) if hurry() else 1
        looked = flat[places[::few]].tolist()
        return _by_type(looked, len(places) / max(1, len(looked))), few == 1


def _addresses(flat: Any) -> "Addresses":
    import numpy as np

    if not len(flat):
        return np.zeros(0, dtype=np.uintp)
    there = (ctypes.c_size_t * len(flat)).from_address(flat.ctypes.data)
    return np.ctypeslib.as_array(there).astype(np.uintp)


def _by_type(values: list[Any], times: float) -> dict[type, list[int]]:
    kinds = Counter(map(type, values))
    sizes = dict.fromkeys(kinds, 0)
    if len(kinds) == 1:
        sizes[type(values[0])] = sum(map(_size, values))
    else:
        for value in values:
            sizes[type(value)] += _size(value)
    return {
        kind: [round(count * times), round(sizes[kind] * times)] for kind, count in kinds.items()
    }


def _size(value: Any) -> int:
    try:
        return sys.getsizeof(value)
    except Exception:  # noqa: BLE001 the __sizeof__ of anybody's class
        return 0

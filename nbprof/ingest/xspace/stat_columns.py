"""Stats of chosen events as columns with an entry for every event, whether it has them or not."""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nbprof.arrays import NONE, Ints, Rows

if TYPE_CHECKING:
    from nbprof.ingest.xspace.xspace import XSpace


class StatsOf:
    """Reads the stats of distinct events into the narrowest columns that hold them."""

    def __init__(self, space: "XSpace", row: Rows) -> None:
        self._space = space
        self._count = len(row)
        self._place = np.full(len(space.line), NONE, dtype=np.int32)
        self._place[row] = np.arange(len(row), dtype=np.int32)
        self._columns: dict[tuple[str, int, bool], Ints] = {}

    def number(self, stat: str, default: int = NONE) -> Ints:
        """Return a numeric stat of each event, `default` where it has none."""
        return self._column(stat, default, False)

    def text(self, stat: str) -> Rows:
        """Return a text stat of each event as a row of `space.strings`, 0 where it has none."""
        return self._column(stat, 0, True)

    def _column(self, *key: *tuple[str, int, bool]) -> Ints:
        if key not in self._columns:
            self._columns[key] = self._read(*key)
        return self._columns[key]

    def _read(self, stat: str, default: int, is_text: bool) -> Ints:
        found = self._space.stat(stat)
        # TensorFlow always writes a stat with the same type; any other type counts as absent.
        if found.is_text != is_text or found.value.dtype.kind != "i":
            return np.full(self._count, default, dtype=np.int8)
        place, value = self._place[found.event], found.value
        if len(place) and place.min() < 0:
            chosen = np.flatnonzero(place >= 0)
            place, value = place[chosen], value[chosen]
        column = np.full(self._count, default, dtype=_narrowest(value, default))
        column[place] = value
        return column


def _narrowest(values: npt.NDArray[Any], default: int) -> "np.dtype[np.signedinteger]":
    largest = max(int(values.max(initial=default)), -int(values.min(initial=default)))
    fitting = (np.dtype(f"i{size}") for size in (1, 2, 4) if largest < 1 << (8 * size - 1))
    return next(fitting, np.dtype(np.int64))

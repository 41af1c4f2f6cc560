"""Number the distinct values of a column without sorting it."""

import numpy as np
import numpy.typing as npt

from nbprof.arrays import Rows


def distinct(values: npt.NDArray[np.integer], width: int) -> tuple[Rows, Rows]:
    """Return the distinct values, ascending, and which of them each is; all are in range(width).

    Like `np.unique(values, return_inverse=True)`, but in linear time unless the range is wide.
    """
    if width > 16 * len(values) + 1024:
        found, which = np.unique(values, return_inverse=True)
        return found.astype(np.intp), which
    occurs = np.zeros(width, dtype=bool)
    occurs[values] = True
    found = np.flatnonzero(occurs)
    number = np.empty(width, dtype=np.intp)
    number[found] = np.arange(len(found))
    return found, number[values]


def distinct_pairs(
    first: npt.NDArray[np.integer], second: npt.NDArray[np.integer], width: int
) -> tuple[Rows, Rows, Rows]:
    """Return the distinct pairs, sorted, and which of them each is; `second` is in range(width).

    Both sides are numbered first, as few values of a wide range are distinct.
    """
    low = int(first.min(initial=0))
    firsts, of_first = distinct(first - low, int(first.max(initial=0)) - low + 1)
    seconds, of_second = distinct(second, width)
    pairs, which = distinct(of_first * len(seconds) + of_second, len(firsts) * len(seconds))
    count = max(len(seconds), 1)
    return firsts[pairs // count] + low, seconds[pairs % count], which

"""How much of a stretch of time a set of intervals covers together."""

import numpy as np

from nbprof.arrays import Ints


class CoveredTime:
    """The union of intervals."""

    def __init__(self, start: Ints, end: Ints) -> None:
        order = np.argsort(start, kind="stable")
        start, end = start[order], np.maximum.accumulate(end[order])
        new = np.append(True, start[1:] > end[:-1])[: len(start)]
        self._start = start[new]
        self._end = end[np.append(new[1:], True)[: len(start)]]
        self._before = np.append(0, np.cumsum(self._end - self._start))

    def until(self, time: Ints) -> Ints:
        """Return how much time is covered before each moment."""
        if not len(self._start):
            return np.zeros(len(time), dtype=np.int64)
        place = np.searchsorted(self._start, time, side="right")
        beyond = np.maximum(self._end[place - 1] - time, 0)
        return np.where(place > 0, self._before[place] - beyond, 0)

    def within(self, start: Ints, end: Ints) -> Ints:
        """Return how much of each stretch of time is covered."""
        return self.until(end) - self.until(start)

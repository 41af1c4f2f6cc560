"""Stretches of memory that were counted, so that what several objects share counts once."""

from bisect import bisect_left, bisect_right


class Buffers:
    """A set of addresses, as sorted stretches that do not touch."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, start: int, size: int) -> int:
        """Count a stretch; give how many of its bytes were not counted before."""
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

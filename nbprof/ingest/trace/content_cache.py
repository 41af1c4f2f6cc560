"""What was read of functions, kept for the next cells, which often run them again.

It is found by all the bytes it was read from, never by a name: after a while a name may stand for
another function. So it cannot be out of date, and keeps no object of the user's alive.
"""

from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

ROOM = 4 << 20
"""So many bytes are remembered at most, with what was read from them."""

Read = TypeVar("Read")


class Remembered(Generic[Read]):
    """What some bytes say: as many of those used last as there is room for."""

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._left = room
        self._known: dict[bytes, Read] = {}  # those used last stand last
        self._lock = Lock()

    def of(self, source: bytes, read: Callable[[], Read]) -> Read:
        """Give what these bytes say, which `read` finds out if it is not known."""
        if len(source) > self._room:
            return read()
        with self._lock:
            known = self._take(source)
        if known is None:
            known = read()
        with self._lock:
            self._take(source)  # another thread may have been first
            self._known[source] = known
            self._left -= len(source)
            while self._left < 0:
                self._take(next(iter(self._known)))
        return known

    def _take(self, source: bytes) -> Read | None:
        if source not in self._known:
            return None
        self._left += len(source)
        return self._known.pop(source)

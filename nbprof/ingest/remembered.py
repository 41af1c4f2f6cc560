"""What was read of functions, kept for the next cells, which often run them again.

It is found by all the bytes it was read from, never by a name: after a while a name may stand for
another function. So it cannot be out of date, and keeps no object of the user's alive.
"""

from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

ROOM = 4 << 20
"""How many bytes are remembered what they say: those used last."""

Read = TypeVar("Read")


class Remembered(Generic[Read]):
    """What some bytes say, for as many as there is room."""

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._known: dict[bytes, Read] = {}  # those used last stand last
        self._lock = Lock()

    def of(self, source: bytes, read: Callable[[], Read]) -> Read:
        """Give what these bytes say, which `read` finds out if it is not known."""
        with self._lock:
            known = self._known.pop(source, None)
            self._room += len(source) if known is not None else 0
        if known is None:
            known = read()
        with self._lock:
            self._keep(source, known)
        return known

    def _keep(self, source: bytes, known: Read) -> None:
        if source in self._known:  # another thread was first
            return
        self._known[source] = known
        self._room -= len(source)
        while self._room < 0:
            oldest = next(iter(self._known))
            del self._known[oldest]
            self._room += len(oldest)

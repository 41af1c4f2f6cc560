"""A cache of what was read from bytes, kept because later cells often run the same functions.

The key of an entry is all the bytes it was read from, not a name, which may later mean another
function. So entries are never stale, and they keep none of the user's objects alive.
"""

from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

CAPACITY = 4 << 20
"""Default capacity of a cache: total size of its keys in bytes."""

Read = TypeVar("Read")


class ContentCache(Generic[Read]):
    """Maps bytes to what was read from them; evicts the least recently used ones."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._free = capacity
        self._known: dict[bytes, Read] = {}  # most recently used last
        self._lock = Lock()

    def get(self, source: bytes, read: Callable[[], Read]) -> Read:
        """Return what was read from these bytes, calling `read` if it is not cached."""
        if len(source) > self._capacity:
            return read()
        with self._lock:
            known = self._take(source)
        if known is None:
            known = read()
        with self._lock:
            self._take(source)  # another thread may have been first
            self._known[source] = known
            self._free -= len(source)
            while self._free < 0:
                self._take(next(iter(self._known)))
        return known

    def _take(self, source: bytes) -> Read | None:
        if source not in self._known:
            return None
        self._free += len(source)
        return self._known.pop(source)

"""Read the part of Python's marshal format that pstats files use, without `marshal.loads`.

That function is not made for bytes from elsewhere: it trusts their lengths, and garbage may crash
the interpreter. Known here are dicts, tuples, texts, numbers, and references to earlier values. A
dict is read as a list of pairs, so that no file decides what is hashed.
"""

import struct
from collections.abc import Callable
from typing import Any

from nbprof.ingest.python.damage import DamageError

REFERABLE = 0x80
"""Bit of a type's byte: later values may refer to this one by its number."""
END_OF_DICT = ord("0")
DEEPEST = 8
"""Most values inside each other; a pstats file has five."""
LARGEST_DIGITS = 5
"""Most digits, of 15 bits each, of a whole number; more do not fit into 64 bits."""
_UNFINISHED = object()
"""Stands for a value that is still being read; referring to it would make it contain itself."""

Pairs = list[tuple[Any, Any]]
"""A dict as it was written."""


def read_marshalled(data: bytes) -> Any:
    """Return the one value that the data hold: tuples, lists of pairs, texts and numbers."""
    reader = _Reader(data)
    value = reader.value(0)
    if reader.at != len(data):
        raise DamageError(f"it goes on after its end, at byte {reader.at:,}")
    return value


class _Reader:
    """Reads one value after the other; every length is compared with what is left."""

    def __init__(self, data: bytes) -> None:
        self.at = 0
        self._data = data
        self._known: list[Any] = []

    def value(self, depth: int) -> Any:
        """Read a value and everything in it."""
        if depth > DEEPEST:
            raise DamageError("its values are nested too deeply")
        kind = self._byte()
        read = _READ.get(kind & ~REFERABLE)
        if read is None:
            raise DamageError(f"it has a value of the type {bytes([kind & ~REFERABLE])!r}")
        if not kind & REFERABLE:
            return read(self, depth)
        number = len(self._known)
        self._known.append(_UNFINISHED)
        value = self._known[number] = read(self, depth)
        return value

    def _take(self, size: int) -> bytes:
        taken = self._data[self.at : self.at + size]
        if size < 0 or len(taken) < size:
            raise DamageError("it is cut off")
        self.at += size
        return taken

    def _byte(self) -> int:
        taken = self._take(1)
        return taken[0]

    def _number(self, layout: str, size: int) -> Any:
        return struct.unpack(layout, self._take(size))[0]

    def int32(self, _depth: int = 0) -> int:
        number: int = self._number("<i", 4)
        return number

    def long_int(self, _depth: int) -> int:
        count = self.int32()
        if abs(count) > LARGEST_DIGITS:
            raise DamageError("it has a whole number that does not fit into 64 bits")
        digits = [self._number("<H", 2) & 0x7FFF for _ in range(abs(count))]
        number: int = sum(digit << 15 * place for place, digit in enumerate(digits))
        return -number if count < 0 else number

    def double(self, _depth: int) -> float:
        number: float = self._number("<d", 8)
        return number

    def utf8(self, _depth: int) -> str:
        return self._text(self.int32(), "utf-8")

    def ascii(self, _depth: int) -> str:
        return self._text(self.int32(), "ascii")

    def short_ascii(self, _depth: int) -> str:
        return self._text(self._byte(), "ascii")

    def _text(self, size: int, encoding: str) -> str:
        try:
            return self._take(size).decode(encoding, "surrogatepass")
        except UnicodeDecodeError:
            raise DamageError(f"it has a text that is not {encoding}") from None

    def tuple_(self, depth: int) -> tuple[Any, ...]:
        return self._items(self.int32(), depth)

    def small_tuple(self, depth: int) -> tuple[Any, ...]:
        return self._items(self._byte(), depth)

    def _items(self, count: int, depth: int) -> tuple[Any, ...]:
        if not 0 <= count <= len(self._data) - self.at:  # each takes a byte at least
            raise DamageError("it is cut off")
        return tuple([self.value(depth + 1) for _ in range(count)])

    def dict_(self, depth: int) -> Pairs:
        pairs: Pairs = []
        while True:
            if self._data[self.at : self.at + 1] == bytes([END_OF_DICT]):
                self.at += 1
                return pairs
            pairs.append((self.value(depth + 1), self.value(depth + 1)))

    def reference(self, _depth: int) -> Any:
        number = self.int32()
        known = self._known[number] if 0 <= number < len(self._known) else _UNFINISHED
        if known is _UNFINISHED:
            raise DamageError("it refers to a value that it does not have")
        return known


_READ: dict[int, Callable[[_Reader, int], Any]] = {
    ord(letter): read
    for letters, read in (
        *(("{", _Reader.dict_), ("(", _Reader.tuple_), (")", _Reader.small_tuple)),
        *(("i", _Reader.int32), ("l", _Reader.long_int), ("g", _Reader.double)),
        *(("ut", _Reader.utf8), ("aA", _Reader.ascii), ("zZ", _Reader.short_ascii)),
        ("r", _Reader.reference),
    )
    for letter in letters
}
"""How to read each type."""

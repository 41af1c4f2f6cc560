"""Text columns that point into the bytes of a file and decode only on request."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nbprof.arrays import Ints, Mask, Positions, Words

WORD = 8
"""Number of bytes compared at once."""


@dataclass(frozen=True, eq=False, slots=True)
class Texts:
    """Texts, or messages that stay encoded, as spans of one bytes object."""

    data: bytes
    begin: Ints
    size: Ints

    def __len__(self) -> int:
        return len(self.begin)

    def take(self, index: Ints | Mask) -> "Texts":
        """Select and order the texts by index."""
        return Texts(self.data, self.begin[index], self.size[index])

    def raw(self) -> list[bytes]:
        """Return the bytes of every text."""
        data = self.data
        ends = (self.begin + self.size).tolist()
        return [data[at:end] for at, end in zip(self.begin.tolist(), ends, strict=True)]

    def strings(self) -> list[str]:
        """Decode every text; invalid UTF-8 becomes U+FFFD."""
        raw = self.raw()
        # One decode of all texts is faster, unless a text contains the separator.
        whole = b"\0".join(raw).decode(errors="replace").split("\0") if raw else []
        if len(whole) == len(raw):
            return whole
        return [text.decode(errors="replace") for text in raw]

    def equal(self, text: bytes) -> Mask:
        """Return which texts equal the given one, which must not be empty."""
        rows = np.flatnonzero(self.size == len(text))
        if len(self.data) >= WORD:
            for offset in range(0, len(text), WORD):
                rows = rows[self._same(rows, offset, text[offset : offset + WORD])]
        else:
            rows = rows[[raw == text for raw in self.take(rows).raw()]]
        same = np.zeros(len(self), np.bool_)
        same[rows] = True
        return same

    def _same(self, rows: Ints, offset: int, expected: bytes) -> Mask:
        """Return which of the rows have the expected bytes, at most a word, at that offset."""
        last = len(self.data) - WORD
        words: Words = np.ndarray(last + 1, "<u8", self.data, strides=(1,))
        position = self.begin[rows] + offset
        near = np.minimum(position, last)
        word = words[near] >> (8 * (position - near)).view(np.uint64)
        mask = np.uint64(2 ** (8 * len(expected)) - 1)
        same: Mask = word & mask == np.uint64(int.from_bytes(expected, "little"))
        return same

    def contain(self, part: bytes) -> Mask:
        """Return which texts contain this part, searching each distinct text once."""
        raw = self.raw()
        known = {text: part in text for text in set(raw)}
        return np.fromiter(map(known.__getitem__, raw), np.bool_, len(raw))

    @classmethod
    def at(cls, data: bytes, begin: Positions, size: Positions) -> "Texts":
        """Make a column of the texts at these positions in the data."""
        return cls(data, begin.astype(np.int64), size.astype(np.int64))

    @classmethod
    def of(cls, texts: Sequence[str] | Sequence[bytes]) -> "Texts":
        """Make a column of the given texts."""
        raw = [to_utf8(text) if isinstance(text, str) else text for text in texts]
        size = np.fromiter(map(len, raw), np.int64, len(raw))
        return cls(b"".join(raw), np.cumsum(size) - size, size)


def to_utf8(text: str) -> bytes:
    """Encode a text; surrogate escapes become bytes again, other lone surrogates U+FFFD."""
    try:
        return text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()

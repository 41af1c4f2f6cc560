"""Columns of numbers and texts as byte buffers, with what a browser needs to read them.

Numbers get the smallest type that loses nothing; `js/packed_columns.js` reads what is written here.
"""

import json
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from nbprof.arrays import Ints, Mask
from nbprof.protos.varint_writer import write_varints

FIXED_WIDTH_BITS = {"i8": 8, "i16": 16, "i32": 32}
"""Bits of each integer type; its lowest value stands for an unknown number."""
PER_MICROSECOND = 1000
"""Divisor of times that are kept as whole nanoseconds and read as µs."""
TOLERANCE = 1e-12
"""Largest relative error at which a number counts as whole."""
LARGEST_EXACT = 2.0**53
"""Floats below this hold whole numbers exactly."""
DELTAS = "deltas"
"""Marks a column that stores the difference of each number to the one before."""

Packed = list[Any]
"""A column: its buffer, its type, and if needed a divisor and `DELTAS`."""


class BufferStore:
    """The buffers and texts that the parts of an explorer share; equal ones are kept once."""

    def __init__(self) -> None:
        self.buffers: list[bytes] = []
        self.strings: list[str] = []
        """The dictionary that columns of texts point into."""
        self.string_buffers: list[int] = []
        """The buffers that hold the dictionary, each a part of it as JSON."""
        self._places: dict[bytes, int] = {}
        self._codes: dict[str, int] = {}
        self._deflater = new_deflater()
        self._deflated_buffers = 0
        self._deflated_bytes = 0

    def copy(self) -> "BufferStore":
        """Return a copy that grows on its own."""
        other = BufferStore()
        for name, value in vars(self).items():
            vars(other)[name] = value if isinstance(value, int) else value.copy()
        return other

    def adopt(self, other: "BufferStore") -> None:
        """Become a copy that has grown; do not use the copy any more."""
        vars(self).update(vars(other))

    def page_size(self, *more: bytes) -> int:
        """Return the bytes of all buffers, and `more`, in a page: deflated, in base64."""
        for buffer in self.buffers[self._deflated_buffers :]:
            self._deflated_bytes += len(self._deflater.compress(buffer))
        self._deflated_buffers = len(self.buffers)
        rest = self._deflater.copy()
        ending = sum(len(rest.compress(data)) for data in more) + len(rest.flush())
        return base64_size(self._deflated_bytes + ending)

    def numbers(self, values: npt.ArrayLike) -> Packed:
        """Store a column of numbers."""
        raw = np.asarray(values)
        if raw.dtype.kind in "iu":
            return self._whole(raw, 1)
        column = raw.astype(np.float64, copy=False)
        known = ~np.isnan(column)
        for divisor in (1, PER_MICROSECOND):
            with np.errstate(over="ignore", invalid="ignore"):
                whole = np.rint(column * divisor)
                lost = np.abs(whole / divisor - column) > TOLERANCE * np.abs(column)
            if not lost.any() and np.abs(whole[known]).max(initial=0) < LARGEST_EXACT:
                return self._whole(whole, divisor, known)
        return self._typed(column.astype("<f8"), "f64", 1)

    def times(self, ns: Ints, ordered: bool = False) -> Packed:
        """Store times given in ns, to be read in µs; ordered ones as differences."""
        if ordered and len(ns) and ns[0] >= 0:
            return [*self._whole(np.diff(ns, prepend=0), PER_MICROSECOND), DELTAS]
        return self._whole(ns, PER_MICROSECOND)

    def texts(self, values: Iterable[str]) -> Packed:
        """Store a column of texts as places in the dictionary."""
        return self.numbers(self.codes(values))

    def codes(self, values: Iterable[str]) -> Ints:
        """Return the places of texts in the dictionary, adding those that are new."""
        texts = list(values)
        known = self._codes
        # Sorted texts resemble their neighbours and deflate well.
        new = sorted(set(texts).difference(known))
        if new:
            known.update(zip(new, range(len(known), len(known) + len(new)), strict=True))
            self.strings += new
            self.string_buffers.append(self._buffer(to_json(new)))
        return np.fromiter(map(known.__getitem__, texts), np.int64, len(texts))

    def _whole(self, whole: npt.NDArray[Any], divisor: int, known: Mask | None = None) -> Packed:
        """Store whole numbers in the type that takes the fewest bytes."""
        present = whole if known is None else whole[known]
        largest = max(present.max(initial=0), -present.min(initial=0))
        fitting = [kind for kind, bits in FIXED_WIDTH_BITS.items() if largest < 2 ** (bits - 1)]
        if fitting[:1] != ["i8"] and present.min(initial=0) >= 0:
            shifted = (whole if known is None else np.where(known, whole, -1)).astype(np.int64) + 1
            data = write_varints(shifted)[1].tobytes()
            if not fitting or len(data) < FIXED_WIDTH_BITS[fitting[0]] // 8 * len(whole):
                return _packed(self._buffer(data), "var", divisor)
        if not fitting:
            floats = whole if known is None else np.where(known, whole, np.nan)
            return self._typed(floats.astype("<f8") / divisor, "f64", 1)
        bits = FIXED_WIDTH_BITS[fitting[0]]
        filled = whole if known is None else np.where(known, whole, -(2 ** (bits - 1)))
        return self._typed(filled.astype(f"<i{bits // 8}"), fitting[0], divisor)

    def _typed(self, column: npt.NDArray[Any], kind: str, divisor: int) -> Packed:
        return _packed(self._buffer(column.tobytes()), kind, divisor)

    def _buffer(self, data: bytes) -> int:
        """Return the place of a buffer, adding it if it is new."""
        place = self._places.setdefault(data, len(self.buffers))
        if place == len(self.buffers):
            self.buffers.append(data)
        return place


def _packed(buffer: int, kind: str, divisor: int) -> Packed:
    return [buffer, kind] if divisor == 1 else [buffer, kind, divisor]


def to_json(described: Any) -> bytes:
    """Write compact JSON in ASCII."""
    return json.dumps(described, separators=(",", ":")).encode()


def new_deflater(level: int = zlib.Z_DEFAULT_COMPRESSION) -> Any:
    """Return a compressor whose output DecompressionStream("deflate-raw") reads."""
    return zlib.compressobj(level, wbits=-zlib.MAX_WBITS)


def base64_size(count: int) -> int:
    """Return the length of `count` bytes in base64."""
    return 4 * ((count + 2) // 3)

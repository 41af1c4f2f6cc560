"""Columns that grow piece by piece, and a way to keep their memory for reuse."""

from typing import Any

import numpy as np
import numpy.typing as npt


class GrowableColumn:
    """A column of unknown length.

    It reserves its room at once: pages never written to take no memory, whereas joining many
    pieces at the end would hold them twice and fragment the heap.
    """

    def __init__(self, dtype: npt.DTypeLike, room: int) -> None:
        self._reserved: npt.NDArray[Any] = np.empty(room, dtype)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, piece: npt.NDArray[Any]) -> None:
        """Append a piece."""
        end = self._count + len(piece)
        if end > len(self._reserved):
            grown = np.empty(max(end, 2 * len(self._reserved)), self._reserved.dtype)
            grown[: self._count] = self._reserved[: self._count]
            self._reserved = grown
        self._reserved[self._count : end] = piece
        self._count = end

    @property
    def array(self) -> npt.NDArray[Any]:
        """Everything appended so far."""
        return self._reserved[: self._count]


LARGE = 8 << 20
"""Size in bytes that few arrays exceed while a part of a trace is read."""


def reuse_freed_memory() -> None:
    """Make glibc keep the memory of freed arrays for the next ones.

    glibc returns freed blocks of more than 128 KiB to the system, and getting them back page by
    page is slow. Once it has seen a larger block freed, it keeps all smaller ones. So allocate and
    free a large array; it is never written to, so it takes no memory. Other allocators ignore it.
    """
    np.empty(LARGE, np.uint8)

"""Columns that are filled piece by piece, and the memory of arrays."""

from typing import Any

import numpy as np
import numpy.typing as npt


class Column:
    """A column of unknown length.

    Room is asked for at once: what is not written to takes no memory, while many pieces that are
    joined in the end are held twice and leave holes.
    """

    def __init__(self, dtype: npt.DTypeLike, room: int) -> None:
        self._room: npt.NDArray[Any] = np.empty(room, dtype)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, piece: npt.NDArray[Any]) -> None:
        """Write the next piece behind the others."""
        end = self._count + len(piece)
        if end > len(self._room):
            grown = np.empty(max(end, 2 * len(self._room)), self._room.dtype)
            grown[: self._count] = self._room[: self._count]
            self._room = grown
        self._room[self._count : end] = piece
        self._count = end

    @property
    def array(self) -> npt.NDArray[Any]:
        """All that was written."""
        return self._room[: self._count]


LARGE = 8 << 20
"""Few arrays of a part of a trace have more bytes."""


def use_memory_again() -> None:
    """Let arrays have the memory of those before them.

    glibc returns the memory of a freed array of more than 128 KiB to the system, which hands it out
    again page by page, until it has seen a larger one freed: from then on it keeps what is smaller.
    So it is shown one, which is never touched and takes no memory. Other libraries do not mind.
    """
    np.empty(LARGE, np.uint8)

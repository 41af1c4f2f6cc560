"""Number the distinct stacks of a file, within what a file of its size may hold."""

from array import array

import numpy as np

from nbprof.arrays import NONE, Ints
from nbprof.ingest.python.damage import DamageError

SMALL = 2_000_000
"""Frames that the stacks of any file may have together, however small it is."""


class StackNumbers:
    """The distinct stacks found so far, each a list of frame numbers, outermost first."""

    def __init__(self, file_size: int) -> None:
        self._most = SMALL + file_size
        self._size = 0
        # By bytes, whose hashes, unlike those of numbers, nobody can choose.
        self._number: dict[bytes, int] = {}

    def of_frames(self, frames: "array[int]") -> int:
        """Return the number of a stack, NONE for an empty one."""
        self._size += len(frames)
        if self._size > self._most:
            raise DamageError("its stacks are too deep for a file of this size")
        return self._number.setdefault(frames.tobytes(), len(self._number)) if frames else NONE

    def check_frames(self, count: int) -> None:
        """Refuse stacks with a frame that is none of the first `count`."""
        place, _ = self.frames()
        if len(place) and (int(place.min()) < 0 or int(place.max()) >= count):
            raise DamageError("a stack has a frame that is not in the file")

    def frames(self) -> tuple[Ints, Ints]:
        """Return the frames of all stacks, one after the other, and how many each has."""
        depth = np.array([*map(len, self._number)], dtype=np.int64) // array("i").itemsize
        whole = b"".join(self._number)
        return np.frombuffer(whole, dtype=np.intc).astype(np.int64), depth

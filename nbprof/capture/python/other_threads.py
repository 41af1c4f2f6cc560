"""Find the threads that work for the cell besides its own.

These are the threads that start while the cell runs, and those that run code of the user's during
it, such as the workers of a pool from an earlier cell. The shell's own threads are not.
"""

import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING

import numpy as np

from nbprof.user_files import is_users

if TYPE_CHECKING:
    from nbprof.arrays import Ints, Mask
    from nbprof.capture.capture import Stack

OF_C = "started by C code"
"""The name of threads that Python did not start."""


class OtherThreads:
    """Numbers the threads besides the cell's, which is 0."""

    def __init__(self) -> None:
        self._left_out: set[int] = set()
        self._numbers: dict[tuple[int, str], int] = {}
        """Numbers of the threads: the system gives a new thread the identity of an ended one."""
        self._earlier = 0
        """How many of them were there before the cell."""

    def leave_out(self, identity: int) -> None:
        """Leave out a thread: the cell's, or one of ours."""
        self._left_out.add(identity)

    def end_of_earlier(self) -> None:
        """Take all threads seen so far for those that were there before the cell."""
        self._earlier = len(self._numbers)

    def frames(self) -> Iterator[tuple[int, FrameType]]:
        """Yield the number of each thread and its innermost frame."""
        known = threading._active  # type: ignore[attr-defined]
        for identity, frame in sys._current_frames().items():
            if identity not in self._left_out:
                thread = known.get(identity)
                key = identity, OF_C if thread is None else str(thread.name)
                yield self._numbers.setdefault(key, len(self._numbers) + 1), frame

    def chosen(
        self, thread: "Ints", stack: "Ints", stacks: "tuple[Stack, ...]"
    ) -> "tuple[list[str], Mask]":
        """Return the names of all threads, and which samples are of those that work for the cell.

        Given are the thread and the stack of each sample.
        """
        of_user = np.array([any(is_users(file) for file, *_ in each) for each in stacks], bool)
        counts = np.ones(len(self._numbers) + 1, dtype=bool)
        for number in range(1, self._earlier + 1):
            seen = np.unique(stack[thread == number])
            counts[number] = len(seen) > 1 and of_user[seen].any()
        return ["", *(name for _, name in self._numbers)], counts[thread]

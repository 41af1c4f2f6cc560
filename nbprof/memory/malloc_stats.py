"""What the C library's allocator has given out, and what it keeps although it was given back.

Only glibc tells. Python's own allocator for small objects is not in these numbers.
"""

import ctypes
import math
import os
import sys
from dataclasses import dataclass

LARGEST_BLOCK = 512
"""Bytes of the largest object that is small to Python."""

_FIELDS = (
    *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
    *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
)


class _Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in _FIELDS]


@dataclass(frozen=True)
class Heap:
    """Bytes that the program uses, bytes of freed pieces between them, and Python's own blocks."""

    used: float
    free: float
    blocks: int = 0
    """Small objects; Python takes memory for them past the C library."""


def heap() -> Heap:
    """Ask the allocator; NaN where it does not tell."""
    function = _glibc("mallinfo2")
    if function is None:
        return Heap(math.nan, math.nan)
    function.restype = _Mallinfo
    found = function()
    return Heap(found.uordblks + found.hblkhd, found.fordblks, sys.getallocatedblocks())


def kept(before: Heap, after: Heap, growth: int) -> float:
    """Give how much of what was freed between two moments the process surely still holds.

    `growth` is how much more it holds in RAM. What grew without being used is kept, as far as the
    free pieces grew; those that were returned before are in both moments and cancel.
    """
    unused = growth - (after.used - before.used)
    return max(0.0, float(min(after.free - before.free, unused))) if unused == unused else math.nan


def perhaps_kept(before: Heap, after: Heap, growth: int) -> float:
    """Give how much of the growth is in no use that the allocator knows of.

    It was freed and kept in pieces that were free before, too, but had no pages in RAM then; or
    somebody took memory past the C library, which nobody can tell. NaN where Python itself did.
    """
    unused = growth - (after.used - before.used)
    of_python = LARGEST_BLOCK * (after.blocks - before.blocks)
    return max(0.0, float(unused)) if of_python < 0.1 * unused else math.nan


def reusable(heap: Heap, resident: float) -> float:
    """Give how much of what a process holds may be used again at most, without it holding more."""
    return max(0.0, min(heap.free, resident - heap.used)) if heap.free == heap.free else math.nan


def trim() -> bool:
    """Have the allocator return what it can to the system; False where it cannot be asked."""
    function = _glibc("malloc_trim")
    if function is None:
        return False
    function(0)
    return True


_library: ctypes.CDLL | None = None


def _glibc(name: str) -> "ctypes._NamedFuncPointer | None":
    """Find a function of glibc's allocator, if that is the one in use."""
    global _library
    others = ("jemalloc", "tcmalloc", "mimalloc")
    if sys.platform != "linux" or any(o in os.environ.get("LD_PRELOAD", "") for o in others):
        return None
    _library = _library or ctypes.CDLL(None)
    return getattr(_library, name, None)

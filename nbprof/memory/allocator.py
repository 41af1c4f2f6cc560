"""What the C library's allocator has given out, and what it keeps although it was given back.

Only glibc tells. Python's own allocator for small objects is not in these numbers.
"""

import ctypes
import math
import os
import sys
from dataclasses import dataclass

_FIELDS = (
    *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
    *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
)


class _Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in _FIELDS]


@dataclass(frozen=True)
class Heap:
    """Bytes that the program uses, and bytes of freed pieces between them."""

    used: float
    free: float


def heap() -> Heap:
    """Ask the allocator; NaN where it does not tell."""
    function = _glibc("mallinfo2")
    if function is None:
        return Heap(math.nan, math.nan)
    function.restype = _Mallinfo
    found = function()
    return Heap(found.uordblks + found.hblkhd, found.fordblks)


def kept(before: Heap, after: Heap, growth: int) -> float:
    """Give how much of what was freed between two moments the process still holds.

    `growth` is how much more it holds in RAM. What grew without being used is kept, as far as the
    free pieces grew; those that were returned before are in both moments and cancel.
    """
    unused = growth - (after.used - before.used)
    return max(0.0, float(min(after.free - before.free, unused))) if unused == unused else math.nan


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

"""What the C library's allocator has handed out, and what it keeps after the program freed it.

Only glibc reports this. The numbers do not cover Python's own allocator for small objects.
"""

import ctypes
import math
import os
import sys
from dataclasses import dataclass

LARGEST_BLOCK = 512
"""Size in bytes of the largest object that Python's own allocator serves."""

_FIELDS = (
    *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
    *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
)


class _Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in _FIELDS]


@dataclass(frozen=True)
class Heap:
    """The state of the C library's heap; amounts are bytes, NaN where they are unknown."""

    used: float
    free: float
    """Freed by the program, and not returned to the system."""
    blocks: int = 0
    """Number of small Python objects, whose memory does not come from this heap."""


def heap() -> Heap:
    """Read the allocator's counters; NaN where it has none."""
    function = _glibc("mallinfo2")
    if function is None:
        return Heap(math.nan, math.nan)
    function.restype = _Mallinfo
    counters = function()
    used = counters.uordblks + counters.hblkhd
    return Heap(used, counters.fordblks, sys.getallocatedblocks())


def kept(before: Heap, after: Heap, growth: int) -> float:
    """Return how many bytes freed between two moments the process certainly still holds.

    `growth` is how many more bytes it holds in RAM. Growth that is not in use was kept, up to the
    growth of the free pieces; pieces that were free at both moments cancel out.
    """
    unused = growth - (after.used - before.used)
    if math.isnan(unused):
        return math.nan
    return max(0.0, float(min(after.free - before.free, unused)))


def perhaps_kept(before: Heap, after: Heap, growth: int) -> float:
    """Return how many bytes of the growth in RAM the allocator has not handed out.

    Either they were freed and kept in pieces that were free before but not in RAM, or somebody
    took memory without the C library; the two look the same. NaN if much of it may be in Python's
    own allocator.
    """
    unused = growth - (after.used - before.used)
    taken_by_python = LARGEST_BLOCK * (after.blocks - before.blocks)
    return max(0.0, float(unused)) if taken_by_python < 0.1 * unused else math.nan


def reusable(heap: Heap, resident: float) -> float:
    """Return the most bytes that could be reused without taking more RAM."""
    if math.isnan(heap.free):
        return math.nan
    return max(0.0, min(heap.free, resident - heap.used))


def trim() -> bool:
    """Have the allocator return free memory to the system; return whether that is possible."""
    function = _glibc("malloc_trim")
    if function is None:
        return False
    function(0)
    return True


_library: ctypes.CDLL | None = None


def _glibc(name: str) -> "ctypes._NamedFuncPointer | None":
    """Return a function of glibc's allocator; None if another allocator is in use."""
    global _library
    others = ("jemalloc", "tcmalloc", "mimalloc")
    if sys.platform != "linux" or any(o in os.environ.get("LD_PRELOAD", "") for o in others):
        return None
    _library = _library or ctypes.CDLL(None)
    return getattr(_library, name, None)

"""Snapshots of what tracemalloc has traced, added up by traceback.

A snapshot is a Python object per block of memory: these are turned into arrays at once, because
tracemalloc traces them, too, and they can be as large as what they describe.
"""

import _tracemalloc
import ctypes
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from nbprof.capture.python.allocation_log import is_profilings

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from nbprof.arrays import Ints
    from nbprof.capture.python.allocation_log import Traceback

size_of, frames_of = itemgetter(1), itemgetter(2)
"""Parts of a trace as tracemalloc's C code returns it."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What was allocated at one moment, without what nbprof itself had allocated."""

    tracebacks: "list[Traceback]"
    sizes: "Ints"
    """Bytes by traceback."""
    counts: "Ints"
    """Blocks by traceback."""
    own_bytes: int
    """What nbprof itself held at that moment."""
    held_bytes: int
    """How much the traces took while they were read."""

    @property
    def total_bytes(self) -> int:
        """The size of everything in it."""
        return int(self.sizes.sum())

    def by_traceback(self) -> "dict[Traceback, tuple[int, int]]":
        """Return bytes and blocks by traceback."""
        found: dict[Traceback, tuple[int, int]] = {}
        numbers = zip(self.sizes.tolist(), self.counts.tolist(), strict=True)
        for traceback, (size, count) in zip(self.tracebacks, numbers, strict=True):
            size_before, count_before = found.get(traceback, (0, 0))
            found[traceback] = size_before + size, count_before + count
        return found


def take_snapshot() -> Snapshot:
    """Take a snapshot; tracemalloc must be tracing."""
    # Not tracemalloc.take_snapshot: it wraps the same list, and the cell may look at that function.
    before, _ = _tracemalloc.get_traced_memory()
    traces: Any = _tracemalloc._get_traces()
    held = _tracemalloc.get_traced_memory()[0] - before
    # No Python object may be made per trace: tracemalloc would trace that, too, which is slow.
    size = np.fromiter(map(size_of, traces), np.int64, len(traces))
    frames = np.fromiter(map(frames_of, traces), np.object_, len(traces))
    del traces
    _, first, which = np.unique(_addresses(frames), return_index=True, return_inverse=True)
    tracebacks: list[Traceback] = frames[first].tolist()
    # Sums of whole numbers below 2**53 are exact in floats.
    sizes = np.bincount(which, weights=size, minlength=len(tracebacks)).astype(np.int64)
    counts = np.bincount(which, minlength=len(tracebacks))
    users = np.fromiter(_are_users(tracebacks), np.bool_, len(tracebacks))
    return Snapshot(
        tracebacks=[tracebacks[place] for place in np.flatnonzero(users).tolist()],
        sizes=sizes[users],
        counts=counts[users],
        own_bytes=int(sizes[~users].sum()),
        held_bytes=max(held, 0),
    )


def _addresses(objects: "npt.NDArray[np.object_]") -> "Ints":
    """Return where each object is, without making a number object of it.

    Equal tracebacks are one object within a snapshot, and hashing them would be slow.
    """
    if not len(objects):
        return np.zeros(0, dtype=np.int64)
    pointers = (ctypes.c_ssize_t * len(objects)).from_address(objects.ctypes.data)
    addresses: Ints = np.frombuffer(memoryview(pointers).cast("B"), np.intp).astype(np.int64)
    return addresses


def _are_users(tracebacks: "Iterable[Traceback]") -> "Iterable[bool]":
    """Tell for each traceback whether its innermost line is not one of nbprof's own."""
    return (not is_profilings(traceback[0][0]) for traceback in tracebacks)

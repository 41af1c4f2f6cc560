"""Catch what is allocated when Python's memory is at its peak.

tracemalloc tells how high the peak was, but not what it was made of. So a thread looks at the size
of what is traced, and takes a snapshot each time it has grown by some factor since the last one, as
long as that takes little time. Its own memory, which tracemalloc traces as well, is left out.
"""

import _thread
import _tracemalloc
import time
from dataclasses import dataclass

from nbprof.capture.python.allocation_snapshot import Snapshot, take_snapshot

GROWTH = 1.1
"""The factor by which memory must have grown since the last snapshot for another one."""
SMALLEST = 256 << 10
"""The least traced memory in bytes at which a snapshot is taken."""
SHARE = 0.02
"""The largest share of the elapsed time that snapshots may take."""
FREE_SECONDS = 0.01
"""Time in seconds that they may take beyond that share, for short cells."""
SECONDS_PER_BYTE = 1e-8
"""How long the first snapshot is expected to take per byte of tracemalloc's own tables, which grow
with the number of blocks."""
SHORTEST_WAIT = 0.01
"""Seconds between the first looks at the size."""
LATER = 1.01
"""The factor by which each wait is longer than the one before: long cells need fewer looks."""
LONGEST_WAIT = 0.1
"""The most seconds between looks."""


@dataclass(frozen=True, eq=False)
class Peak:
    """The most that was traced, and the largest snapshot."""

    size: int
    """How many bytes of the code's own were traced at the peak."""
    snapshot: Snapshot | None
    """None if none was taken."""


class PeakWatch:
    """Takes snapshots between `start` and `stop`; only for a tracing that is nbprof's own."""

    def __init__(self) -> None:
        self._largest: Snapshot | None = None
        self._largest_bytes = 0
        self._peak = 0
        self._due = SMALLEST
        """Traced bytes from which the next snapshot is due."""
        self._began = 0.0
        self._spent = 0.0
        """Seconds that all snapshots took."""
        self._cost = SECONDS_PER_BYTE
        self._running = False
        self._lock = _thread.allocate_lock()
        """Held during a look, so that there is none after `stop`."""
        self._stop_signal = _thread.allocate_lock()
        """Released when the thread is to end."""

    def start(self) -> None:
        """Start the thread; `threading` does not list it, so the cell cannot see it there."""
        self._began = time.perf_counter()
        self._stop_signal.acquire()
        self._running = True
        try:
            _thread.start_new_thread(self._run, ())
        except RuntimeError:  # the system is out of threads; the last snapshot may be high enough
            self._running = False

    def stop(self) -> None:
        """Look no more."""
        with self._lock:
            if self._running:
                self._running = False
                self._stop_signal.release()

    def peak(self, last: Snapshot, traced_peak: int) -> Peak:
        """Return the peak, given the snapshot at the end and tracemalloc's peak right before it."""
        size = max(self._peak, traced_peak - last.own_bytes)
        if self._largest is None or last.total_bytes >= self._largest_bytes:
            return Peak(max(size, last.total_bytes), last)
        return Peak(max(size, self._largest_bytes), self._largest)

    def _run(self) -> None:
        wait = SHORTEST_WAIT
        while not self._stop_signal.acquire(timeout=wait):
            with self._lock:
                if not self._running:
                    return
                self._look()
            wait = min(LATER * wait, LONGEST_WAIT)

    def _look(self) -> None:
        traced, _ = _tracemalloc.get_traced_memory()
        if traced >= self._due and self._affords(_tracemalloc.get_tracemalloc_memory()):
            self._take()

    def _affords(self, tables: int) -> bool:
        elapsed = time.perf_counter() - self._began
        return self._spent + self._cost * tables <= FREE_SECONDS + SHARE * elapsed

    def _take(self) -> None:
        began, tables = time.perf_counter(), _tracemalloc.get_tracemalloc_memory()
        _, until_now = _tracemalloc.get_traced_memory()
        snapshot = take_snapshot()
        _, meanwhile = _tracemalloc.get_traced_memory()
        _tracemalloc.reset_peak()  # it was that of the snapshot's own memory
        own = snapshot.own_bytes
        self._peak = max(self._peak, until_now - own, meanwhile - own - snapshot.held_bytes)
        if snapshot.total_bytes > self._largest_bytes:
            self._largest, self._largest_bytes = snapshot, snapshot.total_bytes
        self._due = max(SMALLEST, int(GROWTH * (snapshot.total_bytes + own)))
        took = time.perf_counter() - began
        self._spent += took
        self._cost = took / max(tables, 1)

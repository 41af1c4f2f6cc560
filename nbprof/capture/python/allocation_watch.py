"""Watch what is allocated in Python, with tracemalloc."""

import _tracemalloc
import gc
import sys
from typing import TYPE_CHECKING

import numpy as np

from nbprof.capture.python.allocation_log import AllocationLog
from nbprof.capture.python.allocation_snapshot import Snapshot, take_snapshot
from nbprof.capture.python.peak_watch import Peak, PeakWatch
from nbprof.capture.python.users_tracemalloc import UsersTracemalloc
from nbprof.note import Note
from nbprof.units import BYTES, format_short

if TYPE_CHECKING:
    from nbprof.arrays import Floats
    from nbprof.capture.python.allocation_log import Traceback

FRAMES = 10
"""How many frames of each allocation are kept: enough to find the user's line below pandas. Each
costs time at every allocation."""
ENOUGH = 0.8
"""The least share of the peak that a snapshot must have caught."""
NEARLY_ALL = 0.99
"""The share of the peak from which nothing needs to be said."""
NOTABLE_BYTES = 1 << 20
"""The least memory of tracemalloc's own that is noted."""

LEFT, PEAK, BEFORE = "alloc_bytes", "alloc_peak_bytes", "alloc_before_bytes"
ALL = (LEFT, "alloc_count", PEAK, BEFORE)

SLOWER = (
    "tracemalloc traced every allocation of Python, which slows down code with many small objects: "
    "times are longer than bare"
)
TENSORS = (
    "allocations of Python do not include tensors, which TensorFlow allocates by itself; "
    "live_bytes of %%tfprof has them"
)
OWN_MEMORY = "the memory of the process includes {size} that tracemalloc itself took"
WAS_ON = (
    "tracemalloc was on before the cell (with {frames}), so allocations are differences to before; "
    "what was allocated at the peak is not known, because looking would have changed the peak that "
    "tracemalloc reports"
)
TAKEN_OVER = (
    "the cell started tracemalloc itself (with {frames}): allocations before that are missing, and "
    "what was allocated at the peak is not known"
)
DROPPED = (
    "the cell {how}, so what it left behind is not known: run it without that to see its "
    "allocations"
)
NOT_TRACED_BEFORE = (
    "what was allocated before the cell is not known: tracemalloc.start() in an earlier cell makes "
    "alloc compare with before"
)
PART_OF_PEAK = "{caught} of the peak of {peak} was caught, and alloc_peak_bytes shows that part"
MISSED_PEAK = (
    "what was allocated at the peak of {peak} is not known: it passed too quickly, and only "
    "{caught} of it was caught"
)


class AllocationWatch:
    """Traces the allocations of all threads from `start` to `stop`; `log` returns them."""

    def __init__(self) -> None:
        self._peak_watch = PeakWatch()
        self._users = UsersTracemalloc(self._peak_watch.stop)
        self._before: Snapshot | None = None
        self._left: Snapshot | None = None
        self._peak: Peak | None = None
        self._was_on = self._running = False
        self._frames = 0
        self._own_bytes = 0

    def start(self) -> None:
        """Switch tracemalloc on, or see what it has traced if it is on."""
        self._was_on = _tracemalloc.is_tracing()
        if self._was_on:
            _collect()
            self._before = take_snapshot()
        else:
            _tracemalloc.start(FRAMES)
        self._running = True
        self._users.start(is_users=self._was_on)
        if not self._was_on:
            self._peak_watch.start()

    def stop(self) -> None:
        """See what is left; switch tracemalloc off unless it is the user's."""
        if not self._running:
            return
        self._running = False
        self._peak_watch.stop()
        try:
            if _tracemalloc.is_tracing():
                self._look_back()
        finally:
            self._users.stop()
            if not self._users.is_users:
                _tracemalloc.stop()

    def _look_back(self) -> None:
        self._own_bytes = _tracemalloc.get_tracemalloc_memory()
        self._frames = _tracemalloc.get_traceback_limit()
        _, traced_peak = _tracemalloc.get_traced_memory()
        _collect()
        self._left = take_snapshot()
        if not self._users.is_users:
            self._peak = self._peak_watch.peak(self._left, traced_peak)

    def log(self) -> AllocationLog:
        """Return what was allocated where."""
        known = {LEFT: self._known_left(), PEAK: self._caught(), BEFORE: self._known_before()}
        found = {name: each.by_traceback() for name, each in known.items() if each is not None}
        tracebacks = tuple(dict.fromkeys(each for sums in found.values() for each in sums))
        left_bytes, left_count = _numbers(found.get(LEFT), tracebacks)
        peak_bytes, _ = _numbers(found.get(PEAK), tracebacks)
        before_bytes, before_count = _numbers(found.get(BEFORE), tracebacks)
        if BEFORE in found:
            left_bytes, left_count = left_bytes - before_bytes, left_count - before_count
        return AllocationLog(
            tracebacks=tracebacks,
            frames=self._frames,
            left_bytes=left_bytes,
            left_count=left_count,
            peak_bytes=peak_bytes,
            before_bytes=before_bytes,
            notes=self._notes(),
        )

    def _known_left(self) -> Snapshot | None:
        return None if self._users.dropped else self._left

    def _known_before(self) -> Snapshot | None:
        return None if self._users.dropped or self._users.taken_over else self._before

    def _caught(self) -> Snapshot | None:
        """Return the snapshot of the peak, if it has caught enough of it."""
        peak = self._peak
        if peak is None or peak.snapshot is None or self._users.dropped:
            return None
        return peak.snapshot if peak.snapshot.total_bytes >= ENOUGH * peak.size else None

    def _notes(self) -> tuple[str, ...]:
        """Say what is not known, and what tracing cost."""
        notes: list[str] = [SLOWER]
        if self._own_bytes >= NOTABLE_BYTES:
            notes.append(OWN_MEMORY.format(size=_size(self._own_bytes)))
        if "tensorflow" in sys.modules:
            notes.append(Note(TENSORS, (LEFT, PEAK)))
        notes += self._what_is_not_known()
        return tuple(notes)

    def _what_is_not_known(self) -> list[str]:
        frames = "1 frame" if self._frames == 1 else f"{self._frames} frames"
        if self._users.dropped or self._left is None:
            how = "cleared tracemalloc's traces" if self._left else "stopped tracemalloc"
            return [Note(DROPPED.format(how=how), ALL)]
        if self._users.taken_over:
            return [Note(TAKEN_OVER.format(frames=frames), ALL)]
        if self._was_on:
            return [Note(WAS_ON.format(frames=frames), ALL)]
        return [Note(NOT_TRACED_BEFORE, (BEFORE,)), *self._about_peak()]

    def _about_peak(self) -> list[str]:
        peak = self._peak
        if peak is None or peak.snapshot is None or not peak.size:
            return []
        share = peak.snapshot.total_bytes / peak.size
        if share >= NEARLY_ALL:
            return []
        text = PART_OF_PEAK if share >= ENOUGH else MISSED_PEAK
        return [Note(text.format(caught=f"{share:.0%}", peak=_size(peak.size)), (PEAK,))]


def _collect() -> None:
    """Free what only the garbage collector can, unless the user has switched it off."""
    if gc.isenabled():
        gc.collect()


def _numbers(
    found: "dict[Traceback, tuple[int, int]] | None", tracebacks: "tuple[Traceback, ...]"
) -> "tuple[Floats, Floats]":
    """Return bytes and blocks by traceback; NaN if they are not known."""
    if found is None:
        unknown = np.full(len(tracebacks), np.nan)
        return unknown, unknown
    numbers = [found.get(traceback, (0, 0)) for traceback in tracebacks]
    both = np.array(numbers, dtype=np.float64).reshape(len(numbers), 2)
    return both[:, 0], both[:, 1]


def _size(size: float) -> str:
    return format_short(size, BYTES)

"""The curve: a thread that samples the watermark while the code runs.

Each sample has the memory in RAM at that moment and the most since the sample before, so the upper
edge of the curve is exact however rarely the thread gets to run. A call that holds the GIL for long
leaves a gap between samples, and the gap is recorded.
"""

import _thread
import os
import sys
import threading
import time
from array import array
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from nbprof.memory.watermark import Reading, Stretch, Watermark

PERIOD = 0.01
"""Seconds between samples in a short run."""
MOST_SAMPLES = 2000
"""In a long run, the time between samples is the elapsed time divided by this."""
GAP_PERIODS = 5
"""Samples further apart than this many periods have a gap between them."""
CHILDREN_PERIOD = 0.1
"""Shortest time between samples of the child processes, in seconds."""
CHILDREN_SHARE = 0.0025
"""The largest share of the time to spend on sampling child processes."""
CPU_SHARE = 0.004
"""The largest share of the elapsed time that sampling may take in CPU time, children included."""
FREE_CPU = 0.005
"""CPU time in seconds that short runs may take beyond that share."""
LONGEST_WAIT = 0.25
"""The most seconds to wait because samples are expensive."""


@dataclass(frozen=True, eq=False)
class Curve:
    """Memory over time; each array has one entry per sample."""

    seconds: "array[float]" = field(default_factory=lambda: array("d"))
    resident: "array[float]" = field(default_factory=lambda: array("d"))
    """Bytes held at that moment."""
    most: "array[float]" = field(default_factory=lambda: array("d"))
    """The most bytes held since the sample before."""
    gap: "array[int]" = field(default_factory=lambda: array("b"))
    """1 if there is a gap between the sample before and this one, otherwise 0."""

    def add(self, seconds: float, resident: float, most: float, period: float) -> None:
        """Append a sample, due `period` seconds after the one before (0 for the first)."""
        last = self.seconds[-1] if self.seconds else seconds
        self.gap.append(period > 0 and seconds - last > GAP_PERIODS * period)
        self.seconds.append(seconds)
        self.resident.append(resident)
        self.most.append(most)

    def gaps(self) -> list[bool]:
        """Return, for each sample, whether there is a gap before it."""
        return [gap != 0 for gap in self.gap]


class Sampler:
    """The sampling thread, from `start` to `stop` or until `timeout` seconds have passed."""

    def __init__(
        self,
        watermark: Watermark,
        period: float | None,
        timeout: float | None,
        on_timeout: Callable[[], object],
        on_turn: Callable[[], object] = int,
    ) -> None:
        self.curve = Curve()
        self.children: float | None = None
        """The most bytes the children held together in any sample; None without children."""
        self.most_with_children = 0.0
        """The most bytes this process and its children held together in any sample."""
        self._watermark = watermark
        self._period = period
        self._timeout = timeout
        self._on_timeout = on_timeout
        self._on_turn = on_turn
        self._stretch: Stretch | None = None
        self._began = time.perf_counter()
        self._children_due = CHILDREN_PERIOD
        self._wait = period or PERIOD
        """Seconds between the last sample and the next."""
        self._stopped = False
        self._paused = False
        self._lock = threading.Lock()
        """Held while a sample is taken, so that none is taken after `stop`."""
        self._stop_signal = threading.Lock()
        """Released when the thread is to end."""

    def start(self) -> None:
        """Start the thread before the clock.

        Nothing waits for it, here or in `stop`: on a busy machine that would take milliseconds.
        """
        self._stop_signal.acquire()
        _thread.start_new_thread(self._run, ())

    def begin(self, stretch: Stretch, began: float) -> None:
        """Record the first sample; `began` is the start of the clock."""
        self.curve.add(0.0, stretch.before, stretch.before, 0.0)
        self._stretch, self._began = stretch, began

    def stop(self) -> None:
        """Take no more samples; `begin` need not have been called."""
        with self._lock:
            self._stopped = True
        self._stop_signal.release()

    def pause(self) -> None:
        """Record a sample, and no more until `resume`."""
        with self._lock:
            if self._stretch is not None and not self._stopped:
                self._sample(self._stretch)
                self._paused = True

    def resume(self) -> None:
        """Record a sample that excludes the pause, after a gap."""
        with self._lock:
            if self._paused and self._stretch is not None and not self._stopped:
                resident = self._watermark.sample(self._stretch).resident
                self.curve.add(self._elapsed(), resident, resident, 0.0)
                self.curve.gap[-1] = 1
            self._paused = False

    def end(self, reading: Reading, seconds: float) -> None:
        """Record the last sample."""
        self.curve.add(seconds, reading.resident, reading.most, self._wait)
        self.sample_children(reading.resident)

    def _run(self) -> None:
        began_cpu = time.thread_time()
        while not self._stop_signal.acquire(timeout=self._wait):
            self._on_turn()
            if self._stretch is None:
                continue
            with self._lock:
                if self._stopped:
                    return
                if self._paused:
                    continue
                if self._timeout is not None and self._elapsed() >= self._timeout:
                    self._on_timeout()
                    return
                resident, now = self._sample(self._stretch)
            if now >= self._children_due:
                self.sample_children(resident)
                cost = self._elapsed() - now
                self._children_due = now + max(CHILDREN_PERIOD, cost / CHILDREN_SHARE)
            self._wait = self._period or next_wait(self._elapsed(), time.thread_time() - began_cpu)

    def _elapsed(self) -> float:
        return time.perf_counter() - self._began

    def _sample(self, stretch: Stretch) -> tuple[int, float]:
        reading = self._watermark.sample(stretch, self._on_turn)
        now = self._elapsed()
        self.curve.add(now, reading.resident, reading.most, self._wait)
        return reading.resident, now

    def sample_children(self, resident: float) -> None:
        """Record what the children hold now, while this process holds `resident` bytes."""
        held = held_by_children()
        if held is not None:
            self.children = max(self.children or 0.0, held)
            self.most_with_children = max(self.most_with_children, resident + held)


def next_wait(elapsed: float, cpu: float) -> float:
    """Return how long to wait for the next sample, in seconds.

    `elapsed` is the time since sampling began, `cpu` the CPU time it has taken since.
    """
    within_share = (cpu - FREE_CPU) / CPU_SHARE - elapsed
    return max(PERIOD, elapsed / MOST_SAMPLES, min(within_share, LONGEST_WAIT))


_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def held_by_children() -> int | None:
    """Return the bytes all descendants hold in RAM; None if there are none.

    A page that several of them share counts for each.
    """
    sizes = _sizes_on_linux() if sys.platform == "linux" else None
    if sizes is None:
        sizes = _sizes_by_psutil()
    return sum(sizes) if sizes else None


def _sizes_on_linux() -> list[int] | None:
    """Read `/proc`, ten times faster than psutil; None if this kernel does not list children."""
    sizes: list[int] = []
    parents = ["self"]
    while parents:
        parent = parents.pop()
        children = _children(parent)
        if children is None and parent == "self":
            return None
        for child in children or ():
            try:
                pages = int(Path(f"/proc/{child}/statm").read_bytes().split()[1])
            except (OSError, IndexError):  # it has exited meanwhile
                continue
            sizes.append(pages * _PAGE_BYTES)
            parents.append(child)
    return sizes


def _children(process: str) -> list[str] | None:
    """List a process's children, which Linux lists by thread; None if they cannot be read."""
    found: list[str] | None = None
    with suppress(OSError):
        for thread in Path(f"/proc/{process}/task").iterdir():
            with suppress(OSError):  # the thread has ended meanwhile
                children = (thread / "children").read_bytes().decode().split()
                found = [*(found or ()), *children]
    return found


def _sizes_by_psutil() -> list[int]:
    import psutil

    sizes: list[int] = []
    for child in psutil.Process().children(recursive=True):
        try:
            sizes.append(child.memory_info().rss)
        except psutil.Error:  # it has exited meanwhile
            continue
    return sizes

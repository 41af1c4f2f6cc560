"""The curve: a thread that looks at the watermark now and then while the code runs.

Each sample holds what was in RAM at that moment and the most since the sample before, so the upper
edge of the curve is exact however seldom the thread gets to run. A call that keeps Python's lock
for long leaves a gap between samples, which stays a gap.
"""

import _thread
import threading
import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field

from nbprof.memory.children import held_by_children
from nbprof.memory.watermark import Reading, Stretch, Watermark

PERIOD = 0.01
"""Seconds between samples of a short stretch."""
MANY = 2000
"""In a longer one, the period is the time so far divided by this."""
GAP = 5
"""So many periods without a sample are a gap."""
CHILDREN_PERIOD = 0.1
CHILDREN_SHARE = 0.01
"""At most this share of the time goes into asking for children."""


@dataclass(frozen=True, eq=False)
class Curve:
    """Memory over time: one entry a sample, in each list."""

    seconds: "array[float]" = field(default_factory=lambda: array("d"))
    resident: "array[float]" = field(default_factory=lambda: array("d"))
    """Bytes held at that moment."""
    most: "array[float]" = field(default_factory=lambda: array("d"))
    """The most bytes held since the sample before."""
    gap: "array[int]" = field(default_factory=lambda: array("b"))
    """1 where the sample before is too long ago to be joined to this one, else 0."""

    def add(self, seconds: float, resident: float, most: float, waited: float) -> None:
        """Append a sample before which so many seconds were to pass; 0: nobody waited."""
        last = self.seconds[-1] if self.seconds else seconds
        self.gap.append(waited > 0 and seconds - last > GAP * waited)
        self.seconds.append(seconds)
        self.resident.append(resident)
        self.most.append(most)

    def gaps(self) -> list[bool]:
        """Tell of each sample whether there is a gap before it."""
        return [gap != 0 for gap in self.gap]


class Sampler:
    """The thread, from `start` to `stop`."""

    def __init__(
        self,
        watermark: Watermark,
        period: float | None,
        limit: float | None,
        reached: Callable[[], None],
    ) -> None:
        self.curve = Curve()
        self.children: float | None = None
        """The most bytes that children were seen to hold together."""
        self.together = 0.0
        """The most bytes that this process and its children were seen to hold together."""
        self._watermark = watermark
        self._period = period
        self._limit = limit
        self._reached = reached
        self._stretch: Stretch | None = None
        self._began = time.perf_counter()
        self._ask_children_at = CHILDREN_PERIOD
        self._over = False
        self._lock = threading.Lock()
        """Held while a sample is taken, so that none is taken after the end."""
        self._alarm = threading.Lock()
        """Held until the thread is to end."""

    def start(self) -> None:
        """Have the thread ready before the clock starts.

        It is not waited for, now or at the end: on a busy machine that takes milliseconds.
        """
        self._alarm.acquire()
        _thread.start_new_thread(self._run, ())

    def begin(self, stretch: Stretch, began: float) -> None:
        """Note the first sample; the clock runs since `began`."""
        self.curve.add(0.0, stretch.before, stretch.before, 0.0)
        self._stretch, self._began = stretch, began

    def stop(self) -> None:
        """Take no more samples; also where none was taken."""
        with self._lock:
            self._over = True
        self._alarm.release()

    def end(self, reading: Reading, seconds: float) -> None:
        """Note the last sample."""
        self.curve.add(seconds, *_both(reading), self._wait(seconds))
        self.ask_children(reading.resident)

    def _run(self) -> None:
        while not self._alarm.acquire(timeout=self._wait(time.perf_counter() - self._began)):
            if self._stretch is None:
                continue
            with self._lock:
                if self._over:
                    return
                if self._limit is not None and time.perf_counter() - self._began >= self._limit:
                    self._reached()
                    return
                resident, now = self._sample(self._stretch)
            if now >= self._ask_children_at:
                self.ask_children(resident)
                cost = time.perf_counter() - self._began - now
                self._ask_children_at = now + max(CHILDREN_PERIOD, cost / CHILDREN_SHARE)

    def _sample(self, stretch: Stretch) -> tuple[int, float]:
        reading = self._watermark.sample(stretch)
        now = time.perf_counter() - self._began
        self.curve.add(now, *_both(reading), self._wait(now))
        return reading.resident, now

    def _wait(self, elapsed: float) -> float:
        return self._period or max(PERIOD, elapsed / MANY)

    def ask_children(self, resident: float) -> None:
        """Note what children hold now."""
        held = held_by_children()
        if held is not None:
            self.children = max(self.children or 0.0, held)
            self.together = max(self.together, resident + held)


def _both(reading: Reading) -> tuple[int, int]:
    return reading.resident, reading.most

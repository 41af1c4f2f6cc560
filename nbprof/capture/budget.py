"""Limit a recording, in seconds and roughly in events.

An eager loop makes 160,000 events a second, and TensorFlow needs microseconds and hundreds of bytes
for each when the trace ends. A thread checks the limits four times a second.
"""

from collections.abc import Callable, Mapping
from threading import Event, Thread

from nbprof.capture.compat import definitions

MAX_EVENTS = 2_000_000
"""Estimated number of events at which tracing ends."""
EVENTS_PER_EAGER_OP = 12
"""Approximate number of events per call of an eager op."""
EVENTS_PER_NODE = 5
"""Approximate number of events per node and call of a function."""
CHECK_EVERY = 0.25
"""Seconds between checks."""


class Budget:
    """Calls `exhausted(why)` on its own thread when a limit is reached, unless closed before."""

    def __init__(
        self, seconds: float, counts: Mapping[str | bytes, int], exhausted: Callable[[str], None]
    ) -> None:
        self._seconds = seconds
        self._counts = counts
        self._exhausted = exhausted
        self._closed = Event()
        self._thread = Thread(target=self._watch, name="nbprof budget", daemon=True)

    def __enter__(self) -> "Budget":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        self._thread.join()

    def _watch(self) -> None:
        waited = 0.0
        while not self._closed.wait(min(CHECK_EVERY, self._seconds - waited)):
            waited += CHECK_EVERY
            if waited >= self._seconds:
                return self._exhausted(f"after {self._seconds:g} s (-limit)")
            if estimate(dict(self._counts)) >= MAX_EVENTS:
                return self._exhausted("after about two million events")
        return None


def estimate(counts: Mapping[str | bytes, int]) -> int:
    """Estimate the events that these calls of ops and functions made; loop bodies count once."""
    return sum(count * _events_of(op) for op, count in counts.items())


def _events_of(op: str | bytes) -> int:
    name = op.decode() if isinstance(op, bytes) else op  # TensorFlow passes both
    is_function = name.startswith("__")
    return EVENTS_PER_NODE * definitions.function_size(name) if is_function else EVENTS_PER_EAGER_OP

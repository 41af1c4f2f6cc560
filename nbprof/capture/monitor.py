"""A thread that looks after a recording while the cell runs."""

from collections.abc import Callable
from threading import Event, Thread

CHECK_EVERY = 0.05
"""Seconds between two looks."""


class Monitor:
    """Calls `look()` on its own thread every now and then until that returns False."""

    def __init__(self, look: Callable[[], bool]) -> None:
        self._look = look
        self._closed = Event()
        self._thread = Thread(target=self._run, name="nbprof budget", daemon=True)

    def __enter__(self) -> "Monitor":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closed.wait(CHECK_EVERY):
            if not self._look():
                return

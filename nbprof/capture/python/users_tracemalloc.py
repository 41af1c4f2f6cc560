"""Let a cell use tracemalloc as if nbprof did not use it, too.

There is one tracemalloc in a process. While nbprof has it on for itself, the cell finds it off; if
the cell switches it on, it is the cell's from then on, with the cell's own limit of frames.
"""

import _tracemalloc
import tracemalloc
from collections.abc import Callable
from typing import Any

WATCHED = ("start", "stop", "clear_traces", "reset_peak", "is_tracing")
"""The functions of tracemalloc's that are replaced during the cell."""


class UsersTracemalloc:
    """Replaces tracemalloc's functions between `start` and `stop`.

    `give_way` is called before tracing becomes the cell's.
    """

    def __init__(self, give_way: Callable[[], None]) -> None:
        self.is_users = False
        """Whether the tracing is the cell's, not nbprof's."""
        self.dropped = False
        """Whether the cell dropped traces: it stopped tracing, or cleared them."""
        self.taken_over = False
        """Whether the cell started a tracing of its own after it had begun."""
        self._give_way = give_way
        self._running = False
        self._replaced: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {}

    def start(self, *, is_users: bool) -> None:
        """Replace the functions; `is_users` if tracing was on before the cell."""
        self.is_users = is_users
        self._running = True
        for name in WATCHED:
            before, ours = getattr(tracemalloc, name), getattr(self, f"_{name}")
            self._replaced[name] = before, ours
            setattr(tracemalloc, name, ours)

    def stop(self) -> None:
        """Put the functions back, unless the cell has replaced them since."""
        self._running = False
        for name, (before, ours) in self._replaced.items():
            if getattr(tracemalloc, name) is ours:
                setattr(tracemalloc, name, before)
        self._replaced = {}

    # The cell may keep these functions; they then go on as tracemalloc's own.

    def _start(self, nframe: int = 1) -> None:
        if self._running and not self.is_users:
            self._give_way()
            _tracemalloc.stop()
            self.is_users = self.taken_over = True
        _tracemalloc.start(nframe)

    def _stop(self) -> None:
        if not self._running or self.is_users:
            self.dropped = True
            _tracemalloc.stop()

    def _clear_traces(self) -> None:
        if not self._running or self.is_users:
            self.dropped = True
            _tracemalloc.clear_traces()

    def _reset_peak(self) -> None:
        if not self._running or self.is_users:
            _tracemalloc.reset_peak()

    def _is_tracing(self) -> bool:
        return _tracemalloc.is_tracing() and (self.is_users or not self._running)

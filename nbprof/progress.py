"""Show a progress bar, on stderr or in the notebook, for work that takes over a second.

    with progress("reading vm.xplane.pb", size, "B") as done:
        for part in parts:
            ...
            done(len(part))

The bar disappears when the work is done, fails or is interrupted.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

AFTER_SECONDS = 1.0
"""Seconds before a bar is shown."""

Done = Callable[[int], object]
"""Reports how many more units of work are done."""


def ignore_progress(_count: int) -> None:
    """Do nothing, for callers that show no progress."""


@contextmanager
def progress(what: str, total: int | None, unit: str = "") -> Iterator[Done]:
    """Show how much of `total` (None if unknown) is done, once the work has taken a second."""
    bar = _Bar(what, total, unit)
    try:
        yield bar.done
    finally:
        bar.close()


class _Bar:
    """A bar that is created, and tqdm imported, only once it is due."""

    def __init__(self, what: str, total: int | None, unit: str) -> None:
        self._what, self._total, self._unit = what, total, unit
        self._count = 0
        self._due = time.monotonic() + AFTER_SECONDS
        self._shown: Any = None

    def done(self, count: int) -> None:
        self._count += count
        if self._shown is not None:
            self._shown.update(count)
        elif time.monotonic() >= self._due and self._is_unfinished and _is_watched():
            self._shown = _tqdm(self._what, self._total, self._unit, self._count)

    @property
    def _is_unfinished(self) -> bool:
        return self._total is None or self._count < self._total

    def close(self) -> None:
        if self._shown is not None:
            self._shown.close()


def _is_watched() -> bool:
    """Return whether stderr is visible: a terminal or a notebook, not a file."""
    return _in_notebook() or bool(getattr(sys.stderr, "isatty", bool)())


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and hasattr(shell, "kernel")


def _tqdm(what: str, total: int | None, unit: str, count: int) -> Any:
    """Create a bar of plain text, which every front end shows."""
    from tqdm import tqdm

    return tqdm(
        desc=what,
        total=total,
        initial=count,
        unit=unit or "it",
        unit_scale=unit == "B",
        unit_divisor=1024,
        leave=False,
        file=sys.stderr,
        dynamic_ncols=True,
    )

"""A progress bar for work over one second: on stderr, or in the notebook; none for quick work.

    with progress("reading vm.xplane.pb", size, "B") as done:
        for part in parts:
            ...
            done(len(part))

The bar goes away when the work is done, failed or was interrupted.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

AFTER_SECONDS = 1.0
"""How long work may take before it shows a bar."""

Done = Callable[[int], object]
"""Says that so many more units are done."""


def no_matter(_count: int) -> None:
    """Be told how much is done, and show nothing."""


@contextmanager
def progress(what: str, total: int | None, unit: str = "") -> Iterator[Done]:
    """Show how much of `total` is done, once the work has taken a second; None: nobody knows it."""
    bar = _Bar(what, total, unit)
    try:
        yield bar.done
    finally:
        bar.close()


class _Bar:
    """A bar that is made when it is due; tqdm is not imported before."""

    def __init__(self, what: str, total: int | None, unit: str) -> None:
        self._what, self._total, self._unit = what, total, unit
        self._count = 0
        self._due = time.monotonic() + AFTER_SECONDS
        self._shown: Any = None

    def done(self, count: int) -> None:
        self._count += count
        if self._shown is not None:
            self._shown.update(count)
        elif time.monotonic() >= self._due and self._goes_on and _is_watched():
            self._shown = _tqdm(self._what, self._total, self._unit, self._count)

    @property
    def _goes_on(self) -> bool:
        return self._total is None or self._count < self._total

    def close(self) -> None:
        if self._shown is not None:
            self._shown.close()


def _is_watched() -> bool:
    """Tell whether somebody sees stderr: a terminal or a notebook, not a file."""
    return _in_notebook() or bool(getattr(sys.stderr, "isatty", bool)())


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and hasattr(shell, "kernel")


def _tqdm(what: str, total: int | None, unit: str, count: int) -> Any:
    """Make the bar: of plain text, which every front end shows, as stderr of a notebook too."""
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

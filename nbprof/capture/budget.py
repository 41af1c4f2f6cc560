"""Decide which stretches of a cell to trace, from what earlier stretches measured.

TensorFlow keeps every event of a session in memory until the session ends, and needs about three
times as much again to write them. So a trace is written in windows, each of which tells how many
bytes a step makes, or a second in a cell without steps. `Budget` knows only numbers; `Tracer` does
what it decides.
"""

from dataclasses import dataclass
from enum import Enum

from nbprof.capture.capture import HELD_PER_BYTE
from nbprof.flag_values import StepRange

MEGABYTE = 1_000_000
BUDGET = 2_500_000
"""Bytes of trace to record unless more is asked for: some 80,000 events of graphs or 150,000 of
eager ops, for which TensorFlow needs 0.3 s to write them and 60 MB of memory."""
CEILING = 40 * MEGABYTE
"""Bytes of trace to record at most."""
WINDOW = 3 * MEGABYTE
"""Bytes of trace at which to write a window, so that memory does not pile up."""
LEAST = 0.1
"""Share of the budget that must be left for another window."""

FIRST_LOOK = 0.2
"""Seconds after which the first window is measured, at the end of a warm step."""
LONG_BETWEEN = 0.2
"""Seconds after a step in which the end of the next one is waited for; after that, time counts."""
LARGE_GROWTH = 40 * MEGABYTE
"""Bytes by which the process may grow before a window is measured at the end of a step."""
HUGE_GROWTH = 120 * MEGABYTE
"""Bytes by which the process may grow before a window is measured within a step."""


class Decision(Enum):
    """What to do now."""

    GO_ON = "go on as before"
    BEGIN = "open a window"
    CUT = "write the window; go on in another one if the budget allows it"
    HURRY = "do the same at once, wherever the cell is"
    END = "write the window and trace no more"


@dataclass
class Window:
    """What the open window has covered so far."""

    began: float
    """When it began, in seconds."""
    held: int
    """Bytes that the process held then."""
    steps: int = 0
    warm: int = 0
    """Number of its steps that traced no function."""
    stepped: float | None = None
    """When the last of its steps ended, in seconds; None if it has none."""

    def since_step(self, now: float) -> float:
        """Return how many seconds ago its last step ended; without steps, how long it lasts."""
        return now - (self.began if self.stepped is None else self.stepped)

    def ends_with_step(self, now: float) -> bool:
        """Return whether the end of a step is the place to end it."""
        return self.steps > 0 and self.since_step(now) <= LONG_BETWEEN


class Budget:
    """Decides at the end of each step, and now and then in between.

    `wanted` is which steps to trace; None: the first ones, cold and warm. `asked` lifts the budget
    up to the ceiling. Times are in seconds, sizes in bytes.
    """

    def __init__(self, wanted: StepRange | None = None, *, asked: bool = False) -> None:
        self._wanted = wanted
        self.whole = CEILING if asked or wanted else BUDGET
        """Bytes of trace to record at most."""
        self.used = 0
        """Bytes of trace recorded so far."""
        self._steps = 0
        self._warm = 0
        self._per_step = 0.0
        self._per_second = 0.0
        self._among_steps = False
        """Whether the last window ended in a step or with one, so that another one may be near."""
        self._large, self._huge = LARGE_GROWTH, HUGE_GROWTH
        self.over = False
        """Whether nothing more will be traced."""
        self.exhausted = False
        """Whether that is because the budget was used up."""
        self.came = self.begins_at_once
        """Whether any of the steps to trace has come."""

    @property
    def begins_at_once(self) -> bool:
        """Whether to trace from the cell's start."""
        wanted = self._wanted
        return wanted is None or not (wanted.count or wanted.first)

    def after_step(self, window: Window | None, now: float, held: int, *, built: bool) -> Decision:
        """Decide at the end of a step."""
        self._steps += 1
        if self.over:
            return Decision.GO_ON
        if window is None:
            is_time = self._is_time(built)
            self.came |= is_time
            return Decision.BEGIN if is_time else Decision.GO_ON
        window.steps += 1
        window.warm += not built
        window.stepped = now
        if self._is_complete(window):
            return Decision.END
        return Decision.CUT if self._is_full(window, now, held) else Decision.GO_ON

    def _is_time(self, built: bool) -> bool:
        wanted = self._wanted
        if wanted is None:
            return True
        return not built if wanted.count else wanted.first <= self._steps < wanted.last

    def _is_complete(self, window: Window) -> bool:
        wanted = self._wanted
        if wanted is None:
            return False
        if wanted.count:
            return self._warm + window.warm >= wanted.count
        return self._steps >= wanted.last

    def _is_full(self, window: Window, now: float, held: int) -> bool:
        if held - window.held > self._large:
            return True
        if not self._per_step:
            return window.warm > 0 and now - window.began > FIRST_LOOK
        return self._per_step * (window.steps + 1) > self._allowed

    @property
    def _allowed(self) -> float:
        return min(WINDOW, self.whole - self.used)

    def between_steps(self, window: Window, now: float, held: int, *, in_step: bool) -> Decision:
        """Decide at any other time; `in_step` tells whether the cell's thread runs a step."""
        growth = held - window.held
        if growth > self._huge and now - window.began > FIRST_LOOK:
            return Decision.HURRY if in_step else Decision.CUT
        if in_step or window.ends_with_step(now):
            return Decision.GO_ON
        is_full = growth > self._large or self._is_long(now - window.began)
        return Decision.CUT if is_full else Decision.GO_ON

    def _is_long(self, seconds: float) -> bool:
        if not self._per_second:
            return seconds > FIRST_LOOK
        return self._per_second * seconds > self._allowed

    def measured(
        self, window: Window, size: int, now: float, held: int, *, in_step: bool = False
    ) -> None:
        """Learn how many bytes a window has written.

        `held` is what the process held before; `in_step` tells whether the window ended in a step.
        """
        self.used += size
        self._warm += window.warm
        self._among_steps = in_step or window.ends_with_step(now)
        if self._among_steps:
            self._per_step = size / window.steps if window.steps else self._per_step
            self._per_second = size / max(now - window.began, 1e-3)
        else:  # what its steps wrote is not known; a rate that is too high is soon put right
            self._per_second = size / max(window.since_step(now), 1e-3)
        growth = held - window.held
        if size * HELD_PER_BYTE < growth / 2:  # it was not the trace that grew
            self._large, self._huge = (
                max(limit, 2 * growth) for limit in (self._large, self._huge)
            )

    def goes_on(self) -> bool:
        """Return whether enough is left for another window."""
        left = self.whole - self.used
        if self._wanted is None and self._steps and self._among_steps and not self._warm:
            left = CEILING - self.used  # a warm step is worth it
        if left < max(self._per_step, LEAST * self.whole):
            self.over = self.exhausted = True
        return not self.over

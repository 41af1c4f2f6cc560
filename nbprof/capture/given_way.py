"""Remember the profilers that the cell started itself, and what they kept nbprof from tracing."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import get_ident

from nbprof.capture.compat import profiler_session
from nbprof.units import format_seconds

START_SECONDS = 1.0
"""Seconds within which a profiler runs that another thread was about to start."""

STARTED = "the cell started a profiler of its own ({name}) after {since}"
STARTED_OFTEN = (
    "the cell started a profiler of its own ({name}) {count:,} times, first after {since}"
)
FOR_GOOD = "; nbprof gave way to it and recorded nothing from then on"
FOR_A_WHILE = "; nbprof gave way to it until {until}, and the tables lack that stretch"
EACH_TIME = "; nbprof gave way each time, and the tables lack those stretches"
KEPT_OUT = ", which kept nbprof from tracing {some}the steps that -steps asks for"
BESIDE = ", when nbprof was not tracing"
ITS_OWN = "; %tfprof -from {logdir!r} shows what that profiler recorded"


@dataclass
class _Other:
    name: str
    logdir: str
    since_ns: int
    """When it started, counted from the cell's start; `until_ns` likewise."""
    ended_a_window: bool
    """Whether nbprof was tracing and gave way to it."""
    kept_out: bool = False
    """Whether nbprof was to trace while it ran."""
    thread: int = field(default_factory=get_ident)
    started: float = field(default_factory=time.monotonic)
    seen: bool = False
    """Whether it has been seen running."""
    until_ns: int | None = None
    """When nbprof traced again."""

    @property
    def waits(self) -> bool:
        """Whether nbprof has given way to it and not traced since."""
        return self.ended_a_window and self.until_ns is None

    @property
    def has_begun(self) -> bool:
        """Whether it must be running by now unless it has stopped."""
        is_own = self.thread == get_ident()
        return is_own or self.seen or time.monotonic() - self.started > START_SECONDS

    @property
    def effect(self) -> str:
        """What it meant for the tables, as the rest of a sentence."""
        if self.ended_a_window and self.until_ns is None:
            return FOR_GOOD
        if self.ended_a_window:
            return FOR_A_WHILE
        some = "" if self.until_ns is None else "some of "
        return KEPT_OUT.format(some=some) if self.kept_out else BESIDE


class GivenWay:
    """The profilers that the cell has started."""

    def __init__(self) -> None:
        self._others: list[_Other] = []

    def to(self, name: str, logdir: str, since_ns: int, *, traced: bool) -> None:
        """Note that the calling thread is about to start a profiler.

        `traced` tells whether nbprof was tracing until now.
        """
        self._others.append(_Other(name, logdir, since_ns, ended_a_window=traced or self.waits))

    @property
    def waits(self) -> bool:
        """Whether nbprof has given way and not resumed."""
        return any(other.waits for other in self._others[-1:])

    def is_over(self) -> bool:
        """Return whether the last profiler has certainly stopped, or none was started."""
        if profiler_session.running_profiler() is not None:
            return False
        return all(other.has_begun for other in self._others[-1:])

    def look(self) -> None:
        """Take notice of a profiler that is running."""
        if self._others and profiler_session.running_profiler() is not None:
            self._others[-1].seen = True

    def keeps_out(self) -> None:
        """Note that nbprof was to trace and could not, because the last profiler was running."""
        for other in self._others[-1:]:
            other.kept_out = True

    def resumed(self, now_ns: int) -> None:
        """Note that nbprof traces again."""
        for other in self._others:
            if other.until_ns is None:
                other.until_ns = now_ns

    def notes(self) -> Iterator[str]:
        """Say what was not seen, and where to look for it."""
        alike: dict[tuple[str, str, str], list[_Other]] = {}
        for other in self._others:
            if other.effect != BESIDE or other.logdir:
                alike.setdefault((other.name, other.logdir, other.effect), []).append(other)
        for (_, logdir, _), others in alike.items():
            yield _sentence(others) + (ITS_OWN.format(logdir=logdir) if logdir else "")


def _sentence(others: list[_Other]) -> str:
    """Tell of profilers that differ only in their times."""
    first, count = others[0], len(others)
    since = format_seconds(first.since_ns)
    effect = EACH_TIME if count > 1 and first.effect == FOR_A_WHILE else first.effect
    started = STARTED if count == 1 else STARTED_OFTEN
    text = started.format(name=first.name, since=since, count=count)
    return text + effect.format(until=format_seconds(first.until_ns or 0))

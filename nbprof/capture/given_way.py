"""Remember the profilers that the cell started itself, and for how long nbprof gave way to them."""

from collections.abc import Iterator
from dataclasses import dataclass
from threading import get_ident

from nbprof.capture.compat import profiler_session
from nbprof.units import format_seconds

STARTED = "the cell started a profiler of its own ({name}) after {since}; nbprof gave way to it "
FOR_GOOD = "and recorded nothing from then on"
FOR_A_WHILE = "until {until}, and the tables lack that stretch"
ITS_OWN = "; %tfprof -from {logdir!r} shows what that profiler recorded"


@dataclass
class _Other:
    name: str
    logdir: str
    since_ns: int
    """When it started, counted from the cell's start; `until_ns` likewise."""
    thread: int
    seen: bool = False
    """Whether it has been seen running."""
    until_ns: int | None = None


class GivenWay:
    """The profilers that the cell has started."""

    def __init__(self) -> None:
        self._others: list[_Other] = []

    def to(self, name: str, logdir: str, since_ns: int) -> None:
        """Note that nbprof gives way to a profiler that the calling thread is about to start."""
        self._others.append(_Other(name, logdir, since_ns, get_ident()))

    @property
    def waits(self) -> bool:
        """Whether nbprof has given way and not resumed."""
        return bool(self._others) and self._others[-1].until_ns is None

    def is_over(self) -> bool:
        """Return whether the last profiler has certainly stopped, or none was started."""
        is_running = profiler_session.running_profiler() is not None
        if is_running or not self.waits:
            return not is_running
        last = self._others[-1]
        # Another thread may be about to start it.
        return last.seen or last.thread == get_ident()

    def look(self) -> None:
        """Take notice of a profiler that is running."""
        if self.waits and profiler_session.running_profiler() is not None:
            self._others[-1].seen = True

    def resumed(self, now_ns: int) -> None:
        """Note that nbprof traces again."""
        if self.waits:
            self._others[-1].until_ns = now_ns

    def notes(self) -> Iterator[str]:
        """Say what was not seen, and where to look for it."""
        for other in self._others:
            text = STARTED.format(name=other.name, since=format_seconds(other.since_ns))
            until = other.until_ns
            text += FOR_GOOD if until is None else FOR_A_WHILE.format(until=format_seconds(until))
            yield text + (ITS_OWN.format(logdir=other.logdir) if other.logdir else "")

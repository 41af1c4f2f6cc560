"""The most memory the process has held since a given moment.

Linux keeps that number, the watermark, and lets a process reset it to what it holds now. There is
one watermark for the whole process, so it has one owner here. Every reading resets it, and the
owner passes what was read on to all open stretches, so nested and simultaneous ones stay correct.

Where the watermark cannot be reset, it is still exact when it has risen; when it has not, the peak
is only known to be at least the most that was seen.
"""

import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class Reading:
    """Bytes in RAM: those held now, and the most since the watermark was reset."""

    resident: int
    most: int


class Source(Protocol):
    """Where readings come from."""

    shortcoming: str | None
    """Why the watermark cannot be reset, in a sentence; None if it can."""

    def read(self) -> Reading:
        """Read both numbers."""

    def reset(self) -> None:
        """Reset the watermark to what is held now, if that is possible."""


@dataclass(eq=False)
class Stretch:
    """A stretch of time whose peak is measured."""

    before: int
    """Bytes held when it began."""
    peak: int
    exact: bool
    """Whether `peak` is exact; otherwise it is a lower bound."""
    recent: int = field(repr=False)
    """The most bytes since this stretch was last sampled."""
    mark: int = field(repr=False)
    """The watermark when last read; needed only where it cannot be reset."""


class Watermark:
    """The owner of the process's watermark."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._open: list[Stretch] = []
        self._lock = threading.RLock()  # a signal handler may interrupt a reading of its thread
        self.highest = source.read().most
        """The most bytes the process was ever seen to hold; after a reset, only we know it."""

    @property
    def shortcoming(self) -> str | None:
        """Why peaks may be lower bounds, in a sentence; None if they are exact."""
        return self._source.shortcoming

    def resident(self) -> int:
        """Read what is held now, and nothing else."""
        return self._source.read().resident

    def open(self) -> Stretch:
        """Begin a stretch."""
        with self._lock:
            reading = self._read()
            exact = self._source.shortcoming is None
            now = reading.resident
            stretch = Stretch(now, now, exact, now, reading.most)
            self._open.append(stretch)
            return stretch

    def sample(self, stretch: Stretch, on_turn: Callable[[], object] = int) -> Reading:
        """Read what is held now and the most since this stretch was last sampled.

        `on_turn` is called whenever this thread has waited for the interpreter meanwhile.
        """
        with self._lock:
            reading = self._read(on_turn)
            most, stretch.recent = stretch.recent, reading.resident
            return Reading(reading.resident, most)

    def close(self, stretch: Stretch) -> Reading:
        """Sample a stretch for the last time; its peak is then final."""
        with self._lock:
            reading = self.sample(stretch)
            if stretch in self._open:
                self._open.remove(stretch)
            return reading

    def _read(self, on_turn: Callable[[], object] = int) -> Reading:
        reading = self._source.read()
        on_turn()
        self._source.reset()
        on_turn()
        self.highest = max(self.highest, reading.most)
        can_reset = self._source.shortcoming is None
        for stretch in self._open:
            seen = reading.resident
            if can_reset or reading.most > stretch.mark:
                seen, stretch.mark, stretch.exact = reading.most, reading.most, True
            stretch.peak = max(stretch.peak, seen)
            stretch.recent = max(stretch.recent, seen)
        return reading


class LinuxStatus:
    """Linux: `/proc/self/status` and, to reset the watermark, `/proc/self/clear_refs`."""

    def __init__(self) -> None:
        self._status = os.open("/proc/self/status", os.O_RDONLY | os.O_CLOEXEC)
        self._clear_refs: int | None = None
        self.shortcoming: str | None = None
        try:
            self._clear_refs = os.open("/proc/self/clear_refs", os.O_WRONLY | os.O_CLOEXEC)
            self.reset()
        except OSError as error:
            self._clear_refs = None
            self.shortcoming = (
                "a peak is exact only if it is a new high of the process: Linux refused to reset "
                f"the watermark ({error.strerror}: /proc/self/clear_refs)."
            )

    def read(self) -> Reading:
        """Read VmRSS and VmHWM, which Linux reports in kB of 1,024 bytes."""
        text = os.pread(self._status, 8192, 0)
        return Reading(_kilobytes(text, b"VmRSS:") << 10, _kilobytes(text, b"VmHWM:") << 10)

    def reset(self) -> None:
        """Write 5, which sets VmHWM to VmRSS and changes nothing else."""
        if self._clear_refs is not None:
            os.write(self._clear_refs, b"5")

    def close(self) -> None:
        """Close the files, which after a fork still describe the parent."""
        os.close(self._status)
        if self._clear_refs is not None:
            os.close(self._clear_refs)


def _kilobytes(text: bytes, name: bytes) -> int:
    start = text.find(name)
    if start < 0:
        raise OSError(0, f"no {name.decode()} in /proc/self/status")
    return int(text[start + len(name) : text.index(b"kB", start)])


class Rusage:
    """Any other system: psutil reads the memory held now, the system its highest value ever."""

    shortcoming: str | None = (
        "a peak is exact only if it is a new high of the process: this system cannot reset its "
        "watermark."
    )

    def __init__(self) -> None:
        import psutil

        self._process = psutil.Process()

    def read(self) -> Reading:
        """Read from psutil and getrusage."""
        found = self._process.memory_info()
        if hasattr(found, "peak_wset"):
            return Reading(found.rss, found.peak_wset)
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return Reading(found.rss, most if sys.platform == "darwin" else most << 10)

    def reset(self) -> None:
        """Do nothing: this system cannot reset it."""


_owner: Watermark | None = None


def watermark() -> Watermark:
    """Return the one owner of this process's watermark."""
    global _owner
    if _owner is None:
        _owner = Watermark(_source())
    return _owner


def resident_bytes() -> int:
    """Return how many bytes the process holds, without resetting the watermark."""
    return watermark().resident()


def _source() -> Source:
    try:
        source = LinuxStatus()
        source.read()
    except (OSError, ValueError):  # no such files, or they lack these lines
        return Rusage()
    return source


def _forget() -> None:
    """Start over in a forked process, whose open files still describe the parent."""
    global _owner
    if _owner is not None and isinstance(_owner._source, LinuxStatus):
        _owner._source.close()
    _owner = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)

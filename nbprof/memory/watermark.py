"""The most memory that the process held since some moment.

Linux keeps that number, the watermark, and lets a process set it back to what it holds now. There
is one watermark for the whole process, so it has one owner here: whoever looks at it gives what it
erases to every stretch that is open, and nested or simultaneous stretches all stay right.

Where the watermark cannot be set back, it still says the truth when it has risen; when it has not,
the peak is only known to be at least what was seen.
"""

import os
import sys
import threading
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class Reading:
    """Bytes of memory in RAM: what is held now, and the most since the watermark was set back."""

    resident: int
    most: int


class Source(Protocol):
    """Where readings come from."""

    shortcoming: str | None
    """Why the watermark cannot be set back, in a sentence; None where it can."""

    def read(self) -> Reading:
        """Read both numbers."""

    def set_back(self) -> None:
        """Let the watermark start anew from what is held now, where that is possible."""


@dataclass(eq=False)
class Stretch:
    """A stretch of time of which the peak is wanted."""

    before: int
    """Bytes held when it began."""
    peak: int
    exact: bool
    """Whether `peak` is the peak, and not only a part of it that was seen."""
    recent: int = field(repr=False)
    """The most bytes since this stretch was last sampled."""
    mark: int = field(repr=False)
    """Where the watermark stood when last read, if it cannot be set back."""


class Watermark:
    """The owner of the process' watermark."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._open: list[Stretch] = []
        self._lock = threading.RLock()  # a signal's handler may look while its thread does
        self.highest = source.read().most
        """The most bytes the process was ever seen to hold; setting back makes others forget it."""

    @property
    def shortcoming(self) -> str | None:
        """Why peaks may be only lower bounds, in a sentence; None where they are exact."""
        return self._source.shortcoming

    def open(self) -> Stretch:
        """Begin a stretch."""
        with self._lock:
            reading = self._look()
            exact = self._source.shortcoming is None
            now = reading.resident
            stretch = Stretch(now, now, exact, now, reading.most)
            self._open.append(stretch)
            return stretch

    def sample(self, stretch: Stretch) -> Reading:
        """Read what is held now and the most since this stretch was last sampled."""
        with self._lock:
            reading = self._look()
            most, stretch.recent = stretch.recent, reading.resident
            return Reading(reading.resident, most)

    def close(self, stretch: Stretch) -> Reading:
        """Sample a stretch for the last time; its peak is then final."""
        with self._lock:
            reading = self.sample(stretch)
            if stretch in self._open:
                self._open.remove(stretch)
            return reading

    def _look(self) -> Reading:
        reading = self._source.read()
        self._source.set_back()
        self.highest = max(self.highest, reading.most)
        can_set_back = self._source.shortcoming is None
        for stretch in self._open:
            seen = reading.resident
            if can_set_back or reading.most > stretch.mark:
                seen, stretch.mark, stretch.exact = reading.most, reading.most, True
            stretch.peak = max(stretch.peak, seen)
            stretch.recent = max(stretch.recent, seen)
        return reading


class LinuxStatus:
    """`/proc/self/status` and, to set the watermark back, `/proc/self/clear_refs`."""

    def __init__(self) -> None:
        self._status = os.open("/proc/self/status", os.O_RDONLY | os.O_CLOEXEC)
        self._clear_refs: int | None = None
        self.shortcoming: str | None = None
        try:
            self._clear_refs = os.open("/proc/self/clear_refs", os.O_WRONLY | os.O_CLOEXEC)
            self.set_back()
        except OSError as error:
            self._clear_refs = None
            self.shortcoming = (
                "a peak is exact only where it is a new high of the process: Linux would not "
                f"set its watermark back ({error.strerror} for /proc/self/clear_refs)."
            )

    def read(self) -> Reading:
        """Read VmRSS and VmHWM, which Linux counts in kB of 1,024 bytes."""
        text = os.pread(self._status, 8192, 0)
        return Reading(_kilobytes(text, b"VmRSS:") << 10, _kilobytes(text, b"VmHWM:") << 10)

    def set_back(self) -> None:
        """Write the 5 that sets VmHWM to VmRSS, and changes nothing else."""
        if self._clear_refs is not None:
            os.write(self._clear_refs, b"5")

    def close(self) -> None:
        """Close the files; for a process that has forked and is now another."""
        os.close(self._status)
        if self._clear_refs is not None:
            os.close(self._clear_refs)


def _kilobytes(text: bytes, name: bytes) -> int:
    start = text.find(name)
    if start < 0:
        raise OSError(0, f"no {name.decode()} in /proc/self/status")
    return int(text[start + len(name) : text.index(b"kB", start)])


class Rusage:
    """Any other system: psutil says what is held, the system what was the most ever."""

    shortcoming: str | None = (
        "a peak is exact only where it is a new high of the process: this system does not let "
        "its watermark be set back."
    )

    def __init__(self) -> None:
        import psutil

        self._process = psutil.Process()

    def read(self) -> Reading:
        """Read what psutil and getrusage know."""
        found = self._process.memory_info()
        if hasattr(found, "peak_wset"):
            return Reading(found.rss, found.peak_wset)
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return Reading(found.rss, most if sys.platform == "darwin" else most << 10)

    def set_back(self) -> None:
        """Do nothing: it cannot be done."""


_owner: Watermark | None = None


def watermark() -> Watermark:
    """Give the one owner of this process' watermark."""
    global _owner
    if _owner is None:
        _owner = Watermark(_source())
    return _owner


def _source() -> Source:
    try:
        source = LinuxStatus()
        source.read()
    except (OSError, ValueError):  # no such files, or without these lines
        return Rusage()
    return source


def _forget() -> None:
    """Start anew in a forked process: the open files are still about its parent."""
    global _owner
    if _owner is not None and isinstance(_owner._source, LinuxStatus):
        _owner._source.close()
    _owner = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)

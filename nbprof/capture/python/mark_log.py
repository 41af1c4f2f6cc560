"""The user's own marks in recorded code: spans of time, and counts."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nbprof.arrays import Floats, Ints
from nbprof.capture.python.marks import MarkRecording

if TYPE_CHECKING:
    from array import array

OPEN = -1
"""In place of the time when a span ended: it was still open when the recording ended."""


def _no_ints() -> Ints:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False, kw_only=True)
class MarkLog:
    """Spans in the order they began, and counts; times as `time.time_ns` reports them."""

    names: tuple[str, ...] = ()
    """The distinct names of spans and counters."""
    threads: tuple[tuple[int, str], ...] = ()
    """What `threading.get_ident` returned on each thread that had marks, and the thread's name."""
    name: Ints = field(default_factory=_no_ints)
    """Index into `names` for each span."""
    start_ns: Ints = field(default_factory=_no_ints)
    end_ns: Ints = field(default_factory=_no_ints)
    """OPEN if it had not ended."""
    thread: Ints = field(default_factory=_no_ints)
    """Index into `threads`."""
    parent: Ints = field(default_factory=_no_ints)
    """The span around each span, -1 for none."""
    counter: Ints = field(default_factory=_no_ints)
    """Index into `names` for each count."""
    time_ns: Ints = field(default_factory=_no_ints)
    value: Floats = field(default_factory=lambda: np.zeros(0))
    refused: tuple[str, ...] = ()
    """The names of counters that were given something that is no number."""

    def on_clock(self, cut: Callable[[Ints], Ints]) -> "MarkLog":
        """Put the times on another clock."""
        return replace(
            self,
            start_ns=cut(self.start_ns),
            end_ns=np.where(self.end_ns == OPEN, OPEN, cut(self.end_ns)),
            time_ns=cut(self.time_ns),
        )


def no_marks() -> MarkLog:
    """Return the empty log of code without marks."""
    return MarkLog()


def read_marks(recording: MarkRecording) -> MarkLog:
    """Make columns of what was recorded."""
    # An interrupt may have come between taking a number and using it.
    begins, ended = _by_number(recording.begins, 5), _by_number(recording.ends, 2)
    name, start_ns, thread, parent = begins[:, 1:].T
    ends = np.full(len(begins), OPEN, dtype=np.int64)
    ends[np.searchsorted(begins[:, 0], ended[:, 0])] = ended[:, 1]
    values = np.array(recording.values, dtype=np.float64).reshape(-1, 2)
    values = values[np.argsort(values[:, 0])]
    counts = _by_number(recording.counts, 3)
    counts = counts[np.isin(counts[:, 0], values[:, 0])]
    values = values[np.isin(values[:, 0], counts[:, 0])]
    place = {identity: row for row, identity in enumerate(recording.threads)}
    return MarkLog(
        names=tuple(recording.names),
        threads=tuple(recording.threads.items()),
        name=name,
        start_ns=start_ns,
        end_ns=ends,
        thread=np.array([place[identity] for identity in thread.tolist()], dtype=np.int64),
        parent=np.where(parent < 0, parent, np.searchsorted(begins[:, 0], parent)),
        counter=counts[:, 1],
        time_ns=counts[:, 2],
        value=values[:, 1],
        refused=tuple(sorted(recording.refused)),
    )


def _by_number(numbers: "array[int]", width: int) -> "npt.NDArray[Any]":
    """Return rows of numbers, sorted by the first of each row."""
    rows = np.array(numbers, dtype=np.int64).reshape(-1, width)
    return rows[np.argsort(rows[:, 0])]

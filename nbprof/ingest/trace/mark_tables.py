"""The tables of the user's own marks: spans, and the values of counters."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from nbprof.capture.python.mark_log import OPEN

if TYPE_CHECKING:
    import numpy.typing as npt

    from nbprof.arrays import Ints
    from nbprof.capture.capture import Capture

LISTED = 3
"""List at most this many names in a note."""
STILL_OPEN = "{spans} still open when the cell ended, and ends there: {names}"
"""Note on spans that did not end."""
NO_NUMBERS = "nbprof.count was given values that are no numbers, which do not count: {names}"
"""Note on counters with such values."""


def mark_tables(capture: "Capture") -> dict[str, pd.DataFrame]:
    """Return the spans and counts of a capture, in ns since the cell's start."""
    marks, names = capture.marks, np.array([*capture.marks.names, ""], dtype=object)
    latest = capture.start_ns + capture.wall_ns
    start = np.clip(marks.start_ns, capture.start_ns, latest)
    end = np.where(marks.end_ns == OPEN, latest, np.clip(marks.end_ns, start, latest))
    number, titles = _threads(capture)
    spans = {
        "name": _objects(names[marks.name]),
        "start_ns": start - capture.start_ns,
        "duration_ns": end - start,
        "thread": number[marks.thread],
        "thread_name": _objects(titles[marks.thread]),
        "parent": marks.parent,
    }
    time = np.clip(marks.time_ns, capture.start_ns, latest)
    counts = {
        "name": _objects(names[marks.counter]),
        "start_ns": time - capture.start_ns,
        "value": marks.value,
    }
    return {"spans": pd.DataFrame(spans), "counts": pd.DataFrame(counts)}


def _objects(texts: "npt.NDArray[np.object_]") -> "pd.Series[Any]":
    """Make a column of texts that may hold anything, also what is not UTF-8."""
    return pd.Series(texts, dtype=object)


def _threads(capture: "Capture") -> "tuple[Ints, npt.NDArray[np.object_]]":
    """Number the threads, 0 for the cell's own; also return their names."""
    threads = capture.marks.threads
    others = [identity for identity, _ in threads if identity != capture.thread]
    number = {identity: row for row, identity in enumerate([capture.thread, *others])}
    numbers = np.array([number[identity] for identity, _ in threads], dtype=np.int64)
    return numbers, np.array([name for _, name in threads], dtype=object)


def notes_on_marks(capture: "Capture") -> tuple[str, ...]:
    """Say which spans did not end, and which values are no numbers."""
    marks = capture.marks
    notes: tuple[str, ...] = ()
    still_open = marks.name[marks.end_ns == OPEN].tolist()
    if still_open:
        spans = "a span was" if len(still_open) == 1 else f"{len(still_open)} spans were"
        text = STILL_OPEN.format(spans=spans, names=_listed([marks.names[n] for n in still_open]))
        notes += (text,)
    if marks.refused:
        notes += (NO_NUMBERS.format(names=_listed(marks.refused)),)
    return notes


def _listed(names: "list[str] | tuple[str, ...]") -> str:
    distinct = list(dict.fromkeys(names))
    more = len(distinct) - LISTED
    return ", ".join(distinct[:LISTED]) + (f" and {more} more" if more > 0 else "")

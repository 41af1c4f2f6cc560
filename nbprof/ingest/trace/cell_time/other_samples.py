"""Samples of the threads that worked for the cell besides its own."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import Ints

if TYPE_CHECKING:
    from nbprof.capture.capture import Capture


@dataclass(frozen=True, eq=False, kw_only=True)
class OtherSamples:
    """Samples of other threads; times in ns since the cell's start."""

    start: Ints
    end: Ints
    thread: Ints
    stack: Ints
    """Index into the stacks of the log."""


def samples_of_others(capture: "Capture") -> OtherSamples:
    """Return them: each stands for the time since all threads were looked at before."""
    log = capture.samples
    time = np.clip(log.time_ns - capture.start_ns, 0, capture.wall_ns)
    looks = np.append(0, np.unique(time))
    other = np.flatnonzero(log.thread != 0)
    end = time[other]
    start = looks[np.maximum(np.searchsorted(looks, end) - 1, 0)]
    return OtherSamples(start=start, end=end, thread=log.thread[other], stack=log.stack[other])

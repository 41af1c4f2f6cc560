"""Write `.collapsed`: a line for each stack with its time in µs, as flamegraph.pl reads it.

`main (x.py:3);work (x.py:9) 120`. The format has no way to write a semicolon or a line break of a
name, so a colon and a space stand for them.
"""

from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from nbprof.arrays import NONE, distinct_pairs
from nbprof.export.python.sampled_stacks import check_samples, sampled_stacks
from nbprof.export.python.texts import frame_texts, one_line
from nbprof.export.python.threads import thread_names

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.arrays import Ints, Positions

BETWEEN = "(no code of the cell)"
"""The frame of samples in which no code of the cell was running."""


def write(profile: "Profile", file: BinaryIO) -> None:
    """Write the stacks of each thread; if there are several, the outermost frame names it."""
    check_samples(profile, ".collapsed")
    stacks = sampled_stacks(profile)
    texts = [one_line(text).replace(";", ":") for text in frame_texts(stacks.frames)]
    paths = _paths(texts, stacks.frame, stacks.stack, len(stacks.ns))
    samples = stacks.samples
    threads, numbers, which = distinct_pairs(
        samples["thread"].to_numpy(np.int64), samples["stack"].to_numpy() - NONE, len(paths) + 1
    )
    ns = np.zeros(len(threads), dtype=np.int64)
    np.add.at(ns, which, samples["duration_ns"].to_numpy(np.int64))
    names = thread_names(profile)
    paths = [BETWEEN, *paths]
    for thread, stack, micros in zip(threads.tolist(), numbers.tolist(), _micros(ns), strict=True):
        if micros:
            path = paths[stack]
            if len(names) > 1:
                path = f"{one_line(names[thread]).replace(';', ':')};{path}"
            file.write(f"{path} {micros}\n".encode())


def _paths(texts: list[str], frame: "Positions", stack: "Ints", count: int) -> list[str]:
    """Return the line of each stack, without its number."""
    bounds = np.searchsorted(stack, np.arange(count + 1)).tolist()
    frames = [texts[number] for number in frame.tolist()]
    return [";".join(frames[bounds[row] : bounds[row + 1]]) for row in range(count)]


def _micros(ns: "Ints") -> list[int]:
    """Round to whole µs, such that their sum is that of the times."""
    rounded: list[int] = np.diff((np.cumsum(ns) + 500) // 1000, prepend=0).tolist()
    return rounded

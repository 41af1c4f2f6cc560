"""Read collapsed stacks, one line for each: `main (x.py:3);work (x.py:9) 120`.

py-spy's `raw` format, the scripts of flamegraph.pl and their kin write them. The number counts
samples or any unit of time; the file does not say which.
"""

import numpy as np

from nbprof._profile import Profile
from nbprof.errors import NbprofError
from nbprof.ingest.python.code_names import place_of
from nbprof.ingest.python.damage import DamageError
from nbprof.ingest.python.stack_profile import SampledStacks, durations, profile_of_stacks

UNIT_NS = 1000.0
"""The ns that stand for 1 in the file, so that times in µs are right."""
MOST_DIGITS = 25
"""Most characters of a number."""


def read_collapsed(content: bytes, name: str) -> Profile:
    """Read collapsed stacks; `name` is that of the file."""
    try:
        return profile_of_stacks(_parse(content), name, "collapsed stacks")
    except DamageError as damage:
        raise NbprofError(f"{name} cannot be read as collapsed stacks: {damage}.") from damage


def _parse(content: bytes) -> SampledStacks:
    stack_of: dict[str, int] = {}
    stack, amounts = [], []
    for number, line in enumerate(content.decode("utf-8", "replace").split("\n"), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        frames, _, amount = line.rstrip().rpartition(" ")
        stack.append(stack_of.setdefault(frames, len(stack_of)))
        amounts.append(_amount(amount, number, frames))
    duration = durations(amounts, UNIT_NS)
    places: dict[str, int] = {}
    split = [[*filter(None, frames.split(";"))] for frames in stack_of]
    return SampledStacks(
        place=np.array(
            [places.setdefault(text, len(places)) for frames in split for text in frames], np.int64
        ),
        places=[place_of(text) for text in places],
        depth=np.array([*map(len, split)], dtype=np.int64),
        start_ns=np.cumsum(duration) - duration,
        duration_ns=duration,
        thread=np.zeros(len(duration), dtype=np.int64),
        stack=np.array(stack, dtype=np.int64),
        threads=[""],
        timed=False,
    )


def _amount(text: str, number: int, frames: str) -> float:
    """Return the number at the end of a line."""
    whole, _, decimals = text.partition(".")
    if not (frames and whole.isdigit() and text.isascii() and len(text) <= MOST_DIGITS) or (
        decimals and not decimals.isdigit()
    ):
        raise DamageError(f"line {number:,} does not end in a space and a number")
    return float(text)

"""The distinct stacks of a profile's samples, as columns."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from nbprof.arrays import NONE, Ints, distinct
from nbprof.errors import NbprofError
from nbprof.export.python.distinct_rows import number_rows

if TYPE_CHECKING:
    from nbprof._profile import Profile

NO_SAMPLES = (
    "{suffix} holds stacks of Python, and this profile has no samples of them: profile the cell "
    "with %%pyprof or %%tfprof."
)
COUNT_NS = 1000
"""The ns that stand for a sample whose time is not known."""
FRAME = ["file", "line", "function"]


@dataclass(frozen=True, eq=False, kw_only=True)
class SampledStacks:
    """Stacks, and the samples that have them."""

    frames: pd.DataFrame
    """The distinct frames: `file`, `line`, `function`, perhaps `function_line`."""
    frame: Ints
    """Row of `frames` for every frame of all stacks, outermost first."""
    stack: Ints
    """The stack that each of these belongs to, ascending."""
    ns: Ints
    """How long all samples of each stack lasted together."""
    samples: pd.DataFrame
    """The samples; `stack` is NONE for samples without any frames."""


def check_samples(profile: "Profile", suffix: str) -> None:
    """Raise NbprofError if the stacks of Python were not sampled."""
    if "samples" not in profile.recording.watched:
        raise NbprofError(NO_SAMPLES.format(suffix=suffix))


def sampled_stacks(profile: "Profile") -> SampledStacks:
    """Return the stacks that occur in samples."""
    samples, frames = profile.samples_of_python, profile.frames
    of_sample = samples["stack"].to_numpy(np.int64)
    of_frame = frames["stack"].to_numpy(np.int64)
    known = np.isin(of_frame, np.unique(of_sample))
    order = np.flatnonzero(known)[np.argsort(of_frame[known], kind="stable")]
    numbers, stack = distinct(of_frame[order], int(of_frame.max(initial=0)) + 1)
    columns = [*FRAME, *(["function_line"] if "function_line" in frames else [])]
    listed = frames[columns].iloc[order]
    first, frame = number_rows(*(listed[name].to_numpy() for name in columns))
    highest = max(of_frame.max(initial=0), of_sample.max(initial=0))
    number = np.full(int(highest) + 2, NONE, dtype=np.int64)
    number[numbers] = np.arange(len(numbers))
    sampled = number[of_sample]  # the last entry is for NONE
    ns = np.zeros(len(numbers), dtype=np.int64)
    in_stacks = sampled != NONE
    np.add.at(ns, sampled[in_stacks], samples["duration_ns"].to_numpy(np.int64)[in_stacks])
    return SampledStacks(
        frames=listed.iloc[first].reset_index(drop=True),
        frame=frame,
        stack=stack.astype(np.int64),
        ns=ns,
        samples=samples.assign(stack=sampled),
    )

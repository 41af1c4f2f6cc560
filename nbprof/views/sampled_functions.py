"""What samples say of functions whose calls were counted, since counting slows calls."""

from bisect import bisect_right
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from nbprof.arrays import NONE, Floats

if TYPE_CHECKING:
    from nbprof._profile import Profile

FEWEST = 20
"""The fewest samples of which shares are taken."""
COMPARED = 3
"""How many functions the note compares."""
SLOWED = (
    "counting slows every call by about as much, so functions that are called often look slower "
    "than they are"
)


def note_on_samples(profile: "Profile", names: list[str]) -> tuple[str, ...]:
    """Say that times are inflated, with the shares by samples of those that took longest."""
    functions = profile.functions
    if not len(functions):
        return ()
    sampled = sampled_shares(profile)
    if sampled is None:
        return (SLOWED,)
    counted = functions["self_ns"].to_numpy() / max(int(functions["self_ns"].sum()), 1)
    in_python = (functions["file"] != "~").to_numpy()  # C functions have no frame to sample
    longest = np.argsort(-np.where(in_python, np.maximum(counted, sampled), -1), kind="stable")
    compared = ", ".join(
        f"{names[row]} {100 * counted[row]:.0f}% (samples: {100 * sampled[row]:.0f}%)"
        for row in longest[:COMPARED].tolist()
        if in_python[row]
    )
    return (f"{SLOWED}; own time: {compared}; samples charge C functions to their callers",)


def sampled_shares(profile: "Profile") -> Floats | None:
    """Return the share of samples in which each function was innermost; None if there are few."""
    samples = profile.samples_of_python
    if len(samples) < FEWEST:
        return None
    innermost = profile.frames.groupby("stack").last()
    weight = samples.groupby("stack")["duration_ns"].sum()
    found = _functions_of(innermost.reindex(weight.index), profile.functions)
    known = found != NONE
    shares = np.bincount(
        found[known], weights=weight.to_numpy()[known], minlength=len(profile.functions)
    )
    return np.asarray(shares / max(float(weight.sum()), 1.0), dtype=np.float64)


def _functions_of(frames: pd.DataFrame, functions: pd.DataFrame) -> "np.ndarray":
    """Find the function of each frame: of its file and name, the last that begins above."""
    begins: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    columns = (functions[name].tolist() for name in ("file", "function", "line"))
    for row, (file, function, line) in enumerate(zip(*columns, strict=True)):
        begins[file, function].append((line, row))
    for found in begins.values():
        found.sort()
    rows = []
    for file, function, line in frames[["file", "function", "line"]].itertuples(
        index=False, name=None
    ):
        places = begins.get((file, function), [])
        place = bisect_right(places, (line, len(functions))) - 1 if places else NONE
        rows.append(places[place][1] if place >= 0 else NONE)
    return np.array(rows, dtype=np.intp)

"""What the steps wait for: input, and the Python between them."""

from typing import TYPE_CHECKING

import numpy as np

from nbprof.units import format_micros
from nbprof.views.advise.advice import Advice, first_rows
from nbprof.views.advise.shares import share_of
from nbprof.views.advise.thresholds import threshold

if TYPE_CHECKING:
    import pandas as pd

    from nbprof._profile import Profile

WAITING = "waiting for input"
NEXT = ("IteratorGetNext", "IteratorGetNextAsOptional", "IteratorGetNextSync")
PIPELINE = "input pipeline"


def input_bound(profile: "Profile") -> list[Advice]:
    """Find steps that wait for their batch: outside the graph, or inside it."""
    pauses = _pauses_in_steps(profile)
    usual = float(np.median(pauses)) if pauses else 0.0
    inside = float(np.sum(pauses)) if usual >= threshold("input_wait_micros") else 0.0
    wall = max(profile.recording.wall_ns, 1) / 1e3
    # A loop over a dataset waits outside of graphs, a fit inside: the same wait is seen as both.
    waited = max(inside, share_of(profile, WAITING) * wall / 100)
    percent = 100 * waited / wall
    if percent < threshold("input_percent"):
        return []
    message = (
        f"{format_micros(waited)}, {percent:.0f}% of the wall time, went into waiting for input. "
        "Let tf.data work ahead: dataset.prefetch(tf.data.AUTOTUNE), map(..., "
        "num_parallel_calls=tf.data.AUTOTUNE), cache(), and no Python generators."
    )
    severity = "high" if percent >= threshold("input_high_percent") else "medium"
    return [Advice("input-bound", severity, message, first_rows(_input_nodes(profile)))]


def _input_nodes(profile: "Profile") -> list[str]:
    nodes = profile.nodes
    return nodes["name"][nodes["op_type"].isin([*NEXT, "PyFunc", "EagerPyFunc"])].tolist()


def _pauses_in_steps(profile: "Profile") -> list[float]:
    """Give for each step that asks for a batch its longest pause after that, in µs.

    The op that asks returns at once and the batch arrives later, so the pause is seen by what does
    not run meanwhile: no op but those of the input pipeline.
    """
    if not profile.recording.single_runs:
        return []
    events = profile.events
    op_type = profile.nodes["op_type"].to_numpy(dtype=object)[events["node"]]
    asks = np.isin(op_type, NEXT)
    if not asks.any():
        return []
    kinds = profile.layers["name"].to_numpy(dtype=object)
    of_input = np.isin(np.append(kinds, ""), PIPELINE)[events["layer"]]
    # An op that runs others spans them all, pauses included.
    works = events["self_ns"].to_numpy() * 2 >= events["duration_ns"].to_numpy()
    busy = events[~asks & ~of_input & works]
    steps = profile.steps
    ends = dict(zip(steps["step"], (steps["start_micros"] + steps["micros"]) * 1e3, strict=True))
    asked = events[asks]
    first = (asked["start_ns"] + asked["duration_ns"]).groupby(asked["step"]).min()
    return [
        _longest_pause(rows, float(first[step]), float(ends[step]))
        for step, rows in busy.groupby("step")
        if step in first.index and step in ends
    ]


def _longest_pause(busy: "pd.DataFrame", begin: float, end: float) -> float:
    """Find the longest time, in µs, in which nothing of this runs."""
    order = np.argsort(busy["start_ns"].to_numpy(), kind="stable")
    start = busy["start_ns"].to_numpy()[order]
    until = np.maximum.accumulate(start + busy["duration_ns"].to_numpy()[order])
    free_from = np.maximum(np.append(begin, until), begin)
    free_to = np.minimum(np.append(start, end), end)
    return float(max((free_to - free_from).max(initial=0), 0)) / 1e3


def python_between_steps(profile: "Profile") -> list[Advice]:
    """Find loops in which Python works while TensorFlow has nothing to do."""
    steps = profile.steps
    if len(steps) < threshold("python_steps"):
        return []
    gaps = (steps["start_micros"].shift(-1) - steps["start_micros"] - steps["micros"])[:-1]
    between = float(gaps.clip(lower=0).sum())
    wall = max(profile.recording.wall_ns, 1) / 1e3
    percent = min(100 * between / wall, share_of(profile, "Python"))
    mean = between / len(gaps)
    if percent < threshold("python_percent") or mean < threshold("python_micros"):
        return []
    message = (
        f"Python took {percent:.0f}% of the wall time between {len(steps)} steps, "
        f"{format_micros(mean)} each time, and TensorFlow waited. Move that work into tf.data or "
        "the tf.function, or do it less often: logging, .numpy(), metrics, callbacks."
    )
    severity = "high" if percent >= threshold("python_high_percent") else "medium"
    return [Advice("Python between steps", severity, message, first_rows(steps["function"]))]

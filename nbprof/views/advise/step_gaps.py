"""What steps wait for: input, and the Python code between them."""

from typing import TYPE_CHECKING

import numpy as np

from nbprof.units import format_micros
from nbprof.views.advise.check_result import Advice, first_rows, percent_of_wall

if TYPE_CHECKING:
    import pandas as pd

    from nbprof._profile import Profile

WAITING = "waiting for input"
"""The summary's category of time spent waiting for a batch."""
NEXT = ("IteratorGetNext", "IteratorGetNextAsOptional", "IteratorGetNextSync")
"""Op types that ask for a batch."""
PIPELINE = "input pipeline"
"""The layer of the ops that prepare batches."""

INPUT_PERCENT = 15
"""Share of the wall time from which TensorFlow's own profiler calls a program input-bound."""
INPUT_HIGH_PERCENT = 40
"""From this share on the advice is severe: input takes about as long as all computing."""
INPUT_WAIT_MICROS = 1000
"""Shortest pause in a step that is a wait for input, in µs; the executor makes shorter ones."""
LOOP_STEPS = 5
"""Fewest steps that make a loop."""
PYTHON_PERCENT = 40
"""Smallest share of the wall time worth advice; Keras' own work between batches stays below."""
PYTHON_MICROS = 2000
"""Shortest gap worth advice, in µs; Keras' own work between batches takes under 1 ms."""
PYTHON_HIGH_PERCENT = 70
"""From this share on the advice is severe: TensorFlow idles most of the time."""


def input_bound(profile: "Profile") -> list[Advice]:
    """Find steps that wait for their batch: outside the graph, or inside it."""
    pauses = _pauses_in_steps(profile)
    usual = float(np.median(pauses)) if pauses else 0.0
    inside = float(np.sum(pauses)) if usual >= INPUT_WAIT_MICROS else 0.0
    wall = max(profile.recording.wall_ns, 1) / 1e3
    # A loop over a dataset waits outside of graphs, a fit inside; the same wait can show in both.
    waited = max(inside, percent_of_wall(profile, WAITING) * wall / 100)
    percent = 100 * waited / wall
    if percent < INPUT_PERCENT:
        return []
    message = (
        f"{format_micros(waited)}, {percent:.0f}% of the wall time, was spent waiting for input. "
        "Let tf.data work ahead: dataset.prefetch(tf.data.AUTOTUNE), map(..., "
        "num_parallel_calls=tf.data.AUTOTUNE), cache(), and no Python generators."
    )
    severity = "high" if percent >= INPUT_HIGH_PERCENT else "medium"
    return [Advice("input-bound", severity, message, first_rows(_input_nodes(profile)))]


def _input_nodes(profile: "Profile") -> list[str]:
    nodes = profile.nodes
    return nodes["name"][nodes["op_type"].isin([*NEXT, "PyFunc", "EagerPyFunc"])].tolist()


def _pauses_in_steps(profile: "Profile") -> list[float]:
    """Return the longest pause of each step after it asks for a batch, in µs.

    The op that asks returns at once and the batch arrives later, so a pause is a time in which no
    op runs except those of the input pipeline.
    """
    if not profile.recording.single_runs:
        return []
    events = profile.events
    op_type = profile.nodes["op_type"].to_numpy(dtype=object)[events["node"]]
    asks = np.isin(op_type, NEXT)
    if not asks.any():
        return []
    layers = profile.layers["name"].to_numpy(dtype=object)
    is_pipeline = np.isin(np.append(layers, ""), PIPELINE)[events["layer"]]
    # An op that runs others spans them all, including their pauses.
    works = events["self_ns"].to_numpy() * 2 >= events["duration_ns"].to_numpy()
    busy = events[~asks & ~is_pipeline & works]
    steps = profile.steps
    ends = dict(zip(steps["step"], (steps["start_micros"] + steps["micros"]) * 1e3, strict=True))
    requests = events[asks]
    first = (requests["start_ns"] + requests["duration_ns"]).groupby(requests["step"]).min()
    return [
        _longest_pause(rows, float(first[step]), float(ends[step]))
        for step, rows in busy.groupby("step")
        if step in first.index and step in ends
    ]


def _longest_pause(busy: "pd.DataFrame", begin: float, end: float) -> float:
    """Return the longest pause between these runs in µs, from `begin` to `end` in ns."""
    order = np.argsort(busy["start_ns"].to_numpy(), kind="stable")
    start = busy["start_ns"].to_numpy()[order]
    until = np.maximum.accumulate(start + busy["duration_ns"].to_numpy()[order])
    free_from = np.maximum(np.append(begin, until), begin)
    free_to = np.minimum(np.append(start, end), end)
    return float(max((free_to - free_from).max(initial=0), 0)) / 1e3


def python_between_steps(profile: "Profile") -> list[Advice]:
    """Find loops in which Python keeps TensorFlow waiting."""
    steps = profile.steps
    if len(steps) < LOOP_STEPS:
        return []
    gaps = (steps["start_micros"].shift(-1) - steps["start_micros"] - steps["micros"])[:-1]
    between = float(gaps.clip(lower=0).sum())
    wall = max(profile.recording.wall_ns, 1) / 1e3
    percent = min(100 * between / wall, percent_of_wall(profile, "Python"))
    mean = between / len(gaps)
    if percent < PYTHON_PERCENT or mean < PYTHON_MICROS:
        return []
    message = (
        f"Python took {percent:.0f}% of the wall time between {len(steps)} steps, "
        f"{format_micros(mean)} each time, while TensorFlow waited. Move that work into tf.data or "
        "the tf.function, or do it less often: logging, .numpy(), metrics, callbacks."
    )
    severity = "high" if percent >= PYTHON_HIGH_PERCENT else "medium"
    return [Advice("Python between steps", severity, message, first_rows(steps["function"]))]

"""Estimate how much longer a cell took because it was profiled."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from nbprof.capture.capture import Capture

ENOUGH = 5
"""Fewest steps of a function, in detail and bare, whose medians are compared."""
NOTABLE = 0.01
"""Smallest share of the wall time at which the cost of watching calls is reported."""
FASTEST = 0.1
"""Lower bound of a cell's bare time, as a share of its time; medians may suggest less."""


@dataclass(frozen=True)
class Slowdown:
    """How many times as long as bare the cell took."""

    times: float
    """-1: not known."""
    at_least: bool
    """Whether only part of what slows a cell is known."""


def estimate_slowdown(capture: "Capture", steps: "pd.DataFrame") -> Slowdown:
    """Compare steps traced in detail with bare steps of the same functions.

    Without enough of both, what watching calls into TensorFlow took is a lower bound.
    """
    added = _added_to_steps(steps)
    if added is not None:
        return Slowdown(_times(capture.wall_ns, added), at_least=False)
    if capture.watched_ns > NOTABLE * capture.wall_ns:
        return Slowdown(_times(capture.wall_ns, capture.watched_ns), at_least=True)
    return Slowdown(-1.0, at_least=False)


def _added_to_steps(steps: "pd.DataFrame") -> float | None:
    """Return how much longer all steps in detail took than bare ones, in ns; None: not known.

    Steps that traced a function are left out: they last long for another reason.
    """
    added, known = 0.0, False
    for _, of_function in steps[~steps["traced"]].groupby("function"):
        in_detail = of_function["in_detail"].to_numpy(dtype=bool)
        micros = of_function["micros"].to_numpy()
        detailed, bare = micros[in_detail], micros[~in_detail & ~np.isnan(micros)]
        if min(len(detailed), len(bare)) >= ENOUGH:
            known = True
            added += len(detailed) * max(float(np.median(detailed) - np.median(bare)), 0.0)
    return added * 1e3 if known else None


def _times(wall_ns: int, added_ns: float) -> float:
    return wall_ns / max(wall_ns - added_ns, FASTEST * wall_ns, 1)

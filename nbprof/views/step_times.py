"""The part of stretches of time that lies within the steps that a view is about."""

from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import Floats, Ints
from nbprof.views.measure import resolved_step

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.views.measure import Step


def within_steps(profile: "Profile", step: "Step | None", start: Ints, end: Ints) -> Floats:
    """Return how many ns of each stretch lie in the step asked for.

    With -1 that is the average over all steps in detail, with "all" the whole stretch.
    """
    step = resolved_step(profile, step)
    if step == "all":
        return (end - start).astype(np.float64)
    steps = profile.detailed_steps
    steps = steps[steps["micros"].notna()]
    if step != -1:
        steps = steps[steps["step"] == step]
    ns = np.zeros(len(start))
    began = steps["start_micros"].to_numpy(np.float64) * 1e3
    ended = began + steps["micros"].to_numpy(np.float64) * 1e3
    for first, last in zip(began.tolist(), ended.tolist(), strict=True):
        ns += np.clip(np.minimum(end, last) - np.maximum(start, first), 0, None)
    return ns / max(len(steps), 1)

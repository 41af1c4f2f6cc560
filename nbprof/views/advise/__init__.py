"""Advice: what a profile says about how to make a program faster or smaller."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pandas as pd

from nbprof.views.advise import accelerator_use, expensive, functions, operations, peak, step_gaps
from nbprof.views.advise.advice import SEVERITIES, Advice

if TYPE_CHECKING:
    from nbprof._profile import Profile

Check = Callable[["Profile"], list[Advice]]

OF_TFPROF: tuple[Check, ...] = (
    accelerator_use.accelerator_utilization,
    operations.batch_norm,
    operations.data_format,
    expensive.expensive_op_types,
    expensive.expensive_scopes,
    expensive.expensive_lines,
)
"""tfprof's own checks."""

OF_ALL: tuple[Check, ...] = (accelerator_use.heavy_on_cpu, operations.unfused)
"""What can also be told of tfprof's inputs."""

OF_CELLS: tuple[Check, ...] = (
    step_gaps.input_bound,
    functions.retracing,
    functions.small_eager_ops,
    step_gaps.python_between_steps,
    peak.few_tensors,
)
"""What needs a cell that nbprof watched."""


def advise(profile: "Profile") -> pd.DataFrame:
    """Give all advice that applies, the most severe first: `check, severity, message, rows`."""
    checks = (*OF_ALL, *OF_TFPROF)
    if not profile.recording.tfprof:
        checks = (*OF_CELLS, *checks)
    found = [advice for check in checks for advice in check(profile)]
    found.sort(key=lambda advice: SEVERITIES.index(advice.severity))
    return pd.DataFrame(
        {
            "check": pd.Series([advice.check for advice in found], dtype=object),
            "severity": pd.Series([advice.severity for advice in found], dtype=object),
            "message": pd.Series([advice.message for advice in found], dtype=object),
            "rows": pd.Series([list(advice.rows) for advice in found], dtype=object),
        }
    )

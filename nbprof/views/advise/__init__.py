"""Advice: how a program could be made faster or smaller, judging by its profile."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pandas as pd

from nbprof.views.advise import (
    accelerator_use,
    expensive_rows,
    faster_ops,
    memory_peak,
    step_gaps,
    tensorflow_calls,
)
from nbprof.views.advise.check_result import SEVERITIES, Advice

if TYPE_CHECKING:
    from nbprof._profile import Profile

Check = Callable[["Profile"], list[Advice]]

TFPROF_CHECKS: tuple[Check, ...] = (
    accelerator_use.accelerator_utilization,
    faster_ops.batch_norm,
    faster_ops.data_format,
    expensive_rows.expensive_op_types,
    expensive_rows.expensive_scopes,
    expensive_rows.expensive_lines,
)
"""tfprof's own checks."""

FURTHER_CHECKS: tuple[Check, ...] = (accelerator_use.heavy_on_cpu, faster_ops.unfused)
"""Checks of nbprof that work for tfprof's inputs, too."""

CELL_CHECKS: tuple[Check, ...] = (
    step_gaps.input_bound,
    tensorflow_calls.retracing,
    tensorflow_calls.small_eager_ops,
    step_gaps.python_between_steps,
    memory_peak.few_tensors,
)
"""Checks that need a cell recorded by nbprof."""


def advise(profile: "Profile") -> pd.DataFrame:
    """Return all advice that applies, most severe first: `check, severity, message, rows`."""
    checks = (*FURTHER_CHECKS, *TFPROF_CHECKS)
    if not profile.recording.tfprof:
        checks = (*CELL_CHECKS, *checks)
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

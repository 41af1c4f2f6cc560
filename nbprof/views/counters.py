"""The counters of `nbprof.count`, one row each."""

from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from nbprof._profile import Profile


def counters(profile: "Profile") -> pd.DataFrame:
    """Return what was counted, in the order of first use."""
    by_name = profile.counts.groupby("name", sort=False)["value"]
    summed = by_name.agg(count="size", total="sum", min="min", max="max", mean="mean")
    return summed.reset_index()

"""The summary: where the wall time of a cell went."""

from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from nbprof._profile import Profile


def summary(profile: "Profile") -> pd.DataFrame:
    """Return what the cell's thread spent its time on, the longest first."""
    spent, has_hosts = profile.spent, len(profile.machines) > 1
    if has_hosts:  # each host has a thread of its own
        spent = spent.groupby("category", sort=False)["ns"].sum().reset_index()
    spent = spent.sort_values("ns", ascending=False, kind="stable", ignore_index=True)
    wall_ns = int(spent["ns"].sum()) if has_hosts else profile.recording.wall_ns
    frame = pd.DataFrame(
        {
            "category": spent["category"],
            "micros": spent["ns"] / 1e3,
            "percent": 100.0 * spent["ns"] / max(wall_ns, 1),
        }
    )
    frame.attrs["wall_micros"] = wall_ns / 1e3
    return frame

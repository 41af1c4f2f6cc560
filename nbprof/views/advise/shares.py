"""Shares of the wall time."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbprof._profile import Profile


def share_of(profile: "Profile", category: str) -> float:
    """Give the share of a category of the summary, in percent."""
    spent = profile.spent
    ns = float(spent.loc[spent["category"] == category, "ns"].sum())
    wall = spent["ns"].sum() if len(profile.machines) > 1 else profile.recording.wall_ns
    return 100 * ns / max(wall, 1)

"""Shares of the wall time."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbprof._profile import Profile


def share_of(profile: "Profile", category: str) -> float:
    """Give the share of a category of the summary, in percent."""
    spent = profile.spent
    ns = float(spent.loc[spent["category"] == category, "ns"].sum())
    return 100 * ns / max(profile.recording.wall_ns, 1)

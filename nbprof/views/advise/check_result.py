"""One piece of advice."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from nbprof._profile import Profile

SEVERITIES = ("high", "medium", "low", "info")
"""From what costs most to what only says where the time goes."""

MOST_ROWS = 10
"""The most rows that one piece of advice points at."""


class Advice(NamedTuple):
    """What was found, how much it costs, where, and what to do."""

    check: str
    severity: str
    message: str
    rows: tuple[str, ...] = ()
    """Names as the views have them."""


def first_rows(names: Iterable[str]) -> tuple[str, ...]:
    """Return the first distinct names, as many as advice points at."""
    return tuple(dict.fromkeys(names))[:MOST_ROWS]


def percent_of_wall(profile: "Profile", category: str) -> float:
    """Return the share of the wall time that a category of the summary has, in percent."""
    spent = profile.spent
    ns = float(spent.loc[spent["category"] == category, "ns"].sum())
    wall = spent["ns"].sum() if len(profile.machines) > 1 else profile.recording.wall_ns
    return 100 * ns / max(wall, 1)

"""What a check returns, and what several checks need to make it."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from nbprof.categories import Category

if TYPE_CHECKING:
    from nbprof._profile import Profile

SEVERITIES = ("high", "medium", "low", "info")
"""Severities, worst first; `info` only says where the time goes."""

MOST_ROWS = 10
"""The most rows that one piece of advice points at."""


class Advice(NamedTuple):
    """One piece of advice: what was found, how much it costs, where, and what to do."""

    check: str
    severity: str
    message: str
    rows: tuple[str, ...] = ()
    """Names of the rows that it is about, as views show them."""


def first_rows(names: Iterable[str]) -> tuple[str, ...]:
    """Return the first `MOST_ROWS` distinct names."""
    return tuple(dict.fromkeys(names))[:MOST_ROWS]


def percent_of_wall(profile: "Profile", *categories: Category) -> float:
    """Return the share of categories of the summary in the wall time, in percent."""
    spent = profile.spent
    titles = [category.title for category in categories]
    ns = float(spent.loc[spent["category"].isin(titles), "ns"].sum())
    wall = spent["ns"].sum() if len(profile.machines) > 1 else profile.recording.wall_ns
    return 100 * ns / max(wall, 1)

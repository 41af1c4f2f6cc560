"""One piece of advice."""

from collections.abc import Iterable
from typing import NamedTuple

SEVERITIES = ("high", "medium", "low", "info")
"""From what costs most to what only tells where the time is."""

MOST_ROWS = 10
"""More rows are not worth pointing at: the views list them all."""


class Advice(NamedTuple):
    """What was found, how much it costs, where, and what to do."""

    check: str
    severity: str
    message: str
    rows: tuple[str, ...] = ()
    """Names as they stand in the views."""


def first_rows(names: Iterable[str]) -> tuple[str, ...]:
    """Keep each name once, and not too many."""
    return tuple(dict.fromkeys(names))[:MOST_ROWS]

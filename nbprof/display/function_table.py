"""The text of the function view: the table that pstats prints."""

from collections.abc import Iterator
from math import isnan
from typing import TYPE_CHECKING

from nbprof.units import NOT_RECORDED

if TYPE_CHECKING:
    from nbprof.display.text import Row
    from nbprof.views.view import View

CALLS, TIMES = "calls", "wall_micros"
"""The columns that the table shows if they are selected."""
WIDTH = 10
"""Width of a number; unlike pstats', times have six decimals, since cells are often short."""


def lines(view: "View") -> Iterator[str]:
    """Write the legend and the rows."""
    selected = {column.name for column in view.columns}
    yield f"{' '.join(f'{title:>{WIDTH}}' for title in titles(selected))} filename:lineno(function)"
    for row in view.frame.to_dict("records"):
        cells = " ".join(f"{cell:>{WIDTH}}" for cell in _cells(row, selected))
        yield f"{cells} {'  ' * row['depth']}{row['name']}"


def titles(selected: set[str]) -> Iterator[str]:
    """Yield the titles of the columns before the name, as pstats has them."""
    if CALLS in selected:
        yield "ncalls"
    for title in ("tottime", "cumtime") if TIMES in selected else ():
        yield title
        if CALLS in selected:
            yield "percall"


def _cells(row: "Row", selected: set[str]) -> Iterator[str]:
    calls, primitive = (row.get(f"total_{name}", 0) for name in ("calls", "primitive_calls"))
    if CALLS in selected:
        yield _count(calls) if calls == primitive else f"{_count(calls)}/{_count(primitive)}"
    if TIMES not in selected:
        return
    for micros, count in ((row[TIMES], calls), (row[f"total_{TIMES}"], primitive)):
        yield seconds(micros)
        if CALLS in selected:
            yield seconds(micros / count) if count else seconds(0.0)


def _count(count: float) -> str:
    return NOT_RECORDED if isnan(count) else f"{count:.0f}"


def seconds(micros: float) -> str:
    """Write a time in seconds."""
    return NOT_RECORDED if isnan(micros) else f"{micros / 1e6:.6f}"

"""The text of the line view: the table that pprofile prints, file by file."""

from collections.abc import Callable, Iterator
from math import isnan, nan
from typing import TYPE_CHECKING

from nbprof.units import NOT_RECORDED

if TYPE_CHECKING:
    from nbprof.display.text import Row
    from nbprof.views.view import View

CALL = "(call)"
"""What stands in place of a line number in the row of a function that the line above led to."""
NARROWEST = 11
"""The least width of a column of numbers."""
Cells = dict[str, Callable[["Row"], str]]
"""What writes the cells of each title."""


def lines(view: "View") -> Iterator[str]:
    """Write the duration of everything, and for each file its own and its lines."""
    rows = view.frame.to_dict("records")
    cells = _cells(view, rows[0])
    wall = rows[0].get("total_wall_micros", nan)
    yield f"Total duration: {_seconds(wall)}"
    for row, following in zip(rows[1:], [*rows[2:], rows[0]], strict=True):
        numbers = [write(row).rjust(_width(title)) for title, write in cells.items()]
        if row["depth"] > 1:
            number, text = _number_and_text(row)
            yield "|".join([number.rjust(6), *numbers, text])
            continue
        duration = row.get("total_wall_micros", nan)
        yield f"File: {row['name']}"
        yield f"File duration: {_seconds(duration)} ({_percent(duration, wall)})"
        yield "|".join(["Line #", *(title.rjust(_width(title)) for title in cells), "Source code"])
        yield "+".join("-" * width for width in (6, *map(_width, cells), 11))
        if following["depth"] <= 1:  # ops without a line
            yield "|".join(["-".rjust(6), *numbers, ""])


def _cells(view: "View", root: "Row") -> Cells:
    """Return what writes each cell, in pprofile's order and then the ops' columns."""
    wall = root.get("total_wall_micros", nan)
    chosen = {column.name for column in view.columns}
    of_python: dict[str, tuple[str, Callable[[Row], str]]] = {
        "Hits": ("hits", lambda row: _count(row["total_hits"])),
        "Time": ("wall_micros", lambda row: _number(row["total_wall_micros"] / 1e6)),
        "Time per hit": ("hit_micros", lambda row: _number(row["hit_micros"] / 1e6)),
        "%": ("wall_micros", lambda row: _percent(row["total_wall_micros"], wall)),
    }
    cells = {title: write for title, (name, write) in of_python.items() if name in chosen}
    for metric in (metric for column in view.columns if column.of_ops for metric in column.metrics):
        cells[metric] = _writer(metric)
    return cells


def _writer(metric: str) -> "Callable[[Row], str]":
    return lambda row: _number(row[metric])


def _width(title: str) -> int:
    return max(len(title), NARROWEST)


def _number_and_text(row: "Row") -> tuple[str, str]:
    """Return the number and the source of a line, or what stands there for a called function."""
    name: str = row["name"]
    if row["depth"] == 2:
        return name.rpartition(":")[2], row["source"]
    place, _, function = name.removeprefix(f"{CALL} ").rstrip(")").partition("(")
    return CALL, f"# {place} {function}"


def _seconds(micros: float) -> str:
    return NOT_RECORDED if isnan(micros) else f"{micros / 1e6:.9g}s"


def _count(count: float) -> str:
    return NOT_RECORDED if isnan(count) else f"{count:.0f}"


def _number(number: float) -> str:
    return NOT_RECORDED if isnan(number) else f"{number:.9g}"


def _percent(part: float, whole: float) -> str:
    return NOT_RECORDED if isnan(part) or not whole > 0 else f"{100 * part / whole:.2f}%"

"""The View of a printed report, with a frame laid out like that of any other View."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from nbprof.columns import COLUMNS, counts
from nbprof.options import ViewOptions
from nbprof.view_kinds import VIEWS
from nbprof.views.measure import whole
from nbprof.views.view import View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbprof.views.printed.legend import Heading

HEADLINE = "read from a printed report: numbers are as exact as they were printed"
"""The headline of every parsed report."""

Row = dict[str, Any]


def make_view(
    name: str, headings: "Sequence[Heading]", rows: list[Row], notes: tuple[str, ...]
) -> View:
    """Make the View of the rows that `OpRows` or `TreeRows` read."""
    columns = [heading.column for heading in headings]
    columns += [COLUMNS[name] for name in _below_rows(rows)]
    options = ViewOptions(
        select=tuple(column.name for column in columns), order_by=VIEWS[name].order_by
    )
    is_tree = VIEWS[name].is_tree
    return View(
        name=name,
        frame=pd.DataFrame(_tree(name, headings, rows) if is_tree else _op(headings, rows)),
        columns=tuple(columns),
        options=options,
        headline=HEADLINE,
        notes=notes,
        accounted=np.array([row["accounted"] for row in rows], dtype=bool) if is_tree else None,
        exact=_is_exact(name, headings, rows),
    )


def _below_rows(rows: list[Row]) -> list[str]:
    """List the columns printed below rows that any row has."""
    return [
        name
        for name, column in COLUMNS.items()
        if column.shows == "lines" and any(name in row for row in rows)
    ]


def _is_exact(name: str, headings: "Sequence[Heading]", rows: list[Row]) -> bool:
    """Return whether tfprof can have printed this; its code view never has counts or shapes."""
    extra = any(heading.column.not_for_lines for heading in headings)
    printed = all(row.get("counted", True) for row in rows)
    return not (VIEWS[name].rows_are_lines and extra and printed)


def _op(headings: "Sequence[Heading]", rows: list[Row]) -> Row:
    data: Row = {"name": _texts(rows, "name")}
    for heading in headings:
        metrics = heading.column.metrics
        if not metrics:
            data[heading.column.name] = _texts(rows, heading.column.name)
        elif not heading.column.has_shares:
            data |= {metric: _counts(rows, metric) for metric in metrics}
        else:
            names = (metrics[0], f"{metrics[0]}_percent", f"{metrics[0]}_accumulated_percent")
            data |= {name: _numbers(rows, name) for name in names}
    return data


def _tree(view: str, headings: "Sequence[Heading]", rows: list[Row]) -> Row:
    kind = VIEWS[view]
    data: Row = {
        "name": _texts(rows, "name"),
        "parent": np.array([row["parent"] for row in rows], dtype=np.intp),
        "depth": np.array([row["depth"] for row in rows], dtype=np.intp),
    }
    for text in kind.texts:
        lines = (_source(row["name"]) if kind.rows_are_lines else "" for row in rows)
        texts = [row.get(text, line) for row, line in zip(rows, lines, strict=True)]
        data[text] = pd.Series(texts, dtype=object)
    for heading in headings:
        column = heading.column
        for name in filter(None, (column.label, "" if column.metrics else column.name)):
            data[name] = _texts(rows, name)
        for metric in column.metrics:
            data[metric] = _numbers(rows, metric)
            totals = _counts if metric in counts() else _numbers
            data[f"total_{metric}"] = totals(rows, f"total_{metric}")
    for name in _below_rows(rows):
        data[name] = pd.Series(["\n".join(row.get(name, ())) for row in rows], dtype=object)
    return data


def _source(name: str) -> str:
    """Return the source line, which old releases printed after the function's name."""
    parts = name.split(":", 3)
    return parts[3] if len(parts) == 4 else ""


def _numbers(rows: list[Row], name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([row[name] for row in rows], dtype=np.float64)


def _counts(rows: list[Row], name: str) -> Any:
    numbers = _numbers(rows, name)
    return whole(numbers) if (np.abs(numbers) < 2**63).all() else numbers


def _texts(rows: list[Row], name: str) -> "pd.Series[Any]":
    return pd.Series([row[name] for row in rows], dtype=object)

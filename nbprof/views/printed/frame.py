"""The frame of a printed report, laid out as that of any other View."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from nbprof.columns import COLUMNS
from nbprof.options import ViewOptions
from nbprof.views.measure import whole
from nbprof.views.view import View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbprof.views.printed.legend import Heading

HEADLINE = "read from a printed report: numbers are as exact as they were printed"

Row = dict[str, Any]


def make_view(
    name: str, headings: "Sequence[Heading]", rows: list[Row], notes: tuple[str, ...]
) -> View:
    """Make the View of rows as `OpRows` and `TreeRows` give them."""
    columns = [heading.column for heading in headings]
    if any("tensor_value" in row for row in rows):
        columns.append(COLUMNS["tensor_value"])
    options = ViewOptions(select=tuple(column.name for column in columns))
    data = _op(headings, rows) if name == "op" else _tree(name, headings, rows)
    accounted = None if name == "op" else np.array([row["accounted"] for row in rows], dtype=bool)
    return View(
        name,
        pd.DataFrame(data),
        tuple(columns),
        options,
        HEADLINE,
        notes,
        accounted,
        exact=_is_exact(name, headings, rows),
    )


def _is_exact(name: str, headings: "Sequence[Heading]", rows: list[Row]) -> bool:
    """Tell whether tfprof itself can have printed this: its code view has no counts or shapes."""
    lacking = {"occurrence", "input_shapes"} & {heading.column.name for heading in headings}
    return name != "code" or not lacking or not all(row.get("counted", True) for row in rows)


def _op(headings: "Sequence[Heading]", rows: list[Row]) -> Row:
    data: Row = {"name": _texts(rows, "name")}
    for heading in headings:
        metrics = heading.column.metrics
        if not metrics:
            data[heading.column.name] = _texts(rows, heading.column.name)
        elif not heading.is_shared:
            data |= {metric: _counts(rows, metric) for metric in metrics}
        else:
            names = (metrics[0], f"{metrics[0]}_percent", f"{metrics[0]}_accumulated_percent")
            data |= {name: _numbers(rows, name) for name in names}
    return data


def _tree(view: str, headings: "Sequence[Heading]", rows: list[Row]) -> Row:
    data: Row = {
        "name": _texts(rows, "name"),
        "parent": np.array([row["parent"] for row in rows], dtype=np.intp),
        "depth": np.array([row["depth"] for row in rows], dtype=np.intp),
    }
    if view == "code":
        data["source"] = pd.Series([_source(row["name"]) for row in rows], dtype=object)
    if view == "layer":
        data["kind"] = ""
    for heading in headings:
        if heading.column.name == "params":
            data["shape"] = _texts(rows, "shape")
        if not heading.column.metrics:
            data[heading.column.name] = _texts(rows, heading.column.name)
        for metric in heading.column.metrics:
            data[metric] = _numbers(rows, metric)
            totals = _counts if metric.endswith("_count") else _numbers
            data[f"total_{metric}"] = totals(rows, f"total_{metric}")
    if any("tensor_value" in row for row in rows):
        texts = ["\n".join(row.get("tensor_value", ())) for row in rows]
        data["tensor_value"] = pd.Series(texts, dtype=object)
    return data


def _source(name: str) -> str:
    """Give the text of the line, which old releases wrote behind the function's name."""
    parts = name.split(":", 3)
    return parts[3] if len(parts) == 4 else ""


def _numbers(rows: list[Row], name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([row[name] for row in rows], dtype=np.float64)


def _counts(rows: list[Row], name: str) -> Any:
    numbers = _numbers(rows, name)
    return whole(numbers) if (np.abs(numbers) < 2**63).all() else numbers


def _texts(rows: list[Row], name: str) -> "pd.Series[Any]":
    return pd.Series([row[name] for row in rows], dtype=object)

"""The columns of a View's frame for typed table files: kind, unit, description, clean values."""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from nbprof.columns import COLUMNS, Column

if TYPE_CHECKING:
    import pandas as pd

    from nbprof.views.view import View

Kind = Literal["text", "whole", "number", "shapes"]
"""What a column holds."""

TREE = {
    "parent": "the row above this one, counted from 0; -1 for the root",
    "depth": "how many rows are above this one",
}
"""Descriptions of the columns that every tree has."""


@dataclass(frozen=True)
class Field:
    """A column of a View's frame."""

    name: str
    kind: Kind
    unit: str
    """`µs`, `bytes` or `%`; empty for counts and texts."""
    description: str


def about(view: "View") -> dict[str, Any]:
    """Return the view's name, headline, notes and options as JSON can hold them."""
    shown = {"name": view.name, "title": view.headline, "notes": list(view.notes)}
    options = asdict(view.options)
    return {**_clean(shown), "options": _clean({**options, "output": str(view.options.output)})}


def fields(view: "View") -> Iterator[Field]:
    """Describe the columns of a frame."""
    by_metric = {metric: column for column in COLUMNS.values() for metric in column.metrics}
    for name in view.frame.columns:
        own = name.removeprefix("total_").removesuffix("_percent").removesuffix("_accumulated")
        column = by_metric.get(own, COLUMNS.get(own))
        unit = column.unit.symbol if column is not None and column.metrics else ""
        yield Field(
            name,
            _kind(column, view.frame[name]),
            "%" if name.endswith("_percent") else unit,
            _description(name, column.help) if column is not None else TREE.get(name, ""),
        )


def _kind(column: Column | None, values: "pd.Series[Any]") -> Kind:
    """Return the kind of a column; one declared as text is text even without rows."""
    if column is not None and not column.metrics:
        return "shapes" if column.shows == "shapes" else "text"
    if values.dtype.kind not in "iuf":
        return "text"
    return "number" if values.dtype.kind == "f" else "whole"


def _description(name: str, metric_help: str) -> str:
    if name.endswith("_percent"):
        return ""  # the unit and the name say it
    return f"of this row and those below it: {metric_help}" if "total_" in name else metric_help


def values(field: Field, column: "pd.Series[Any]") -> list[Any]:
    """Return the values of a column as plain Python objects; what is not known is None."""
    if field.kind == "shapes":
        return [[_shapes_entry(entry) for entry in entries] for entries in column]
    return [_clean(value) for value in column.tolist()]


def _shapes_entry(entry: dict[str, Any]) -> dict[str, Any]:
    counts = {
        name: None if math.isnan(entry[name]) else int(entry[name])
        for name in ("run_count", "defined_count")
    }
    return {**_clean(entry), **counts}


def _clean(value: Any) -> Any:
    """Replace what files cannot hold: NaN by None, lone surrogates by U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _clean(item) for name, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, list | tuple) else value

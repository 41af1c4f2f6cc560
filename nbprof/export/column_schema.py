"""A View for formats that say what is in a column: its kind, unit and meaning, and clean values."""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from nbprof.columns import COLUMNS
from nbprof.units import format_bytes, format_micros

if TYPE_CHECKING:
    import pandas as pd

    from nbprof.views.view import View

Kind = Literal["text", "whole", "number", "shapes"]

SHAPES = "input_shapes"
LABELS = {name for name, column in COLUMNS.items() if not column.metrics}
"""Columns that hold no numbers, also where there is no row to tell it from."""
METRICS = {metric: column for column in COLUMNS.values() for metric in column.metrics}
UNITS = {format_bytes: "bytes", format_micros: "µs"}
TREE = {
    "parent": "the row above this one, from 0; -1 for the root",
    "depth": "how many rows are above this one",
}


@dataclass(frozen=True)
class Field:
    """A column of a View's frame."""

    name: str
    kind: Kind
    unit: str
    """`µs`, `bytes` or `%`; empty for counts and texts."""
    description: str


def about(view: "View") -> dict[str, Any]:
    """Say which view it is, of what, and how it was asked for: what JSON can hold."""
    told = {"name": view.name, "title": view.headline, "notes": list(view.notes)}
    options = asdict(view.options)
    return {**_clean(told), "options": _clean({**options, "output": str(view.options.output)})}


def fields(view: "View") -> Iterator[Field]:
    """Describe the columns of a frame."""
    for name in view.frame.columns:
        own = name.removeprefix("total_").removesuffix("_percent").removesuffix("_accumulated")
        column = METRICS.get(own, COLUMNS.get(own))
        unit = UNITS.get(column.format, "") if column is not None and column.metrics else ""
        yield Field(
            name,
            _kind(name, view.frame[name]),
            "%" if name.endswith("_percent") else unit,
            _description(name, column.help) if column is not None else TREE.get(name, ""),
        )


def _kind(name: str, column: "pd.Series[Any]") -> Kind:
    if name == SHAPES:
        return "shapes"
    if name in LABELS or column.dtype.kind not in "iuf":
        return "text"
    return "number" if column.dtype.kind == "f" else "whole"


def _description(name: str, of_metric: str) -> str:
    if name.endswith("_percent"):
        return ""  # the unit and the name say it
    return f"of this row and those below it: {of_metric}" if "total_" in name else of_metric


def values(field: Field, column: "pd.Series[Any]") -> list[Any]:
    """Give the values of a column as plain Python objects; what is not known is None."""
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
    """Leave out what files cannot hold: NaN becomes None, half a character U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _clean(one) for name, one in value.items()}
    return [_clean(one) for one in value] if isinstance(value, list | tuple) else value

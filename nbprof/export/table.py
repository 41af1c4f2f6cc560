"""A View's frame as CSV and JSON."""

import json
from typing import TYPE_CHECKING, BinaryIO

from nbprof.export.column_schema import about, fields, values

if TYPE_CHECKING:
    from nbprof.views.view import View

JSON_TYPES = {"text": "string", "whole": "integer", "number": "number", "shapes": "any"}
"""Table Schema's name for each kind of column; pandas leaves an "any" as it is."""


def write_csv(view: "View", file: BinaryIO) -> None:
    """Write UTF-8 CSV with one header line and raw numbers; a field not recorded is empty."""
    view.frame.to_csv(file, index=False, lineterminator="\n", errors="replace")


def write_json(view: "View", file: BinaryIO) -> None:
    """Write a Tabular Data Resource: the view, its `schema`, and one row per line in `data`."""
    described = list(fields(view))
    schema = [
        {
            "name": field.name,
            "type": JSON_TYPES[field.kind],
            **({"unit": field.unit} if field.unit else {}),
            **({"description": field.description} if field.description else {}),
        }
        for field in described
    ]
    head = _to_json({**about(view), "schema": {"fields": schema}, "data": []})
    file.write(head.removesuffix("]}").encode())
    columns = [values(field, view.frame[field.name]) for field in described]
    names = [field.name for field in described]
    separator = "\n"
    for row in zip(*columns, strict=True):
        file.write(f"{separator}{_to_json(dict(zip(names, row, strict=True)))}".encode())
        separator = ",\n"
    file.write(b"\n]}\n")


def _to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)

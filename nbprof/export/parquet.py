"""A View's frame as Parquet, written by pyarrow."""

import json
from typing import TYPE_CHECKING, Any, BinaryIO

from nbprof.errors import NbprofError
from nbprof.export.column_schema import Field, about, fields, values

if TYPE_CHECKING:
    from nbprof.views.view import View

ATTRIBUTES = "PANDAS_ATTRS"
"""The key under which pandas keeps `DataFrame.attrs` in a Parquet file."""


def write_parquet(view: "View", file: BinaryIO) -> None:
    """Write the frame; what was not recorded is null, units are in the fields' metadata."""
    pyarrow = _import_pyarrow()
    from pyarrow import parquet

    described = list(fields(view))
    schema = pyarrow.schema(
        [_field(pyarrow, field) for field in described], {ATTRIBUTES: json.dumps(about(view))}
    )
    columns = [
        pyarrow.array(values(field, view.frame[field.name]), schema.field(field.name).type)
        for field in described
    ]
    parquet.write_table(pyarrow.Table.from_arrays(columns, schema=schema), file)


def _import_pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise NbprofError(
            "to_parquet needs pyarrow, which cannot be imported "
            f"({error}); install it with: pip install 'nbprof[parquet]'."
        ) from error
    return pyarrow


def _field(pyarrow: Any, field: Field) -> Any:
    about_field = {"unit": field.unit, "description": field.description}
    metadata = {name: text for name, text in about_field.items() if text}
    return pyarrow.field(field.name, _type(pyarrow, field), metadata=metadata)


def _type(pyarrow: Any, field: Field) -> Any:
    text, whole, number = pyarrow.string(), pyarrow.int64(), pyarrow.float64()
    if field.kind == "shapes":
        entry = {
            "shapes": pyarrow.list_(text),
            "run_count": whole,
            "defined_count": whole,
            "micros": number,
        }
        return pyarrow.list_(pyarrow.struct(list(entry.items())))
    return {"text": text, "whole": whole, "number": number}[field.kind]

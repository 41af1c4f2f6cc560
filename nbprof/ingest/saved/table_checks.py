"""Check the values of stored columns, since a file may contain anything."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from nbprof.arrays import NONE
from nbprof.ingest.saved.stored_tables import StoredColumn, StoredTable
from nbprof.ingest.saved.table_schema import (
    COUNTS,
    NUMBERS,
    POINTERS,
    TEXT,
    TEXTS,
    TRUTH,
    WHOLE,
    Pointer,
    kinds_of,
    missing_column,
)
from nbprof.ingest.saved.zip_members import DamageError

Integers = npt.NDArray[np.integer]


def check_values(tables: dict[str, StoredTable]) -> None:
    """Refuse columns of the wrong kind and numbers that refer to nothing.

    A view would fail on them, or show the wrong row.
    """
    for name, table in tables.items():
        for column, kind in kinds_of(name).items():
            stored = table.columns.get(column)
            if stored is not None and table.rows and not HOLDS[kind](stored):
                raise DamageError(f"{name}.{column} should hold {kind}")
    for name, pointers in POINTERS.items():
        for column, pointer in pointers.items():
            if name in tables and pointer.table in tables:
                numbers = _whole_numbers(tables, name, column)
                _check_pointer(tables, f"{name}.{column}", pointer, numbers)


def check_columns(tables: dict[str, StoredTable], is_tfprof: bool) -> None:
    """Refuse tables that lack a required column, and an op log that does not match the nodes."""
    has_hosts = "machines" in tables and tables["machines"].rows > 0
    columns = {name: table.columns for name, table in tables.items()}
    missing = missing_column(columns, is_tfprof, has_hosts)
    if missing:
        raise DamageError(f"it lacks {missing}")
    if is_tfprof and "nodes" in tables:
        _check_logged(tables["nodes"], tables.get("logged"))


def _check_logged(nodes: StoredTable, logged: StoredTable | None) -> None:
    # In version 1 the table of nodes has these columns itself.
    if {"types", "float_ops"} <= nodes.columns.keys():
        return
    rows = logged.rows if logged else 0
    if rows != nodes.rows:
        raise DamageError(f"logged should have a row for each of {nodes.rows} nodes but has {rows}")


def _of_dtypes(kinds: str) -> Callable[[StoredColumn], bool]:
    return lambda stored: stored.values is None and stored.numbers.dtype.kind in kinds


def _of_objects(fits: Callable[[object], bool]) -> Callable[[StoredColumn], bool]:
    return lambda stored: stored.values is not None and all(map(fits, stored.values))


def _are_texts(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(item, str) for item in value)


HOLDS = {
    WHOLE: _of_dtypes("iu"),
    NUMBERS: _of_dtypes("iuf"),
    TRUTH: _of_dtypes("b"),
    COUNTS: _of_dtypes("biu"),
    TEXT: _of_objects(lambda value: isinstance(value, str)),
    TEXTS: _of_objects(_are_texts),
}
"""Functions that return whether a column holds a kind of value, by kind."""


def _whole_numbers(tables: dict[str, StoredTable], name: str, column: str) -> Integers:
    """Return a column of whole numbers, or an empty one if it is missing or has no rows."""
    stored = tables[name].columns.get(column)
    if stored is None or not tables[name].rows:
        return np.zeros(0, dtype=np.int64)
    if not HOLDS[WHOLE](stored):
        raise DamageError(f"{name}.{column} should hold {WHOLE}")
    return stored.numbers


def _check_pointer(
    tables: dict[str, StoredTable], place: str, pointer: Pointer, numbers: Integers
) -> None:
    if not len(numbers):
        return
    if pointer.column:
        known = _whole_numbers(tables, pointer.table, pointer.column)
        valid = bool(np.isin(numbers, np.append(known, NONE) if pointer.optional else known).all())
        target = f"{pointer.table}.{pointer.column}"
    else:
        least = NONE if pointer.optional else 0
        valid = least <= int(numbers.min()) and int(numbers.max()) < tables[pointer.table].rows
        if pointer.earlier:
            valid = valid and bool((numbers < np.arange(len(numbers))).all())
        target = f"rows of {pointer.table}"
    if not valid:
        raise DamageError(f"{place} should hold {target} but has a number that is none of them")

"""Columns that point into other tables: a file may hold any number there."""

import numpy as np
import numpy.typing as npt

from nbprof.arrays import NONE
from nbprof.ingest.saved.stored_tables import StoredTable
from nbprof.ingest.saved.zip_members import DamageError
from nbprof.schema import POINTERS, Pointer

Ints = npt.NDArray[np.integer]


def check_pointers(tables: dict[str, StoredTable]) -> None:
    """Refuse a number that points nowhere; a view would fail over it, or show another row."""
    for name, pointers in POINTERS.items():
        for column, pointer in pointers.items():
            if name in tables and pointer.table in tables:
                _check(tables, f"{name}.{column}", pointer, _whole(tables, name, column))


def _whole(tables: dict[str, StoredTable], name: str, column: str) -> Ints:
    """Give a column of whole numbers, if it is there; one without rows may be of any type."""
    stored = tables[name].columns.get(column)
    if stored is None or not tables[name].rows:
        return np.zeros(0, dtype=np.int64)
    if stored.values is not None or stored.numbers.dtype.kind not in "iu":
        raise DamageError(f"{name}.{column} should hold whole numbers")
    return stored.numbers


def _check(tables: dict[str, StoredTable], place: str, pointer: Pointer, numbers: Ints) -> None:
    if not len(numbers):
        return
    least = NONE if pointer.optional else 0
    if pointer.column:
        known = _whole(tables, pointer.table, pointer.column)
        fine = bool(np.isin(numbers, np.append(known, NONE) if pointer.optional else known).all())
    else:
        within = least <= int(numbers.min()) and int(numbers.max()) < tables[pointer.table].rows
        before = not pointer.earlier or bool((numbers < np.arange(len(numbers))).all())
        fine = within and before
    if not fine:
        of = f"{pointer.table}.{pointer.column}" if pointer.column else f"rows of {pointer.table}"
        raise DamageError(f"{place} should hold {of} and has a number that is none of them")

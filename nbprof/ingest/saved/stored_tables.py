"""Read the tables in nbprof's own file column by column, without a Python object per number.

Loading a file reads and checks everything, so all errors surface then. DataFrames are made on
request, since that takes longer and a view needs few of them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from nbprof import file_format
from nbprof.arrays import Names
from nbprof.ingest.saved.manifest import decode, expect
from nbprof.ingest.saved.zip_members import DamageError, Members

Described = dict[str, Any]
"""A column's description in the manifest."""
MOST_ROWS = 1 << 40
"""Maximum number of rows of a table."""
MOST_TEXT = 256 << 20
"""Maximum size in bytes of a column in Arrow, which copies its text for every row."""


@dataclass(frozen=True, eq=False)
class StoredColumn:
    """A column as stored in the file, already checked."""

    dtype: str
    numbers: npt.NDArray[Any]
    """The numbers, perhaps narrower than `dtype`; or for each row an index into `values`."""
    values: Names | None = None

    def make(self) -> Any:
        """Return the column of a DataFrame."""
        if self.values is None:
            return self.numbers.astype(self.dtype)
        if self.dtype == file_format.TEXT:
            return _make_text(self.values, self.numbers)
        # Without a dtype, pandas 3 would turn texts into "str".
        return pd.Series(self.values[self.numbers], dtype=object)


@dataclass(frozen=True, eq=False)
class StoredTable:
    """A table as stored in the file, already checked."""

    rows: int
    columns: dict[str, StoredColumn]

    def make(self) -> pd.DataFrame:
        """Return the DataFrame."""
        columns = {name: column.make() for name, column in self.columns.items()}
        return pd.DataFrame(columns, index=pd.RangeIndex(self.rows), copy=False)


def read_tables(
    members: Members, described: dict[str, Any], names: Iterable[str]
) -> dict[str, StoredTable]:
    """Read those of the named tables that the file has."""
    wanted = {name: expect(described, name, dict, "tables") for name in names if name in described}
    columns = {name: _columns(table, name) for name, table in wanted.items()}
    claimed = sum(
        wanted[name]["rows"] * file_format.item_bytes(column["dtype"])
        for name, described_columns in columns.items()
        for column in described_columns
    )
    if claimed > file_format.most_bytes(file_format.SMALL_TABLES, members.file_size):
        raise DamageError(f"its tables claim {claimed:,} bytes, too many for a file of this size")
    return {name: _read_table(members, wanted[name]["rows"], columns[name]) for name in wanted}


def _columns(table: dict[str, Any], name: str) -> list[Described]:
    """Return the descriptions of a table's columns, checked before any is read."""
    place = f"the table {name!r}"
    if not 0 <= expect(table, "rows", int, place) <= MOST_ROWS:
        raise DamageError(f"{place} should have 0 to {MOST_ROWS:,} rows")
    columns = expect(table, "columns", list, place)
    for number, column in enumerate(columns):
        place = f"column {number} of the table {name!r}"
        if not isinstance(column, dict):
            raise DamageError(f"{place} should be described by an object")
        for key in ("name", "member", "dtype", "stored"):
            expect(column, key, str, place)
        _check_dtypes(column, place)
    names = {column["name"] for column in columns}
    if len(names) < len(columns) or not all(map(file_format.is_name, names)):
        raise DamageError(f"the columns of the table {name!r} should have distinct, valid names")
    return columns


def _check_dtypes(column: Described, place: str) -> None:
    dtype, stored = column["dtype"], column["stored"]
    if dtype in (file_format.OBJECT, file_format.TEXT):
        expect(column, "values", list, place)
        allowed = stored in file_format.CODES
    else:
        allowed = (
            {dtype, stored} <= set(file_format.NUMBERS)
            and dtype.rstrip("0123456789") == stored.rstrip("0123456789")
            and file_format.item_bytes(stored) <= file_format.item_bytes(dtype)
        )
    if not allowed:
        raise DamageError(f"{place} cannot be of dtype {dtype!r} and stored as {stored!r}")


def _read_table(members: Members, rows: int, columns: list[Described]) -> StoredTable:
    return StoredTable(
        rows, {column["name"]: _read_column(members, rows, column) for column in columns}
    )


def _read_column(members: Members, rows: int, column: Described) -> StoredColumn:
    dtype, member = column["dtype"], column["member"]
    numbers = _read_numbers(members, rows, column["stored"], member)
    if dtype in file_format.NUMBERS:
        return StoredColumn(dtype, numbers)
    encoded = column["values"]
    if rows and numbers.max() >= len(encoded):
        raise DamageError(f"{member} has a code beyond its {len(encoded):,} values")
    values = np.empty(len(encoded), dtype=object)
    for number, value in enumerate(encoded):
        values[number] = decode(value)
    if dtype == file_format.TEXT and not all(map(_is_text, values)):
        raise DamageError(f"{member} should hold text only")
    return StoredColumn(dtype, numbers, values)


def _read_numbers(members: Members, rows: int, dtype: str, name: str) -> npt.NDArray[Any]:
    header = file_format.npy_header(dtype, rows)
    content = members.read(name, len(header) + rows * file_format.item_bytes(dtype))
    if not content.startswith(header):
        raise DamageError(f"{name} should be a .npy file of {rows:,} × {dtype}")
    numbers = np.frombuffer(content, file_format.NUMBERS[dtype], offset=len(header))
    if dtype == "bool" and rows and numbers.view(np.uint8).max() > 1:
        raise DamageError(f"{name} should hold truth values, 0 or 1")
    return numbers


def _is_text(value: object) -> bool:
    """Return whether a column of text may hold this: a text, or None or NaN for a missing one."""
    return isinstance(value, str) or value is None or value != value


def _make_text(values: Names, codes: npt.NDArray[Any]) -> Any:
    """Return the texts of all rows in the dtype that the installed pandas uses for text."""
    dtype = pd.Series(["text"]).dtype
    if getattr(dtype, "storage", "") == "pyarrow" and not _suits_arrow(values, codes):
        dtype = pd.StringDtype("python", na_value=np.nan)
    if not isinstance(dtype, pd.StringDtype):  # pandas 2
        return pd.Series(values[codes], dtype=object)
    return pd.Series(values, dtype=dtype).array.take(codes)


def _suits_arrow(values: Names, codes: npt.NDArray[Any]) -> bool:
    """Return whether Arrow can hold these texts: it copies each for every row, as UTF-8."""
    try:
        sizes = [len(text.encode()) if isinstance(text, str) else 0 for text in values]
    except UnicodeEncodeError:
        return False
    return int(np.array([*sizes, 0])[codes].sum()) <= MOST_TEXT

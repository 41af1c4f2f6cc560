"""Write a Profile as nbprof's own file, a zip of columns and JSON (docs/own-file.md)."""

import json
import math
import zipfile
import zlib
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import numpy.typing as npt

from nbprof import file_format
from nbprof._profile import TABLES, Profile
from nbprof.errors import NbprofError
from nbprof.note import columns_of

if TYPE_CHECKING:
    import pandas as pd

Numbers = npt.NDArray[Any]

PAYS = 0.5
"""Deflate a member if a sample of it shrinks to less than this share of its size."""
SAMPLE = 1 << 16
"""Size of that sample in bytes."""
LEVEL = 1
"""zlib's compression level; higher ones take several times as long to save a few percent."""


@dataclass(frozen=True, eq=False)
class Member:
    """A column as stored in the file."""

    name: str
    numbers: Numbers

    @property
    def content(self) -> bytes:
        """The column as a `.npy` file."""
        dtype = self.numbers.dtype.name
        little = self.numbers.astype(file_format.NUMBERS[dtype], copy=False)
        return file_format.npy_header(dtype, len(little)) + little.tobytes()


def write_profile(profile: Profile, file: BinaryIO) -> None:
    """Write a profile's tables, recording and notes to a seekable file."""
    members: list[Member] = []
    tables = {
        name: _describe_table(name, table, members)
        for name in TABLES
        if (table := getattr(profile, name)) is not None
    }
    others = [field.name for field in fields(profile) if field.name not in (*TABLES, "recording")]
    manifest = {
        "format": file_format.NAME,
        "version": file_format.VERSION,
        "recording": _encode_all(asdict(profile.recording), "recording"),
        "fields": _encode_all({name: getattr(profile, name) for name in others}, "profile"),
        "columns_of_notes": list(map(columns_of, profile.notes)),
        "tables": tables,
    }
    text = json.dumps(manifest, allow_nan=False, separators=(",", ":")).encode("ascii")
    _write_zip(file, text, members, deflate=True)
    if not _may_be_read(file.tell(), len(text), tables):
        file.seek(0)
        file.truncate()
        _write_zip(file, text, members, deflate=False)


def _may_be_read(size: int, text: int, tables: dict[str, Any]) -> bool:
    """Return whether a reader lets a file of `size` bytes unpack to this text and these tables."""
    unpacked = sum(
        table["rows"] * file_format.item_bytes(column["dtype"])
        for table in tables.values()
        for column in table["columns"]
    )
    return text <= file_format.most_bytes(
        file_format.SMALL_MANIFEST, size
    ) and unpacked <= file_format.most_bytes(file_format.SMALL_TABLES, size)


def _describe_table(name: str, table: "pd.DataFrame", members: list[Member]) -> dict[str, Any]:
    """Return the description of a table, and add its columns to `members`."""
    place = f"profile.{name}"
    if not np.array_equal(table.index, np.arange(len(table))):
        raise NbprofError(
            f"{place} cannot be saved: its rows must be numbered from 0; call reset_index first."
        )
    if not table.columns.is_unique or not all(map(file_format.is_name, table.columns)):
        raise NbprofError(
            f"{place} cannot be saved: its columns need names, all of them different."
        )
    columns = []
    for number, column in enumerate(table.columns):
        plain = column.isascii() and column.isidentifier()
        member = f"{name}/{column if plain else number}.npy"
        numbers, described = _encode_column(table[column], f"{place}[{column!r}]")
        members.append(Member(member, numbers))
        columns.append(
            {"name": column, "member": member, "stored": numbers.dtype.name, **described}
        )
    return {"rows": len(table), "columns": columns}


def _encode_column(column: "pd.Series[Any]", place: str) -> tuple[Numbers, dict[str, Any]]:
    """Return the numbers that stand for a column, and the description that turns them back."""
    dtype = str(column.dtype)
    if dtype in file_format.NUMBERS:
        return _narrow(column.to_numpy()), {"dtype": dtype}
    if dtype == file_format.TEXT or set(map(type, column)) == {str}:
        codes, distinct = column.factorize(use_na_sentinel=False)
        values = [_encode(value, place) for value in distinct]
    elif dtype == file_format.OBJECT:
        codes, values = _number_values([_encode(value, place) for value in column])
    else:
        raise NbprofError(
            f"{place} cannot be saved: nbprof's file has no columns of {dtype}; convert it first."
        )
    return _narrow(codes.astype(np.uint32)), {"dtype": dtype, "values": values}


def _number_values(encoded: list[Any]) -> tuple[Numbers, list[Any]]:
    """Number the distinct values, keeping 1, 1.0 and True apart, which Python finds equal."""
    numbers: dict[str, int] = {}
    codes = [numbers.setdefault(json.dumps(value), len(numbers)) for value in encoded]
    return np.array(codes, dtype=np.uint32), [json.loads(text) for text in numbers]


def _narrow(numbers: Numbers) -> Numbers:
    """Convert whole numbers to the narrowest type of their kind that holds them all."""
    if numbers.dtype.kind not in "iu" or not len(numbers):
        return numbers
    kind = "int" if numbers.dtype.kind == "i" else "uint"
    low, high = numbers.min(), numbers.max()
    for bits in (8, 16, 32):
        limits = np.iinfo(f"{kind}{bits}")
        if bits < 8 * numbers.itemsize and limits.min <= low and high <= limits.max:
            return numbers.astype(limits.dtype)
    return numbers


def _encode_all(values: dict[str, Any], place: str) -> dict[str, Any]:
    return {name: _encode(value, f"{place}.{name}") for name, value in values.items()}


def _encode(value: object, place: str) -> Any:
    """Encode a value as JSON that decodes to the same value."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {file_format.FLOAT: str(value)}
    if isinstance(value, tuple):
        return [_encode(item, place) for item in value]
    if isinstance(value, list):
        return {file_format.LIST: [_encode(item, place) for item in value]}
    raise NbprofError(
        f"{place} cannot be saved: it has a {type(value).__name__}; "
        "nbprof's file holds numbers, texts, None, and tuples and lists of them."
    )


def _write_zip(file: BinaryIO, manifest: bytes, members: list[Member], deflate: bool) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        _write_member(archive, file_format.MANIFEST, manifest, deflate)
        for member in members:
            _write_member(archive, member.name, member.content, deflate)


def _write_member(archive: zipfile.ZipFile, name: str, content: bytes, deflate: bool) -> None:
    info = zipfile.ZipInfo(name)  # without a date, so that a profile always becomes the same bytes
    info.external_attr = 0o644 << 16
    method = zipfile.ZIP_DEFLATED if deflate and _pays(content) else zipfile.ZIP_STORED
    archive.writestr(info, content, method, LEVEL)


def _pays(content: bytes) -> bool:
    """Return whether deflating pays, judging by the beginning and the middle."""
    half = len(content) // 2
    sample = content[: SAMPLE // 2] + content[half : half + SAMPLE // 2]
    return len(zlib.compress(sample, 1)) < PAYS * len(sample)

"""Read a TensorFlow checkpoint: its variables, and their values on request.

A checkpoint is a family of files, ``<prefix>.index`` and ``<prefix>.data-00000-of-00001``, named by
its prefix. The field numbers are those of ``tensorflow/core/protobuf/tensor_bundle.proto``.
"""

from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from nbprof.errors import NbprofError
from nbprof.ingest.protobuf.repeated_fields import tag
from nbprof.ingest.protobuf.wire import VARINT, Buffer
from nbprof.ingest.tfprof.sorted_table import read_table
from nbprof.ingest.tfprof.text_schema import enums

HEADER_SHARDS = tag(1, VARINT)
HEADER_ENDIANNESS = tag(2, VARINT)

ENTRY_TYPE = tag(1, VARINT)
ENTRY_SHAPE = tag(2)
ENTRY_SHARD = tag(3, VARINT)
ENTRY_OFFSET = tag(4, VARINT)
ENTRY_SIZE = tag(5, VARINT)
ENTRY_SLICE = tag(7)

SHAPE_DIM = tag(2)
DIM_SIZE = tag(1, VARINT)

SLICE_KEY = b"\0"
"""First byte of the keys of slices of variables; other keys are variable names."""

MOST_DIMS = 254
"""Maximum number of dimensions in TensorFlow."""

MOST_NUMPY_DIMS = 32
"""Maximum number of dimensions in numpy 1."""

BFLOAT16 = "bfloat16"

NUMPY_TYPES = {
    "half": "<f2",
    "float": "<f4",
    "double": "<f8",
    BFLOAT16: "<u2",
    "int8": "<i1",
    "int16": "<i2",
    "int32": "<i4",
    "int64": "<i8",
    "uint8": "<u1",
    "uint16": "<u2",
    "uint32": "<u4",
    "uint64": "<u8",
    "bool": "?",
    "complex64": "<c8",
    "complex128": "<c16",
}
"""numpy types of saved values, by TensorFlow type; types that numpy lacks are left out."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable in a checkpoint: its type and shape, and where its values are."""

    dtype: str
    """TensorFlow's name of the type in lower case, such as `float`; `type 99` if unknown."""
    shape: tuple[int, ...]
    shard: int
    offset: int
    size: int
    is_sliced: bool
    """Whether the values are saved in parts, as for a partitioned variable."""

    def fits(self, item_size: int) -> bool:
        """Return whether shape and size agree, and numpy can hold the shape."""
        if len(self.shape) > MOST_NUMPY_DIMS or min(self.shape, default=0) < 0:
            return False
        largest = prod(dim for dim in self.shape if dim) * item_size
        return largest < 2**63 and prod(self.shape) * item_size == self.size


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint and its variables by name."""

    prefix: Path
    shards: int
    is_big_endian: bool
    variables: dict[str, Variable]

    def values(self, name: str) -> npt.NDArray[Any]:
        """Read the values of a variable from the checkpoint's data files."""
        variable = self.variables.get(name)
        if variable is None:
            raise NbprofError(f"{self.prefix} has no variable {name}.")
        what = f"{self.prefix}, variable {name}"
        if variable.is_sliced or variable.dtype not in NUMPY_TYPES:
            saved = "in parts" if variable.is_sliced else f"as {variable.dtype}"
            raise NbprofError(f"{what}: its values are saved {saved}, which nbprof cannot read.")
        dtype = np.dtype(NUMPY_TYPES[variable.dtype])
        if not variable.fits(dtype.itemsize):
            raise NbprofError(
                f"{what}: {variable.size} bytes do not hold values of shape {variable.shape} "
                f"and type {variable.dtype}."
            )
        order = dtype.newbyteorder(">" if self.is_big_endian else "<")
        written = np.frombuffer(self._read(variable), order)
        if variable.dtype == BFLOAT16:
            written = (written.astype(np.uint32) << 16).view(np.float32)
        return written.astype(written.dtype.newbyteorder("=")).reshape(variable.shape)

    def _read(self, variable: Variable) -> bytes:
        suffix = f".data-{variable.shard:05d}-of-{self.shards:05d}"
        path = Path(f"{self.prefix}{suffix}")
        try:
            if path.stat().st_size < variable.offset + variable.size:
                raise NbprofError(
                    f"{path} is not readable: {variable.offset + variable.size} bytes were "
                    f"expected, not {path.stat().st_size}."
                )
            with path.open("rb") as file:
                file.seek(variable.offset)
                return file.read(variable.size)
        except OSError as error:
            raise NbprofError(f"{path} is not readable: {error}.") from None


def read_checkpoint(prefix: str | Path) -> Checkpoint:
    """Read the index of the checkpoint with this prefix."""
    prefix = Path(str(prefix).removesuffix(".index"))
    path = Path(f"{prefix}.index")
    if prefix.is_file() and not path.is_file():
        raise NbprofError(
            f"{prefix} is a file, not the prefix of a checkpoint. A checkpoint in TensorFlow's "
            "first format, a single file, must be restored and saved again."
        )
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        raise NbprofError(f"{path} is not readable: {error}.") from None
    return read_index(data, prefix)


def read_index(data: bytes, prefix: Path) -> Checkpoint:
    """Read the bytes of the index of the checkpoint with this prefix."""
    source = f"{prefix}.index"
    shards, is_big_endian = 0, False
    variables = {}
    for key, value in read_table(data, source):
        entry = Buffer(value, source, f"checkpoint index (in the entry {key!r})")
        if not key:
            header = {found: number for found, number, _ in entry.fields(0, len(value))}
            shards = header.get(HEADER_SHARDS, 0)
            is_big_endian = bool(header.get(HEADER_ENDIANNESS, 0))
        elif not key.startswith(SLICE_KEY):
            variables[key.decode(errors="replace")] = _read_variable(entry)
    if not shards:
        raise NbprofError(f"{source} is not a readable checkpoint index: it has no header.")
    return Checkpoint(prefix, shards, is_big_endian, variables)


def _read_variable(entry: Buffer) -> Variable:
    numbers = dict.fromkeys((ENTRY_TYPE, ENTRY_SHARD, ENTRY_OFFSET, ENTRY_SIZE), 0)
    shape: tuple[int, ...] = ()
    is_sliced = False
    for found, value, begin in entry.fields(0, len(entry.data)):
        if found in numbers:
            numbers[found] = value
        elif found == ENTRY_SHAPE:
            shape = _read_shape(entry, begin, begin + value)
        is_sliced |= found == ENTRY_SLICE
    return Variable(
        dtype=_TYPE_NAMES.get(numbers[ENTRY_TYPE], f"type {numbers[ENTRY_TYPE]}"),
        shape=shape,
        shard=numbers[ENTRY_SHARD],
        offset=numbers[ENTRY_OFFSET],
        size=numbers[ENTRY_SIZE],
        is_sliced=is_sliced,
    )


def _read_shape(entry: Buffer, begin: int, end: int) -> tuple[int, ...]:
    dims = []
    for found, size, at in entry.fields(begin, end):
        if found == SHAPE_DIM:
            dim = {inner: value for inner, value, _ in entry.fields(at, at + size)}
            number = dim.get(DIM_SIZE, 0)
            dims.append(number - 2**64 if number >> 63 else number)
    if len(dims) > MOST_DIMS:
        raise entry.damage(begin, f"a shape has more than {MOST_DIMS} dimensions")
    return tuple(dims)


_TYPE_NAMES = {
    number: text.decode().removeprefix("DT_").lower()
    for text, number in enums()["DataType"].items()
}


LONGEST = 10_000
"""Maximum length of a value's text in characters; longer ones are cut."""

OMITTED = "...omitted from display\n\n"
"""End of a text that was cut, as in tfprof."""


def value_table(names: list[str], checkpoint: Checkpoint | None) -> pd.DataFrame:
    """Return the values, as texts, of the nodes that are variables of the checkpoint."""
    rows: list[tuple[int, str]] = []
    if checkpoint is not None:
        known = checkpoint.variables
        nodes = [(node, name) for node, name in enumerate(names) if name in known]
        rows = [(node, _value(checkpoint, name)) for node, name in nodes]
    return pd.DataFrame(rows, columns=["node", "text"])


def _value(checkpoint: Checkpoint, name: str) -> str:
    try:
        return spell_value(checkpoint.values(name))
    except NbprofError as error:
        return str(error)


def spell_value(values: npt.NDArray[Any]) -> str:
    """Return values in nested brackets, cut if too long."""
    number = "%.2f " if values.dtype.kind == "f" else "%d "
    # A number takes at least two characters, so fewer rows fill the text.
    if values.size > LONGEST:
        shape = values.shape
        rows = max(1, -(-LONGEST * shape[0] // values.size))
        values = values[:rows]
    text = _brackets(values, number)
    return text if len(text) <= LONGEST else text[:LONGEST] + OMITTED


def _brackets(values: npt.NDArray[Any], number: str) -> str:
    if values.ndim == 0:
        return str(number % values.item())
    if values.ndim == 1:
        inner = "".join(number % value for value in values.tolist())
    else:
        inner = "".join(_brackets(part, number) for part in values)
    return f"[{inner}],\n"

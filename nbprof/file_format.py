"""The words of nbprof's own file, which `export` writes and `ingest` reads (docs/own-file.md)."""

NAME = "nbprof"
VERSION = 2
"""Goes up when a nbprof that knows only the version before could not read the file rightly."""

ZIP = b"PK\x03\x04"
"""How the file begins."""
CATALOGUE = "nbprof.json"
"""The member that says which tables there are, and holds all that is not a column of numbers."""

NUMBERS = {
    "bool": "|b1",
    **{"int8": "|i1", "int16": "<i2", "int32": "<i4", "int64": "<i8"},
    **{"uint8": "|u1", "uint16": "<u2", "uint32": "<u4", "uint64": "<u8"},
    **{"float16": "<f2", "float32": "<f4", "float64": "<f8"},
}
"""The dtypes of a column of numbers, and how they are spelled in a `.npy` file."""
CODES = ("uint8", "uint16", "uint32")
"""What the codes of any other column may be stored as: each is the place of a value in a list."""
TEXT = "str"
"""The dtype that pandas gives to text since its version 3; before, it is "object"."""
OBJECT = "object"

FLOAT, LIST = "float", "list"
"""The keys of what JSON cannot say: `{"float": "nan"}`, `{"list": [...]}`; an array is a tuple."""

SMALL_CATALOGUE = 8 << 20
SMALL_TABLES = 256 << 20
RATIO = 100


def most_bytes(small: int, file_size: int) -> int:
    """Say how much a file of this size may claim to unpack to: deflate alone would allow 1000 ×."""
    return small + RATIO * file_size


def item_bytes(dtype: str) -> int:
    """Give the bytes that a value of a column takes in memory; of an object, its address."""
    return int(NUMBERS[dtype][2]) if dtype in NUMBERS else 8


def is_name(name: object) -> bool:
    """Tell whether a column may have this name: a text without lone surrogates."""
    return isinstance(name, str) and name.encode("utf-8", "replace").decode() == name


def npy_header(dtype: str, rows: int) -> bytes:
    """Spell the first 128 bytes of a `.npy` file of one dimension, as numpy does.

    There is one spelling, so a reader compares and never parses.
    """
    shape = f"{{'descr': '{NUMBERS[dtype]}', 'fortran_order': False, 'shape': ({rows},), }}"
    return b"\x93NUMPY\x01\x00\x76\x00" + shape.ljust(117).encode("ascii") + b"\n"

"""Names and limits of nbprof's own file, shared by its writer and reader (docs/own-file.md)."""

NAME = "nbprof"
"""The format's name, in the manifest."""
VERSION = 2
"""Version of the format; it goes up when an older nbprof would misread a newer file."""

ZIP = b"PK\x03\x04"
"""First bytes of a zip file, and of each member in it."""
MANIFEST = "nbprof.json"
"""The member that lists the tables and holds everything that is not a column of numbers."""

NUMBERS = {
    "bool": "|b1",
    **{"int8": "|i1", "int16": "<i2", "int32": "<i4", "int64": "<i8"},
    **{"uint8": "|u1", "uint16": "<u2", "uint32": "<u4", "uint64": "<u8"},
    **{"float16": "<f2", "float32": "<f4", "float64": "<f8"},
}
"""The dtypes of number columns, and their descriptors in `.npy` files."""
CODES = ("uint8", "uint16", "uint32")
"""The dtypes for columns of other values, stored as indices into a list of distinct values."""
TEXT = "str"
"""The dtype of text since pandas 3; before, it is OBJECT."""
OBJECT = "object"
"""The dtype of columns of Python objects."""

FLOAT = "float"
"""Key of a float that JSON cannot express: `{"float": "nan"}`."""
LIST = "list"
"""Key of a list, `{"list": [...]}`; a plain JSON array is a tuple."""

SMALL_MANIFEST = 8 << 20
"""Bytes that the manifest of any file may unpack to, however small the file."""
SMALL_TABLES = 256 << 20
"""Bytes that the tables of any file may unpack to, however small the file."""
RATIO = 100
"""How many times its own size a file may unpack to in addition; deflate allows about 1000."""


def most_bytes(small: int, file_size: int) -> int:
    """Return how many bytes a file of this size may claim to unpack to."""
    return small + RATIO * file_size


def item_bytes(dtype: str) -> int:
    """Return the bytes that a value takes in memory; for an object, those of its address."""
    return int(NUMBERS[dtype][2]) if dtype in NUMBERS else 8


def is_name(name: object) -> bool:
    """Return whether a column may have this name: a text without lone surrogates."""
    return isinstance(name, str) and name.encode("utf-8", "replace").decode() == name


def npy_header(dtype: str, rows: int) -> bytes:
    """Return the 128-byte header of a one-dimensional `.npy` file, exactly as numpy writes it.

    Readers compare it instead of parsing it.
    """
    shape = f"{{'descr': '{NUMBERS[dtype]}', 'fortran_order': False, 'shape': ({rows},), }}"
    return b"\x93NUMPY\x01\x00\x76\x00" + shape.ljust(117).encode("ascii") + b"\n"

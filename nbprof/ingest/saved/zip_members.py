"""Read the members of a zip file without trusting a name or a size in it.

Python's zipfile reads the directory. The members are read here, because reading them with zipfile
takes longer than everything else in loading a small profile.
"""

import struct
import zipfile
import zlib
from typing import BinaryIO

from nbprof.file_format import ZIP

FAULTS = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError),
    *(NotImplementedError, RuntimeError, ValueError, OverflowError),
)
"""Exceptions that Python's zipfile and zlib raise on damaged files."""
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""The compression methods that nbprof writes."""
ENCRYPTED = 0x1
"""Flag bit of a member that needs a password."""
HEADER = struct.Struct("<4s22xHH")
"""A member's header: signature, length of the name, length of the extra field."""


class DamageError(Exception):
    """What is wrong with a file, and where; the caller adds the file's name."""


class Members:
    """The members of a zip file by name."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        try:
            self._archive = zipfile.ZipFile(file)
        except FAULTS as error:
            raise DamageError("the zip directory at its end is missing or damaged") from error
        self.file_size = file.seek(0, 2)

    def size(self, name: str) -> int:
        """Return the size in bytes that a member claims to have."""
        return self._info(name).file_size

    def read(self, name: str, size: int) -> bytes:
        """Read a member of that size; refuse any other size and a wrong checksum."""
        info = self._info(name)
        if info.file_size != size:
            raise DamageError(f"{name} should have {size:,} bytes but claims {info.file_size:,}")
        if info.compress_type not in METHODS or info.flag_bits & ENCRYPTED:
            raise DamageError(f"{name} should be stored or deflated, without a password")
        try:
            content = self._packed(info)
            if info.compress_type == zipfile.ZIP_DEFLATED:
                content = zlib.decompressobj(-zlib.MAX_WBITS).decompress(content, size + 1)
        except FAULTS as error:
            raise DamageError(f"{name} is damaged ({error})") from error
        if len(content) != size:
            raise DamageError(f"{name} claims {size:,} bytes but unpacks to another size")
        if zlib.crc32(content) != info.CRC:
            raise DamageError(f"{name} is damaged (its checksum does not match)")
        return content

    def _packed(self, info: zipfile.ZipInfo) -> bytes:
        self._file.seek(info.header_offset)
        signature, name_size, extra_size = HEADER.unpack(self._file.read(HEADER.size))
        if signature != ZIP or info.compress_size > self.file_size:
            raise ValueError("no member of this size begins there")
        self._file.seek(name_size + extra_size, 1)
        return self._file.read(info.compress_size)

    def _info(self, name: str) -> zipfile.ZipInfo:
        try:
            return self._archive.getinfo(name)
        except KeyError:
            raise DamageError(f"the member {name!r} is missing") from None

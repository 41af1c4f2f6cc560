"""The members of a zip file, of which nothing is believed: neither a name nor a size.

Python's zipfile reads the directory. The members are read here: its own way of doing that takes
longer than all the rest of loading a small profile.
"""

import struct
import zipfile
import zlib
from typing import BinaryIO

FAULTS = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError),
    *(NotImplementedError, RuntimeError, ValueError, OverflowError),
)
"""What Python's zipfile and zlib raise over damaged files."""
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
ENCRYPTED = 0x1
HEADER = struct.Struct("<4s22xHH")
"""What stands before a member: how it begins, and the lengths of its name and of what follows."""


class DamageError(Exception):
    """What is wrong in a file, and in which place; whoever knows the file's name adds it."""


class Members:
    """The members of a zip file by name."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        try:
            self._archive = zipfile.ZipFile(file)
        except FAULTS as error:
            raise DamageError(
                "the zip's directory, expected at its end, is not there whole"
            ) from error
        self.file_size = file.seek(0, 2)

    def size(self, name: str) -> int:
        """Give the size that a member claims to have."""
        return self._info(name).file_size

    def read(self, name: str, size: int) -> bytes:
        """Read a member of that size; its checksum must be right."""
        info = self._info(name)
        if info.file_size != size:
            raise DamageError(f"{name} should have {size:,} bytes and claims {info.file_size:,}")
        if info.compress_type not in METHODS or info.flag_bits & ENCRYPTED:
            raise DamageError(f"{name} should be stored or deflated, without a password")
        try:
            content = self._packed(info)
            if info.compress_type == zipfile.ZIP_DEFLATED:
                content = zlib.decompressobj(-zlib.MAX_WBITS).decompress(content, size + 1)
        except FAULTS as error:
            raise DamageError(f"{name} is damaged ({error})") from error
        if len(content) != size:
            raise DamageError(f"{name} should have {size:,} bytes and has others")
        if zlib.crc32(content) != info.CRC:
            raise DamageError(f"{name} is damaged (its checksum is another)")
        return content

    def _packed(self, info: zipfile.ZipInfo) -> bytes:
        self._file.seek(info.header_offset)
        begins, name, extra = HEADER.unpack(self._file.read(HEADER.size))
        if begins != b"PK\x03\x04" or info.compress_size > self.file_size:
            raise ValueError("nothing of this size begins there")
        self._file.seek(name + extra, 1)
        return self._file.read(info.compress_size)

    def _info(self, name: str) -> zipfile.ZipInfo:
        try:
            return self._archive.getinfo(name)
        except KeyError:
            raise DamageError(f"the member {name!r} is missing") from None

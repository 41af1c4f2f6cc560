"""The members of a zip file, of which nothing is believed: neither a name nor a size."""

import struct
import zipfile
import zlib
from typing import BinaryIO

FAULTS = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError),
    *(NotImplementedError, RuntimeError, ValueError, OverflowError),
)
"""What Python's zipfile raises over damaged files."""
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
ENCRYPTED = 0x1


class DamageError(Exception):
    """What is wrong in a file, and in which place; whoever knows the file's name adds it."""


class Members:
    """The members of a zip file by name."""

    def __init__(self, file: BinaryIO) -> None:
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
            with self._archive.open(info) as member:
                content = member.read(size)
        except FAULTS as error:
            raise DamageError(f"{name} is damaged ({error})") from error
        if len(content) != size:
            raise DamageError(f"{name} should have {size:,} bytes and ends after {len(content):,}")
        return content

    def _info(self, name: str) -> zipfile.ZipInfo:
        try:
            return self._archive.getinfo(name)
        except KeyError:
            raise DamageError(f"the member {name!r} is missing") from None

"""Unpack gzip, in bounds: a small file cannot fill the memory."""

import gzip
import io
import zlib
from typing import TYPE_CHECKING

from nbprof import file_format
from nbprof.errors import NbprofError
from nbprof.progress import progress

if TYPE_CHECKING:
    from nbprof.files.locations import Place

GZIP = b"\x1f\x8b"
CHUNK = 1 << 20
SMALL = 256 << 20
"""So much any file may unpack to; larger ones so much, and a hundred times their own size."""


def unpack(place: "Place", packed: bytes) -> bytes:
    """Unpack the bytes of a file that is gzip."""
    return _unpack(str(place), packed, file_format.most_bytes(SMALL, len(packed)))


def unpack_head(packed: bytes, size: int) -> bytes:
    """Unpack the first bytes, as far as they can be had from these."""
    try:
        return zlib.decompressobj(wbits=31).decompress(packed, size)
    except zlib.error:
        return b""


def _unpack(name: str, packed: bytes, most: int) -> bytes:
    whole, source = io.BytesIO(), io.BytesIO(packed)
    try:
        with (
            progress(f"unpacking {name}", len(packed), "B") as done,
            gzip.GzipFile(fileobj=source) as file,
        ):
            read = 0
            while chunk := file.read(CHUNK):
                whole.write(chunk)
                done(source.tell() - read)
                read = source.tell()
                if whole.tell() > most:
                    raise NbprofError(
                        f"{name} cannot be read: it unpacks to more than {most >> 20} MiB, "
                        f"{most // len(packed)} times its size; unpack it by hand if it is right."
                    )
    except (OSError, EOFError, zlib.error) as error:
        raise NbprofError(f"{name} cannot be read: its gzip is damaged ({error}).") from error
    return whole.getvalue()

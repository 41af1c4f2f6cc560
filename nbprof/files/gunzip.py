"""Unpack gzip within limits, so that a small file cannot fill the memory."""

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
"""First bytes of a gzip file."""
CHUNK = 1 << 20
"""Bytes unpacked at once."""
SMALL = 256 << 20
"""Bytes that any file may unpack to, however small it is."""


def unpack(place: "Place", packed: bytes) -> bytes:
    """Unpack the bytes of a gzip file."""
    return _unpack(str(place), packed, file_format.most_bytes(SMALL, len(packed)))


def unpack_head(packed: bytes, size: int) -> bytes:
    """Return the first `size` unpacked bytes, or fewer if `packed` ends before."""
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
                        f"{most // len(packed)} times its size; unpack it yourself if you trust it."
                    )
    except (OSError, EOFError, zlib.error) as error:
        raise NbprofError(f"{name} cannot be read: its gzip data is damaged ({error}).") from error
    return whole.getvalue()

"""A file that is read in pieces, as its reader asks for bytes.

Bytes to keep go to their own place in a buffer as large as the file; pages never written to take
no memory. Bytes needed only once go through a second, reused buffer: touching fresh memory costs
more than reading the file.

The file is not memory-mapped: a failing disk, or a file truncated meanwhile, would kill the whole
process instead of raising an error.
"""

import mmap
import sys
from io import SEEK_END, FileIO
from typing import cast

from nbprof.errors import NbprofError
from nbprof.ingest.protobuf.wire import BEHIND, HEAD, Buffer

AHEAD = 1 << 14
"""Minimum number of bytes to read at once."""

TRUNCATED = "it was truncated while being read; load it again once it is fully written"
"""Problem of a file that ends before the size it had at first."""


class LongFile(Buffer):
    """The bytes of an open file, fetched on demand; closing it closes the file."""

    in_memory = False

    def __init__(self, file: FileIO, source: str) -> None:
        self._file = file
        size = file.seek(0, SEEK_END)
        try:
            super().__init__(_reserve(size), source)
        except (OSError, ValueError) as error:
            file.close()
            raise NbprofError(
                f"{source} cannot be read: not enough memory for its {size:,} bytes."
            ) from error
        self._part = Buffer(b"", source)
        self._held = 0, 0

    def close(self) -> None:
        """Release the bytes and close the file."""
        super().close()
        self._file.close()

    def field(self, position: int, end: int) -> tuple[int, int, int, int]:
        """Read one field without fetching its content."""
        self.hold(position, min(position + HEAD, end))
        return super().field(position, end)

    def hold(self, begin: int, end: int) -> int:
        """Fetch these bytes; return the position up to which bytes are present."""
        first, last = self._held
        if begin < first or end > last:
            last = min(max(end, begin + AHEAD), len(self.data))
            self._read(begin, memoryview(self.data)[begin:last])
            self._held = begin, last
        return last

    def part(self, begin: int, end: int) -> tuple[Buffer, int]:
        """Read these bytes, and a few past them, into the reused buffer."""
        size = min(end + BEHIND, len(self.data)) - begin
        if size > len(self._part.data):
            self._part = Buffer(_reserve(2 * size), self.source)
        self._part.place = begin, len(self.data)
        self._read(begin, memoryview(self._part.data)[:size])
        return self._part, begin

    def _read(self, begin: int, target: memoryview) -> None:
        try:
            self._file.seek(begin)
            while target:
                count = self._file.readinto(target)
                if not count:
                    raise NbprofError(f"{self.source} cannot be read: {TRUNCATED}.")
                target = target[count:]
        except OSError as error:
            raise NbprofError(f"{self.source} cannot be read: {error.strerror}.") from error


def _reserve(size: int) -> bytes:
    """Reserve memory; pages never written to take none."""
    if sys.platform == "win32":
        reserved = mmap.mmap(-1, size)
    else:
        reserved = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return cast("bytes", reserved)  # len(), items and slices work as with bytes

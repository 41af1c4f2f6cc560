"""A file that is not read at once: its reader says which bytes it needs.

What is to be held is kept at its place in a room as large as the file, of which only what is
written to takes memory. What is read part by part goes into one other room, which is used again and
again: memory that a program uses for the first time costs more than to read the file does.

The file is not mapped into memory: a disk that fails, or a file that is cut meanwhile, would then
end the whole program, not only the reading.
"""

import mmap
import sys
from io import SEEK_END, FileIO
from typing import cast

from nbprof.errors import NbprofError
from nbprof.ingest.protobuf.wire import BEHIND, HEAD, Buffer

AHEAD = 1 << 14
"""So many bytes are read at least."""

CUT = "it became shorter while it was read"


class LongFile(Buffer):
    """The bytes of an open file, as many as are needed at a time; it closes the file."""

    in_memory = False

    def __init__(self, file: FileIO, source: str) -> None:
        self._file = file
        size = file.seek(0, SEEK_END)
        try:
            super().__init__(_untouched(size), source)
        except (OSError, ValueError) as error:
            file.close()
            raise NbprofError(f"{source} cannot be read: no room for {size} bytes.") from error
        self._part = Buffer(b"", source)
        self._held = 0, 0

    def close(self) -> None:
        """Let go of the bytes and of the file."""
        super().close()
        self._file.close()

    def field(self, position: int, end: int) -> tuple[int, int, int, int]:
        """Read one field; its content need not be at hand."""
        self.hold(position, min(position + HEAD, end))
        return super().field(position, end)

    def hold(self, begin: int, end: int) -> int:
        """Have these bytes at hand, and give up to where all are."""
        first, last = self._held
        if begin < first or end > last:
            last = min(max(end, begin + AHEAD), len(self.data))
            self._read(begin, memoryview(self.data)[begin:last])
            self._held = begin, last
        return last

    def part(self, begin: int, end: int) -> tuple[Buffer, int]:
        """Read these bytes, and some behind them, into the room for parts."""
        size = min(end + BEHIND, len(self.data)) - begin
        if size > len(self._part.data):
            self._part = Buffer(_untouched(2 * size), self.source)
        self._part.place = begin, len(self.data)
        self._read(begin, memoryview(self._part.data)[:size])
        return self._part, begin

    def _read(self, begin: int, room: memoryview) -> None:
        try:
            self._file.seek(begin)
            while room:
                count = self._file.readinto(room)
                if not count:
                    raise NbprofError(f"{self.source} cannot be read: {CUT}.")
                room = room[count:]
        except OSError as error:
            raise NbprofError(f"{self.source} cannot be read: {error.strerror}.") from error


def _untouched(size: int) -> bytes:
    """Give room in memory, of which only what is written to takes any."""
    if sys.platform == "win32":
        room = mmap.mmap(-1, size)
    else:
        room = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return cast("bytes", room)  # its length, an item and a slice of it are as those of bytes

"""Read a sorted string table, the format of a checkpoint's index: all its keys and values.

The footer locates the index block, which locates the data blocks. Each block is followed by a byte
that names its compression and by a checksum. A key omits the prefix it shares with the key before.
"""

from collections.abc import Iterator

from nbprof.errors import NbprofError
from nbprof.ingest.protobuf.wire import Buffer

MAGIC = 0xDB4775248B80FB57.to_bytes(8, "little")
FOOTER = 48
"""Size of the footer in bytes."""

TRAILER = 5
"""Size in bytes of a block's trailer: compression and checksum."""

PLAIN, SNAPPY = 0, 1
"""Compressions of a block."""

MOST_SHARED = 64
"""Maximum total length of a block's keys, as a multiple of the block's size.

Every 16th key is written in full, so real tables stay far below it.
"""

KIND = "checkpoint index"

POLYNOMIAL = 0x82F63B78
"""Polynomial of CRC-32C, bits reversed."""

MASK = 0xA282EAD8
"""Added to a rotated checksum, so that data containing checksums can be checksummed safely."""


def read_table(data: bytes, source: str) -> Iterator[tuple[bytes, bytes]]:
    """Yield keys and values in order; `source` is the file's name, for errors."""
    buffer = Buffer(data, source, KIND)
    if len(data) < FOOTER or not data.endswith(MAGIC):
        raise buffer.damage(
            max(len(data) - FOOTER, 0), "the footer of a TensorFlow checkpoint is missing"
        )
    position = len(data) - FOOTER
    for _ in range(2):  # skip the handle of the metadata block
        _, position = buffer.varint(position, len(data))
    index, _ = _read_block(buffer, *_read_handle(buffer, position))
    end = 0
    for _, handle in _entries(index):
        begin, size = _read_handle(Buffer(handle, source, KIND), 0)
        if begin < end:
            raise buffer.damage(
                begin, f"a block begins before the previous one ends, at byte {end}"
            )
        block, end = _read_block(buffer, begin, size)
        yield from _entries(block)


def _read_handle(buffer: Buffer, position: int) -> tuple[int, int]:
    """Read where a block begins, and its size."""
    begin, position = buffer.varint(position, len(buffer.data))
    size, _ = buffer.varint(position, len(buffer.data))
    return begin, size


def _read_block(buffer: Buffer, begin: int, size: int) -> tuple[Buffer, int]:
    """Read a block; return it and the position after it."""
    end = begin + size + TRAILER
    if end > len(buffer.data):
        raise buffer.damage(begin, f"a block of {size} bytes ends beyond the file")
    content, compression = buffer.data[begin : begin + size], buffer.data[begin + size]
    checksum = int.from_bytes(buffer.data[end - 4 : end], "little")
    if checksum != masked_checksum(buffer.data[begin : end - 4]):
        raise buffer.damage(begin, "a block does not match its checksum")
    if compression == SNAPPY:
        raise NbprofError(
            f"{buffer.source} is compressed with snappy, as only TensorFlow up to 1.1 wrote it: "
            "restore the checkpoint and save it again with a newer TensorFlow."
        )
    if compression != PLAIN:
        raise buffer.damage(begin + size, f"a block has the unknown compression {compression}")
    return Buffer(content, buffer.source, f"{KIND} (in its block at byte {begin})"), end


def _entries(block: Buffer) -> Iterator[tuple[bytes, bytes]]:
    data = block.data
    restarts = int.from_bytes(data[-4:], "little")
    end = len(data) - 4 - 4 * restarts
    if end < 0:
        raise block.damage(max(len(data) - 4, 0), "the number of restarts is missing or too large")
    position, key, key_bytes = 0, b"", 0
    while position < end:
        start = position
        shared, position = block.varint(position, end)
        unshared, position = block.varint(position, end)
        size, position = block.varint(position, end)
        if shared > len(key):
            raise block.damage(start, "a key shares more than the whole previous key")
        if position + unshared + size > end:
            raise block.damage(start, "a key or value ends beyond its block")
        previous, key = key, key[:shared] + data[position : position + unshared]
        if start and key <= previous:
            raise block.damage(start, "the keys are not in ascending order")
        key_bytes += len(key)
        if key_bytes > MOST_SHARED * len(data):
            raise block.damage(
                start, f"the keys are more than {MOST_SHARED} times as long as their block"
            )
        position += unshared + size
        yield key, data[position - size : position]


def _remainder(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (POLYNOMIAL if byte & 1 else 0)
    return byte


REMAINDERS = tuple(map(_remainder, range(256)))
"""CRC-32C of each byte."""


def masked_checksum(data: bytes) -> int:
    """Return the masked CRC-32C that guards TensorFlow's files, at about 10 MB/s."""
    checksum = 0xFFFF_FFFF
    for byte in data:
        checksum = REMAINDERS[(checksum ^ byte) & 0xFF] ^ checksum >> 8
    checksum ^= 0xFFFF_FFFF
    return (checksum >> 15 | checksum << 17) + MASK & 0xFFFF_FFFF

"""Read a sorted string table, the format of a checkpoint's index: all its keys and values.

The table ends in a footer, which says where the index block is, which says where the data blocks
are. After each block stand one byte, whether it is compressed, and a checksum. Each key leaves out
what it has in common with the key before.
"""

from collections.abc import Iterator

from nbprof.ingest.protobuf.wire import Buffer
from nbprof.ingest.tfprof.checksum import masked_checksum
from nbprof.ingest.tfprof.snappy import decompress

MAGIC = 0xDB4775248B80FB57.to_bytes(8, "little")
FOOTER = 48
TRAILER = 5
PLAIN, SNAPPY = 0, 1

LARGEST_BLOCK = 1 << 28
"""A block longer than this is taken for damage."""

MOST_SHARED = 64
"""Keys so many times longer than their block are damage: every 16th is written in full."""

KIND = "checkpoint index"


def read_table(data: bytes, source: str) -> Iterator[tuple[bytes, bytes]]:
    """Yield keys and values in order; `source` is the file's name, for errors."""
    buffer = Buffer(data, source, KIND)
    if len(data) < FOOTER or not data.endswith(MAGIC):
        raise buffer.damage(
            max(len(data) - FOOTER, 0), "the footer of a TensorFlow checkpoint was expected"
        )
    position = len(data) - FOOTER
    for _ in range(2):  # where the block of meta data is, which nobody needs
        _, position = buffer.varint(position, len(data))
    index, _ = _read_block(buffer, *_read_handle(buffer, position))
    end = 0
    for _, handle in _entries(index):
        begin, size = _read_handle(Buffer(handle, source, KIND), 0)
        if begin < end:
            raise buffer.damage(begin, f"no block was expected to begin before byte {end}")
        block, end = _read_block(buffer, begin, size)
        yield from _entries(block)


def _read_handle(buffer: Buffer, position: int) -> tuple[int, int]:
    """Read where a block begins and its size."""
    begin, position = buffer.varint(position, len(buffer.data))
    size, _ = buffer.varint(position, len(buffer.data))
    return begin, size


def _read_block(buffer: Buffer, begin: int, size: int) -> tuple[Buffer, int]:
    """Read a block and the position after it."""
    end = begin + size + TRAILER
    if end > len(buffer.data):
        raise buffer.damage(begin, f"a block of {size} bytes was expected to end in the file")
    content, compression = buffer.data[begin : begin + size], buffer.data[begin + size]
    checksum = int.from_bytes(buffer.data[end - 4 : end], "little")
    if checksum != masked_checksum(buffer.data[begin : end - 4]):
        raise buffer.damage(begin, "a block that agrees with its checksum was expected")
    if compression == SNAPPY:
        try:
            content = decompress(content, LARGEST_BLOCK)
        except ValueError as error:
            raise buffer.damage(begin, str(error)) from None
    elif compression != PLAIN:
        raise buffer.damage(begin + size, f"no block of compression {compression} was expected")
    return Buffer(content, buffer.source, f"{KIND} (in its block at byte {begin})"), end


def _entries(block: Buffer) -> Iterator[tuple[bytes, bytes]]:
    data = block.data
    restarts = int.from_bytes(data[-4:], "little")
    end = len(data) - 4 - 4 * restarts
    if end < 0:
        raise block.damage(max(len(data) - 4, 0), "the number of restarts was expected")
    position, key, key_bytes = 0, b"", 0
    while position < end:
        start = position
        shared, position = block.varint(position, end)
        unshared, position = block.varint(position, end)
        size, position = block.varint(position, end)
        if shared > len(key) or position + unshared + size > end:
            raise block.damage(start, "a key and a value were expected to end in the block")
        previous, key = key, key[:shared] + data[position : position + unshared]
        if start and key <= previous:
            raise block.damage(start, "a key was expected that comes after the one before it")
        key_bytes += len(key)
        if key_bytes > MOST_SHARED * len(data):
            raise block.damage(start, "keys that have less in common were expected")
        position += unshared + size
        yield key, data[position - size : position]

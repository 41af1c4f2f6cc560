"""Decompress a block of snappy, as TensorFlow may write into the index of a checkpoint."""

LITERAL, NEAR, FAR, FARTHEST = 0, 1, 2, 3


def decompress(data: bytes, largest: int) -> bytes:
    """Decompress all of a block; a ValueError says what is wrong with it.

    A block that would become longer than `largest` bytes is refused.
    """
    size, position = _varint(data)
    if size > largest:
        raise ValueError(f"a compressed block of at most {largest} bytes was expected")
    made = bytearray()
    while position < len(data):
        tag = data[position]
        if tag & 3 == LITERAL:
            position = _copy_literal(data, position, made)
        else:
            position = _copy_earlier(data, position, made)
        if len(made) > size:
            raise ValueError(f"a compressed block of {size} bytes was expected, not of more")
    if len(made) != size:
        raise ValueError(f"a compressed block of {size} bytes was expected, not of {len(made)}")
    return bytes(made)


def _varint(data: bytes) -> tuple[int, int]:
    value = 0
    for position, byte in enumerate(data[:5]):
        value |= (byte & 0x7F) << 7 * position
        if byte < 0x80:
            return value, position + 1
    raise ValueError("the size of a compressed block was expected")


def _copy_literal(data: bytes, position: int, made: bytearray) -> int:
    """Copy what is written out; return the position after it."""
    length, position = data[position] >> 2, position + 1
    if length >= 60:
        width = length - 59
        length = int.from_bytes(data[position : position + width], "little")
        position += width
    end = position + length + 1
    if end > len(data):
        raise ValueError("the rest of a compressed text was expected, not an end")
    made += data[position:end]
    return end


def _copy_earlier(data: bytes, position: int, made: bytearray) -> int:
    """Repeat what was already made; return the position after the order to do so."""
    tag = data[position]
    width = {NEAR: 1, FAR: 2, FARTHEST: 4}[tag & 3]
    end = position + 1 + width
    if end > len(data):
        raise ValueError("the rest of a compressed text was expected, not an end")
    back = int.from_bytes(data[position + 1 : end], "little")
    length = (tag >> 2) + 1
    if tag & 3 == NEAR:
        back |= tag >> 5 << 8
        length = (tag >> 2 & 7) + 4
    if not 0 < back <= len(made):
        raise ValueError("a compressed text was expected to repeat itself, not what is not there")
    start = len(made) - back
    repeated = made[start : start + length]
    # What is repeated may reach into what the repetition makes.
    made += (repeated * (length // len(repeated) + 1))[:length]
    return end

"""Write a protobuf message, field by field."""

from collections.abc import Iterable

VARINT, LENGTH = 0, 2
WORD = (1 << 64) - 1


def number_field(number: int, value: int) -> bytes:
    """Write a number; a zero is left out, as it is what an absent one means."""
    return _varint(number << 3 | VARINT) + _varint(value) if value else b""


def bytes_field(number: int, content: bytes) -> bytes:
    """Write a text or a message, an empty one too."""
    return _varint(number << 3 | LENGTH) + _varint(len(content)) + content


def packed_field(number: int, values: Iterable[int]) -> bytes:
    """Write many numbers, zeros too."""
    content = b"".join(map(_varint, values))
    return bytes_field(number, content) if content else b""


def _varint(value: int) -> bytes:
    value &= WORD  # a negative number is written as its complement
    groups = bytearray()
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    groups.append(value)
    return bytes(groups)

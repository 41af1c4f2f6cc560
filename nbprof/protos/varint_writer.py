"""Write numbers as protobuf varints: seven bits per byte, low bits first."""

import numpy as np

from nbprof.arrays import Ints, Letters, Mask, Words

WORD = (1 << 64) - 1
"""Mask of 64 bits, which turns a negative number into its two's complement."""

BLOCK = 1 << 14
"""Count of numbers encoded at once; their 7-bit groups take ten times their memory."""

SHIFTS = np.arange(0, 70, 7, dtype=np.uint64)
"""Bit positions of a varint's 7-bit groups."""

_ONE_BYTE = tuple(bytes([number]) for number in range(0x80))


def write_varint(number: int) -> bytes:
    """Return one number as a varint; a negative number takes ten bytes."""
    if 0 <= number < 0x80:
        return _ONE_BYTE[number]
    number &= WORD
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    written.append(number)
    return bytes(written)


def write_varints(values: Ints | Words | Mask) -> tuple[Ints, Letters]:
    """Return the size in bytes of each number's varint, and the bytes of all of them."""
    numbers = values.astype(np.int64).view(np.uint64)
    if numbers.max(initial=0) < 0x80:
        return np.ones(len(numbers), np.int64), numbers.astype(np.uint8)
    blocks = [
        _write_block(numbers[first : first + BLOCK]) for first in range(0, len(numbers), BLOCK)
    ]
    sizes, letters = zip(*blocks, strict=True)
    return np.concatenate(sizes), np.concatenate(letters)


def _write_block(numbers: Words) -> tuple[Ints, Letters]:
    groups = numbers[:, np.newaxis] >> SHIFTS
    size = np.maximum((groups != 0).sum(axis=1), 1)
    letters = (groups & np.uint64(0x7F)).astype(np.uint8)
    place = np.arange(len(SHIFTS))
    letters[place < size[:, np.newaxis] - 1] |= 0x80
    return size, letters[place < size[:, np.newaxis]]

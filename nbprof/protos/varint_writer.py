"""Write numbers as protobuf varints: seven bits per byte, low bits first."""

import numpy as np

from nbprof.arrays import Ints, Letters, Mask, Words

WORD = (1 << 64) - 1
"""Mask of 64 bits, which turns a negative number into its two's complement."""

LEAST = 1 << np.arange(7, 64, 7, dtype=np.uint64)
"""Least numbers that take two bytes, three bytes, and so on."""

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
    size = np.searchsorted(LEAST, numbers, side="right") + 1
    place = np.cumsum(size) - size
    letters = np.zeros(int(size.sum()), np.uint8)
    for group in range(int(size.max())):
        here = np.flatnonzero(size > group)
        bits = (numbers[here] >> np.uint64(7 * group)).astype(np.uint8) & np.uint8(0x7F)
        more = (size[here] > group + 1).astype(np.uint8) << np.uint8(7)
        letters[place[here] + group] = bits | more
    return size, letters

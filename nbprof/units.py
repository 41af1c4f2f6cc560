"""Write numbers as text, and read numbers that tfprof printed.

Numbers stay raw, in µs, bytes and counts, until they become text here. A number that was not
recorded is NaN and reads `n/a`; it is never shown as 0.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal

NOT_RECORDED = "n/a"
"""The text of a number that was not recorded."""


def format_micros(micros: float) -> str:
    """Write a time in µs as tfprof does; a fraction of a µs keeps two decimals."""
    if math.isnan(micros):
        return NOT_RECORDED
    if micros < 1e3:
        return f"{micros:.0f}us" if micros == int(micros) else f"{micros:.2f}us"
    if micros < 1e6:
        return f"{micros / 1e3:.2f}ms"
    return f"{micros / 1e6:.2f}sec"


def format_bytes(size: float) -> str:
    """Write bytes in tfprof's decimal units: 999B, 1.00KB, 1.00MB."""
    if math.isnan(size):
        return NOT_RECORDED
    if size < 1e3:
        return f"{size:.0f}B"
    return f"{size / 1e3:.2f}KB" if size < 1e6 else f"{size / 1e6:.2f}MB"


def format_mebibytes(size: float) -> str:
    """Write bytes as memory_profiler does, in MiB of 2**20 bytes: `21.4 MiB`."""
    return NOT_RECORDED if math.isnan(size) else f"{size / 2**20:.1f} MiB"


def format_kilobytes(size: float) -> str:
    """Write bytes as Pympler does, in units of 1,024: `736 B`, `265.19 KB`."""
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
    """Write a duration, given in ns, for a sentence: `3.2 ms`, `1.24 s`."""
    if nanoseconds < 999.5e3:
        return f"{nanoseconds / 1e3:.0f} µs"
    if nanoseconds < 999.5e6:
        return f"{nanoseconds / 1e6:.3g} ms"
    return f"{nanoseconds / 1e9:.2f} s"


@dataclass(frozen=True)
class Unit:
    """What a column's numbers are counted in, and how each kind of output spells them."""

    name: str
    """Its name in the explorer's JavaScript."""
    symbol: str
    """Its name in table files; empty for counts."""
    format: Callable[[float], str]
    """Writes a number as tfprof does."""
    printed: Mapping[str, int]
    """The suffixes that `format` writes, smallest first, and their factors."""
    scales: tuple[tuple[float, str], ...]
    """The divisors that figures choose from, smallest first, and their symbols."""


MICROS = Unit(
    name="micros",
    symbol="µs",
    format=format_micros,
    printed={"us": 1, "ms": 10**3, "sec": 10**6},
    scales=((1, "µs"), (1e3, "ms"), (1e6, "s")),
)
BYTES = Unit(
    name="bytes",
    symbol="bytes",
    format=format_bytes,
    printed={"B": 1, "KB": 10**3, "MB": 10**6},
    scales=((1, "B"), (1e3, "KB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB")),
)
COUNT = Unit(
    name="count",
    symbol="",
    format=format_count,
    printed={"": 1, "k": 10**3, "m": 10**6, "b": 10**9},
    scales=((1, ""), (1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T")),
)


def scale_for(number: float, unit: Unit) -> tuple[float, str]:
    """Return the divisor and symbol that let a number be read best in three digits."""
    scales = unit.scales
    return next((scale for scale in reversed(scales) if number >= 0.9995 * scale[0]), scales[0])


def format_short(number: float, unit: Unit) -> str:
    """Write a number for a figure, three digits and its unit: `1.24 s`, `345 ms`, `73.7 MB`."""
    if math.isnan(number):
        return NOT_RECORDED
    divisor, symbol = scale_for(number, unit)
    scaled = number / divisor
    return f"{scaled:.0f} {symbol}".strip() if scaled >= 99.95 else f"{scaled:.3g} {symbol}".strip()


MAX_PRINTED = 2**64
"""Bound on printed numbers: tfprof counts in 64 bits."""

_NUMBER = re.compile(r"(-?[0-9]{1,19}(?:\.[0-9]{1,6})?)([A-Za-z]{0,3})")


def parse_number(text: str, unit: Unit) -> float:
    """Read what `unit.format` wrote, as precisely as it was written.

    Raises:
        ValueError: The text is not a number in this unit.
    """
    if text == NOT_RECORDED:
        return math.nan
    factors = unit.printed
    found = _NUMBER.fullmatch(text)
    if not found or found[2] not in factors:
        words = ", ".join(factors).removeprefix(", ")
        raise ValueError(f"{text!r} is not a number in {words}")
    digits, suffix = found.groups()
    number = Decimal(digits) * factors[suffix]
    if abs(number) >= MAX_PRINTED:
        raise ValueError(f"{text!r} is more than tfprof can count")
    if "." in digits and number in factors.values():
        # 1000.00KB is 999,999 bytes, rounded up; a million bytes would be 1.00MB.
        return float(number) - (1 if factors[suffix] > 1 else 0.001) * (number > factors[suffix])
    return float(number)

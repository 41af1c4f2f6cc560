"""How numbers look: tfprof's decimal units for time, memory and counts.

Numbers travel raw (µs, bytes, counts) and become text only here. A number that was not recorded is
NaN and reads `n/a`; it is never shown as 0.
"""

import math

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

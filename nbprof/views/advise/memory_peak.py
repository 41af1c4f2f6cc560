"""What the memory peak consists of."""

from typing import TYPE_CHECKING

from nbprof.units import format_bytes
from nbprof.views.advise.check_result import Advice
from nbprof.views.live_memory import live_at_peak, peaks

if TYPE_CHECKING:
    import pandas as pd

    from nbprof._profile import Profile

PEAK_BYTES = 100e6
"""Smallest peak worth advice, in bytes."""
PEAK_TENSORS = 3
"""Number of tensors that counts as few, so that each is worth a look."""
PEAK_PERCENT = 60
"""Smallest share of the peak that these tensors must make up together."""


def few_tensors(profile: "Profile") -> list[Advice]:
    """Find a peak that consists mostly of a few tensors, so that each is worth a look."""
    if not len(profile.allocations):
        return []
    alive = live_at_peak(profile)
    found = []
    for device, peak in peaks(profile).items():
        size = float(peak["live_bytes"])
        largest = alive[alive["device"] == device].head(PEAK_TENSORS)
        percent = 100 * largest["bytes"].sum() / max(size, 1)
        if size >= PEAK_BYTES and percent >= PEAK_PERCENT:
            found.append(_advice(device, size, percent, largest))
    return found


def _advice(device: str, size: float, percent: float, largest: "pd.DataFrame") -> Advice:
    tensors = "; ".join(map(_tensor, largest.to_dict("records")))
    count = len(largest)
    message = (
        f"{count} tensor{'s make' if count > 1 else ' makes'} up {percent:.0f}% of the peak of "
        f"{format_bytes(size)} on {device}: {tensors}. Make these smaller or free them earlier: "
        "smaller batches, float16, a dataset read in pieces, tf.recompute_grad."
    )
    names = tuple(name for name in largest["op"] if isinstance(name, str))
    return Advice("peak of few tensors", "low", message, names)


def _tensor(row: "dict[object, object]") -> str:
    name = row["op"] if isinstance(row["op"], str) else "a tensor of an unknown op"
    size = format_bytes(float(str(row["bytes"])))
    shape = f" {row['dtype']}{row['shape']}" if row["shape"] else ""
    line = f", made at {row['source']}" if row["source"] else ""
    return f"{name}{shape} ({size}{line})"

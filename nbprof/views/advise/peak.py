"""What the peak of memory is made of."""

from typing import TYPE_CHECKING

from nbprof.units import format_bytes
from nbprof.views.advise.advice import Advice
from nbprof.views.advise.thresholds import threshold
from nbprof.views.live_memory import live_at_peak, peaks

if TYPE_CHECKING:
    import pandas as pd

    from nbprof._profile import Profile


def few_tensors(profile: "Profile") -> list[Advice]:
    """Find a peak that few tensors make, so that each is worth a look."""
    if not len(profile.allocations):
        return []
    alive = live_at_peak(profile)
    found = []
    for device, peak in peaks(profile).items():
        size = float(peak["live_bytes"])
        largest = alive[alive["device"] == device].head(int(threshold("peak_tensors")))
        percent = 100 * largest["bytes"].sum() / max(size, 1)
        if size >= threshold("peak_bytes") and percent >= threshold("peak_percent"):
            found.append(_advice(device, size, percent, largest))
    return found


def _advice(device: str, size: float, percent: float, largest: "pd.DataFrame") -> Advice:
    tensors = "; ".join(map(_tensor, largest.to_dict("records")))
    count = len(largest)
    message = (
        f"{count} tensor{'s make' if count > 1 else ' makes'} {percent:.0f}% of the peak of "
        f"{format_bytes(size)} on {device}: {tensors}. Make these smaller or free them earlier: "
        "smaller batches, float16, a dataset read in pieces, tf.recompute_grad."
    )
    names = tuple(name for name in largest["op"] if isinstance(name, str))
    return Advice("peak of few tensors", "low", message, names)


def _tensor(row: "dict[object, object]") -> str:
    name = row["op"] if isinstance(row["op"], str) else "a tensor of no known op"
    size = format_bytes(float(str(row["bytes"])))
    shape = f" {row['dtype']}{row['shape']}" if row["shape"] else ""
    line = f", made at {row['source']}" if row["source"] else ""
    return f"{name}{shape} ({size}{line})"

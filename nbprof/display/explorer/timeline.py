"""The op runs of a profile over time, with steps and live memory, for the explorer's timeline."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nbprof.errors import NbprofError

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.display.explorer.packing import Store

CURVE_POINTS = 1200
"""A curve of memory has so many pieces, each with the most that was live in it."""
SUMS = ("bytes", "peak_bytes", "residual_bytes", "output_bytes", "float_ops")
"""What an event has as the views have it; the sum of all is the view's number."""

Frame = Any
"""A table of the profile; this room does not know pandas."""


def has_timeline(profile: "Profile | None") -> bool:
    """Tell whether it is known when each op ran."""
    if profile is None or profile.recording.tfprof or not profile.recording.single_runs:
        return False
    return len(profile.events) > 0 and bool(profile.events["start_ns"].any())


def pack_timeline(
    profile: "Profile",
    store: "Store",
    metrics: tuple[str, ...],
    most: int,
    curve: "Curve | None",
) -> dict[str, Any]:
    """Put the longest `most` events into the store and describe them.

    With all of them go their `metrics`, so that the views can be added up for a stretch of time.
    """
    events = profile.events
    whole = len(events) <= most
    if not whole:
        longest = np.argpartition(-events["duration_ns"].to_numpy(), most)[:most]
        events = events.iloc[np.sort(longest)]
    nodes, node = np.unique(events["node"].to_numpy(), return_inverse=True)
    used, lane = np.unique(events["thread"].to_numpy(), return_inverse=True)
    names, types = (
        store.codes(profile.nodes[column].iloc[nodes].tolist()) for column in ("name", "op_type")
    )
    return {
        "of": len(profile.events),
        "events": len(events),
        "lanes": [_lane(profile, thread) for thread in used.tolist()],
        "start": store.times(events["start_ns"].to_numpy(np.int64)),
        "micros": store.times(events["duration_ns"].to_numpy(np.int64)),
        "lane": store.numbers(lane),
        "names": store.numbers(names[node]),
        "types": store.numbers(types[node]),
        "metrics": {
            name: store.numbers(values)
            for name, values in (_metrics(events) if whole else {}).items()
            if name in metrics
        },
        "steps": _steps(profile),
        "memory": curve
        and {
            "device": curve.device,
            "micros": store.numbers(curve.micros),
            "bytes": store.numbers(curve.live_bytes),
            "peak": curve.peak,
        },
    }


def _steps(profile: "Profile") -> list[list[Any]]:
    steps = profile.steps.head(CURVE_POINTS)
    starts, micros = (steps[name].round(1).tolist() for name in ("start_micros", "micros"))
    return [list(step) for step in zip(starts, micros, steps["function"].tolist(), strict=True)]


def _lane(profile: "Profile", thread: int) -> str:
    row = profile.threads.iloc[thread]
    name = row["name"].partition("/")[0] if row["device"].startswith("/host") else row["name"]
    return f"{name} {row['device']}"


def _metrics(events: Frame) -> dict[str, Any]:
    own = events["self_ns"].to_numpy(np.float64) / 1e3
    accelerator = events["accelerator"].to_numpy(bool)
    return {
        "micros": own,
        "accelerator_micros": own * accelerator,
        "cpu_micros": own * ~accelerator,
        "run_count": events["is_run"].to_numpy(np.float64),
        **{name: events[name].to_numpy(np.float64) for name in SUMS},
    }


@dataclass(frozen=True)
class Curve:
    """The live bytes of the device that held the most, thinned out, and their peak."""

    device: str
    micros: npt.NDArray[np.float64]
    live_bytes: npt.NDArray[np.float64]
    peak: dict[str, float]


def memory_curve(profile: "Profile") -> Curve | None:
    """Give the curve of the device that held the most; None: memory was not recorded."""
    try:
        curve = profile.memory()
    except NbprofError:
        return None
    peaks = curve.attrs["peak"]
    if not peaks:
        return None
    device = max(peaks, key=lambda name: float(peaks[name]["live_bytes"]))
    if len(peaks) > 1:
        curve = curve[curve["device"] == device]
    micros, live = curve["micros"].to_numpy(np.float64), curve["live_bytes"].to_numpy(np.float64)
    if len(live) > CURVE_POINTS:
        starts = np.unique(np.linspace(0, len(live) - 1, CURVE_POINTS).astype(np.intp))
        micros, live = micros[starts], np.maximum.reduceat(live, starts)
    peak = {name: float(value) for name, value in peaks[device].items()}
    return Curve(str(device), np.rint(micros), live, peak)

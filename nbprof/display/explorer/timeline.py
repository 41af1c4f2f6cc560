"""The op runs of a profile over time, with steps and live memory, for the explorer's timeline."""

from typing import TYPE_CHECKING, Any

import numpy as np

from nbprof.errors import NbprofError

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.display.explorer.packing import Store

CURVE_POINTS = 1200
"""A curve of memory has so many pieces, each with the most that was live in it."""
EXACT_NS = 2**31
"""Times from here on are kept in whole µs, which take as little room as ns before it."""
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
    profile: "Profile", store: "Store", metrics: tuple[str, ...], most: int
) -> dict[str, Any]:
    """Put the longest `most` events into the store and describe them.

    With all of them go their `metrics`, so that the views can be added up for a stretch of time.
    """
    events = profile.events
    whole = len(events) <= most
    if not whole:
        longest = np.argsort(-events["duration_ns"].to_numpy(), kind="stable")[:most]
        events = events.iloc[np.sort(longest)]
    nodes = profile.nodes
    node = events["node"].to_numpy()
    used, lane = np.unique(events["thread"].to_numpy(), return_inverse=True)
    names = nodes["name"].to_numpy(dtype=object)[node].tolist()
    types = nodes["op_type"].to_numpy(dtype=object)[node].tolist()
    return {
        "of": len(profile.events),
        "events": len(events),
        "lanes": [_lane(profile, thread) for thread in used.tolist()],
        "start": store.numbers(_micros(events["start_ns"])),
        "micros": store.numbers(_micros(events["duration_ns"])),
        "lane": store.numbers(lane),
        "names": store.texts(names),
        "types": store.texts(types),
        "metrics": {
            name: store.numbers(values)
            for name, values in _metrics(events).items()
            if whole and name in metrics
        },
        "steps": [
            [round(float(start), 1), round(float(micros), 1), str(function)]
            for start, micros, function in profile.steps[
                ["start_micros", "micros", "function"]
            ].itertuples(index=False, name=None)
        ][:CURVE_POINTS],
        "memory": _memory(profile, store),
    }


def _micros(nanoseconds: Any) -> Any:
    ns = nanoseconds.to_numpy(np.float64)
    return ns / 1e3 if ns.max(initial=0) < EXACT_NS else np.rint(ns / 1e3)


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


def _memory(profile: "Profile", store: "Store") -> dict[str, Any] | None:
    """Give the curve of the device that held the most, and its peak."""
    try:
        curve = profile.memory()
    except NbprofError:
        return None
    peaks = curve.attrs["peak"]
    if not peaks:
        return None
    device = max(peaks, key=lambda name: float(peaks[name]["live_bytes"]))
    curve = curve[curve["device"] == device]
    micros, live = curve["micros"].to_numpy(np.float64), curve["live_bytes"].to_numpy(np.float64)
    if len(live) > CURVE_POINTS:
        starts = np.unique(np.linspace(0, len(live) - 1, CURVE_POINTS).astype(np.intp))
        micros, live = micros[starts], np.maximum.reduceat(live, starts)
    peak = {name: float(value) for name, value in peaks[device].items()}
    return {
        "device": str(device),
        "micros": store.numbers(np.rint(micros)),
        "bytes": store.numbers(live),
        "peak": peak,
    }

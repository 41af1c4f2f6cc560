"""Memory over time: the live bytes of each device, and what was alive at their peak."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from nbprof.errors import NbprofError
from nbprof.views.code import label

if TYPE_CHECKING:
    import numpy.typing as npt

    from nbprof._profile import Profile


NO_CURVE = (
    "memory over time is not kept by engine='dask', only what was alive at the peak: "
    "profile.live_at_peak(), or load the trace of one host without an engine."
)


def live_bytes(profile: "Profile") -> pd.DataFrame:
    """Follow the live bytes; of a profile that keeps only the peaks there is no curve."""
    if not profile.recording.single_runs:
        raise NbprofError(NO_CURVE)
    return _curve(_placed(profile))


def peaks(profile: "Profile") -> dict[str, dict[str, float]]:
    """Say for each device when its peak was, in µs, and how many bytes were live then."""
    found: dict[str, dict[str, float]] = _curve(_placed(profile)).attrs["peak"]
    return found


def _curve(made: pd.DataFrame) -> pd.DataFrame:
    """Add up allocations and releases in the order of time."""
    start, end = (made[name].to_numpy(np.float64) for name in ("start_ns", "end_ns"))
    size = made["bytes"].to_numpy(np.int64)
    device, names = pd.factorize(made["device"])
    freed = np.flatnonzero(~np.isnan(end))
    micros = np.concatenate((start, end[freed])) / 1e3
    order = np.argsort(micros, kind="stable")
    change = np.concatenate((size, -size[freed]))[order]
    device = np.concatenate((device, device[freed]))[order]
    live = np.zeros(len(order), dtype=np.int64)
    peak = {}
    for number in range(len(names)):
        rows = np.flatnonzero(device == number)
        live[rows] = np.cumsum(change[rows])
        highest = rows[np.argmax(live[rows])]
        peak[names[number]] = {
            "micros": float(micros[order[highest]]),
            "live_bytes": int(live[highest]),
        }
    devices = names.to_numpy(dtype=object)[device]
    curve = pd.DataFrame({"micros": micros[order], "device": devices, "live_bytes": live})
    curve.attrs["peak"] = {name: peak[name] for name in sorted(peak)}
    return curve


def _placed(profile: "Profile") -> pd.DataFrame:
    """Give the allocations; of many hosts, with the host before the device's name."""
    made = profile.allocations
    if len(profile.machines) < 2 or "host" not in made:
        return made
    return made.assign(device=made["host"] + " " + made["device"])


def _sources(profile: "Profile", event: "npt.NDArray[np.intp]") -> list[str | None]:
    """Name the innermost line that each event comes from, None where it is not known."""
    users = profile.frames[~profile.frames["framework"]]
    innermost = users.drop_duplicates("stack", keep="last").set_index("stack")
    stacks = np.append(profile.events["stack"].to_numpy(), -1)[event]
    return [
        label(*innermost.loc[stack, ["file", "line", "function"]])
        if stack in innermost.index
        else None
        for stack in stacks.tolist()
    ]


def alive_at_peak(profile: "Profile") -> "npt.NDArray[np.bool_]":
    """Mark the allocations that were alive when their device reached its peak."""
    made = _placed(profile)
    peaks = _curve(made).attrs["peak"]
    moments = {device: round(peak["micros"] * 1e3) for device, peak in peaks.items()}
    moment = made["device"].map(moments)
    alive = (made["start_ns"] <= moment) & ~(made["end_ns"] <= moment)
    return alive.to_numpy(dtype=bool)


def live_at_peak(profile: "Profile") -> pd.DataFrame:
    """List the allocations that were alive when their device reached its peak."""
    alive = _placed(profile)[alive_at_peak(profile)]
    nodes = profile.nodes.reindex(alive["node"])
    rows = pd.DataFrame(
        {
            "op": nodes["name"].to_numpy(),
            "op_type": nodes["op_type"].to_numpy(),
            **{name: alive[name].to_numpy() for name in ("shape", "dtype", "bytes", "device")},
            "source": _sources(profile, alive["event"].to_numpy()),
        }
    )
    return rows.sort_values("bytes", ascending=False, kind="stable", ignore_index=True)

"""Memory over time: the live bytes of each device, and what was alive at their peak."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from nbprof.arrays import Mask, Rows
from nbprof.errors import NbprofError
from nbprof.views.code import label

if TYPE_CHECKING:
    from nbprof._profile import Profile

NO_CURVE = (
    "engine='dask' does not keep memory over time, only what was alive at the peak: use "
    "profile.live_at_peak(), or load the trace of one host without an engine."
)


def live_bytes(profile: "Profile") -> pd.DataFrame:
    """Return the live bytes over time, with the peak of each device in `attrs["peak"]`."""
    if not profile.recording.single_runs:
        raise NbprofError(NO_CURVE)
    return _curve(_allocations(profile))


def peaks(profile: "Profile") -> dict[str, dict[str, float]]:
    """Return when each device reached its peak, in µs, and how many bytes were live then."""
    peak: dict[str, dict[str, float]] = _curve(_allocations(profile)).attrs["peak"]
    return peak


def _curve(allocations: pd.DataFrame) -> pd.DataFrame:
    """Add up allocations and releases in order of time."""
    code, devices = pd.factorize(allocations["device"])
    changes = _changes(allocations.assign(device=code))
    micros, device, change = (changes[name].to_numpy() for name in ("micros", "device", "bytes"))
    live = np.zeros(len(changes), dtype=np.int64)
    peak = {}
    for number, name in enumerate(devices):
        rows = np.flatnonzero(device == number)
        live[rows] = np.cumsum(change[rows])
        highest = rows[np.argmax(live[rows])]
        peak[name] = {"micros": float(micros[highest]), "live_bytes": int(live[highest])}
    names = devices.to_numpy(dtype=object)[device]
    curve = pd.DataFrame({"micros": micros, "device": names, "live_bytes": live})
    curve.attrs["peak"] = {name: peak[name] for name in sorted(peak)}
    return curve


def _changes(allocations: pd.DataFrame) -> pd.DataFrame:
    """List allocations and, as negative bytes, known releases in order of time in µs."""
    size = allocations["bytes"].to_numpy(np.int64)
    start, end = (allocations[name].to_numpy(np.float64) for name in ("start_ns", "end_ns"))
    freed = np.flatnonzero(~np.isnan(end))
    micros = np.concatenate((start, end[freed])) / 1e3
    order = np.argsort(micros, kind="stable")
    row = np.concatenate((np.arange(len(start)), freed))[order]
    return pd.DataFrame(
        {
            "micros": micros[order],
            "device": allocations["device"].to_numpy()[row],
            "bytes": np.where(order < len(start), size[row], -size[row]),
        }
    )


def _allocations(profile: "Profile") -> pd.DataFrame:
    """Return the allocations; with several hosts, devices are named after their host as well."""
    allocations = profile.allocations
    if len(profile.machines) < 2 or "host" not in allocations:
        return allocations
    return allocations.assign(device=allocations["host"] + " " + allocations["device"])


def alive_at_peak(profile: "Profile") -> Mask:
    """Mark the allocations that were alive when their device reached its peak."""
    allocations = _allocations(profile)
    peak = _curve(allocations).attrs["peak"]
    moments = {device: round(reached["micros"] * 1e3) for device, reached in peak.items()}
    moment = allocations["device"].map(moments)
    alive = (allocations["start_ns"] <= moment) & ~(allocations["end_ns"] <= moment)
    return alive.to_numpy(dtype=bool)


def live_at_peak(profile: "Profile") -> pd.DataFrame:
    """List the allocations that were alive when their device reached its peak, largest first."""
    alive = _allocations(profile)[alive_at_peak(profile)]
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


def _sources(profile: "Profile", event: Rows) -> list[str | None]:
    """Return the label of the innermost user line of each event, None where it is not known."""
    users = profile.frames[~profile.frames["framework"]]
    innermost = users.drop_duplicates("stack", keep="last").set_index("stack")
    stacks = np.append(profile.events["stack"].to_numpy(), -1)[event]
    return [
        label(*innermost.loc[stack, ["file", "line", "function"]])
        if stack in innermost.index
        else None
        for stack in stacks.tolist()
    ]

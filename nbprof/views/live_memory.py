"""Memory over time: the live bytes of each device, and what was alive at their peak."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from nbprof.arrays import Mask, Rows
from nbprof.errors import NbprofError
from nbprof.lifetimes import Lifetimes
from nbprof.views.stack_rows import label

if TYPE_CHECKING:
    import numpy.typing as npt

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
    """Add up allocations and releases in order of time; every device begins with nothing."""
    lifetimes, devices = _lifetimes(allocations)
    curve = lifetimes.curve()
    micros = curve.time_ns / 1e3
    peak = {
        device: {"micros": float(micros[point]), "live_bytes": int(curve.live[point])}
        for device, point in zip(devices, curve.peaks.tolist(), strict=True)
    }
    begin = np.full(len(devices), min(0.0, micros.min(initial=0.0)))
    table = pd.DataFrame(
        {
            "micros": np.concatenate((begin, micros)),
            "device": np.concatenate((devices, devices[curve.device])),
            "live_bytes": np.concatenate((np.zeros(len(devices), np.int64), curve.live)),
        }
    )
    table.attrs["peak"] = {device: peak[device] for device in sorted(peak)}
    return table


def _lifetimes(allocations: pd.DataFrame) -> "tuple[Lifetimes, npt.NDArray[np.object_]]":
    """Return the lifetimes of allocations, and the names of the devices they number."""
    device, names = pd.factorize(allocations["device"])
    lifetimes = Lifetimes(
        device=device.astype(np.intp),
        start_ns=allocations["start_ns"].to_numpy(np.int64),
        end_ns=allocations["end_ns"].to_numpy(np.float64),
        size=allocations["bytes"].to_numpy(np.int64),
    )
    return lifetimes, names.to_numpy(dtype=object)


def _allocations(profile: "Profile") -> pd.DataFrame:
    """Return the allocations; with several hosts, devices are named after their host as well."""
    allocations = profile.allocations
    if len(profile.machines) < 2 or "host" not in allocations:
        return allocations
    return allocations.assign(device=allocations["host"] + " " + allocations["device"])


def alive_at_peak(profile: "Profile") -> Mask:
    """Mark the allocations that were alive when their device reached its peak."""
    lifetimes, _ = _lifetimes(_allocations(profile))
    return lifetimes.alive_at_peak()


def alive_between(profile: "Profile", begin_ns: int, end_ns: int) -> Mask:
    """Mark what was alive when live memory was highest between two moments."""
    lifetimes, _ = _lifetimes(_allocations(profile))
    return lifetimes.alive_between(begin_ns, end_ns)


def live_at_peak(profile: "Profile") -> pd.DataFrame:
    """List the allocations that were alive when their device reached its peak, largest first."""
    return tensors(profile, alive_at_peak(profile)).drop(columns="layer")


def tensors(profile: "Profile", chosen: Mask) -> pd.DataFrame:
    """List the chosen allocations, largest first, with the op, the line and the layer of each."""
    alive = _allocations(profile)[chosen]
    nodes, event = profile.nodes.reindex(alive["node"]), alive["event"].to_numpy(np.intp)
    rows = pd.DataFrame(
        {
            "op": nodes["name"].to_numpy(),
            "op_type": nodes["op_type"].to_numpy(),
            **{name: alive[name].to_numpy() for name in ("shape", "dtype", "bytes", "device")},
            "source": source_lines(profile, event),
            "layer": layer_names(profile, event),
        }
    )
    return rows.sort_values("bytes", ascending=False, kind="stable", ignore_index=True)


def source_lines(profile: "Profile", event: Rows) -> list[str | None]:
    """Return the label of the innermost user line of each event, None where it is not known."""
    users = profile.frames[~profile.frames["framework"]]
    innermost = users.drop_duplicates("stack", keep="last").set_index("stack")
    stacks = np.append(profile.costs["stack"].to_numpy(), -1)[event]
    return [
        label(*innermost.loc[stack, ["file", "line", "function"]])
        if stack in innermost.index
        else None
        for stack in stacks.tolist()
    ]


def layer_names(profile: "Profile", event: Rows) -> list[str]:
    """Return the Keras layer of each event, empty for work outside layers."""
    layers = profile.layers
    names = np.where(layers["kind"] == "", "", layers["name"]).tolist()
    return [names[row] if row >= 0 else "" for row in np.append(profile.costs["layer"], -1)[event]]

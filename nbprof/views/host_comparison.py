"""Hosts side by side: what each one did, and where they differ."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from nbprof.errors import NbprofError
from nbprof.views.live_memory import peaks
from nbprof.views.measure import Members, measure

if TYPE_CHECKING:
    from nbprof._profile import Profile

Texts = npt.NDArray[np.object_]

METRICS = ("micros", "cpu_micros", "accelerator_micros", "run_count", "bytes")


def hosts(profile: "Profile") -> pd.DataFrame:
    """List the hosts, one in a row, with their sums over all ops."""
    machines = _machines(profile)
    host = pd.Categorical(_host_of_events(profile), machines["host"]).codes
    node = np.zeros(len(machines), dtype=np.intp)
    if len(profile.nodes):
        metrics = measure(profile, "all", Members(node, host.astype(np.intp)))
    else:
        metrics = dict.fromkeys(METRICS, np.zeros(len(machines)))
        metrics["bytes"] = np.full(len(machines), np.nan)
    return pd.DataFrame(
        {
            "host": machines["host"],
            "wall_micros": machines["wall_ns"] / 1e3,
            **{name: metrics[name] for name in METRICS},
            "peak_bytes": _peaks(profile, machines["host"].tolist()),
            "slowest_step": machines["slowest_step"],
            "slowest_step_micros": machines["slowest_step_micros"],
        }
    ).astype({"run_count": np.int64})


def compare_hosts(
    profile: "Profile", view: str, column: str, options: dict[str, Any]
) -> pd.DataFrame:
    """Put a column of a view, made for each host alone, side by side; the widest spread first."""
    names = _machines(profile)["host"].tolist()
    host = _host_of_events(profile)
    columns = {}
    for name in names:
        own = profile.events[host == name].reset_index(drop=True)
        frame = replace(profile, events=own).view(view, **options).frame
        if column not in frame or frame[column].dtype.kind not in "if":
            numbers = [str(one) for one in frame if frame[one].dtype.kind in "if"]
            raise NbprofError(
                f"the {view} view has no column of numbers {column!r}: it has {', '.join(numbers)}."
            )
        columns[name] = frame.groupby("name", sort=False)[column].sum(min_count=1)
    rows = pd.DataFrame(columns).index
    # What a host did not run took it nothing, unless nothing is known of that host.
    filled = {
        name: own.reindex(rows, fill_value=np.nan if own.isna().all() else 0)
        for name, own in columns.items()
    }
    table = pd.DataFrame(filled, columns=pd.Index(names, dtype=object))
    least, most = table.min(axis=1), table.max(axis=1)
    found = table.assign(
        least=least,
        most=most,
        ratio=most / least.where(least > 0),
        highest=table.fillna(-np.inf).idxmax(axis=1).where(most.notna(), None),
    )
    order = (most - least).sort_values(ascending=False, kind="stable").index
    return found.loc[order].rename_axis("name").reset_index()


def _machines(profile: "Profile") -> pd.DataFrame:
    """Give the hosts; a profile that was recorded here is of one."""
    if len(profile.machines):
        return profile.machines
    slowest = profile.steps.sort_values("micros", ascending=False, kind="stable").head(1)
    return pd.DataFrame(
        {
            "host": [profile.recording.what],
            "wall_ns": [profile.recording.wall_ns],
            "slowest_step": slowest["step"].tolist() or [-1],
            "slowest_step_micros": slowest["micros"].tolist() or [np.nan],
        }
    )


def _host_of_events(profile: "Profile") -> Texts:
    if not len(profile.machines):
        return np.full(len(profile.events), profile.recording.what, dtype=object)
    names = profile.threads["host"].to_numpy(dtype=object)
    found: Texts = names[profile.events["thread"].to_numpy()]
    return found


def _peaks(profile: "Profile", names: list[str]) -> list[float]:
    """Find the highest peak among the devices of each host; NaN where none was recorded."""
    made = profile.allocations
    highest = []
    for name in names:
        own = made if len(names) == 1 else made[made["host"] == name]
        found = peaks(replace(profile, allocations=own.drop(columns="host", errors="ignore")))
        levels = [peak["live_bytes"] for peak in found.values()]
        highest.append(float(max(levels, default=np.nan)))
    return highest

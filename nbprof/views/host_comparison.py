"""Hosts side by side: what each one did, and where they differ."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from nbprof.arrays import Names
from nbprof.columns import COLUMNS
from nbprof.errors import NbprofError
from nbprof.views.live_memory import peaks
from nbprof.views.measure import Members, measure

if TYPE_CHECKING:
    from nbprof._profile import Profile


METRICS = ("micros", "cpu_micros", "accelerator_micros", "run_count", "bytes")
"""The metrics listed for each host."""


def hosts(profile: "Profile") -> pd.DataFrame:
    """Return one row per host with its sums over all ops."""
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
    """Put one column of each host's own view side by side, the widest spread first."""
    host = _host_of_events(profile)
    columns = {}
    for name in _machines(profile)["host"].tolist():
        own = replace(
            profile,
            events=profile.events[host == name].reset_index(drop=True),
            recording=replace(profile.recording, outside_ops_bytes=0.0),
        )
        shown = own.view(view, **_selecting(column, options))
        columns[name] = _sums_by_name(shown.frame, view, column)
    table = _side_by_side(columns)
    least, most = table.min(axis=1), table.max(axis=1)
    compared = table.assign(
        least=least,
        most=most,
        ratio=most / least.where(least > 0),
        highest=table.fillna(-np.inf).idxmax(axis=1).where(most.notna(), None),
    )
    order = (most - least).sort_values(ascending=False, kind="stable").index
    return compared.loc[order].rename_axis("name").reset_index()


def _selecting(column: str, options: dict[str, Any]) -> dict[str, Any]:
    """Select the column to compare, unless the options select others."""
    if not options.keys().isdisjoint(("select", "preset")):
        return options
    metric = column.removeprefix("total_")
    names = [name for name, declared in COLUMNS.items() if metric in declared.metrics]
    return {**options, "select": names} if names else options


def _sums_by_name(frame: pd.DataFrame, view: str, column: str) -> "pd.Series[float]":
    """Add up a column over the rows of the same name."""
    if column not in frame or frame[column].dtype.kind not in "if":
        numbers = [str(name) for name in frame if frame[name].dtype.kind in "if"]
        raise NbprofError(
            f"the {view} view has no number column {column!r}; choose one of {', '.join(numbers)}."
        )
    return frame.groupby("name", sort=False)[column].sum(min_count=1)


def _side_by_side(columns: "dict[str, pd.Series[float]]") -> pd.DataFrame:
    """Join the columns of all hosts by row name.

    A row that a host did not run cost it nothing, unless nothing is known about that host.
    """
    rows = pd.DataFrame(columns).index
    filled = {
        host: values.reindex(rows, fill_value=np.nan if values.isna().all() else 0)
        for host, values in columns.items()
    }
    return pd.DataFrame(filled, columns=pd.Index(list(columns), dtype=object))


def _machines(profile: "Profile") -> pd.DataFrame:
    """Return the hosts; a cell recorded in this process has one."""
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


def _host_of_events(profile: "Profile") -> Names:
    if not len(profile.machines):
        return np.full(len(profile.events), profile.recording.what, dtype=object)
    names = profile.threads["host"].to_numpy(dtype=object)
    hosts: Names = names[profile.events["thread"].to_numpy()]
    return hosts


def _peaks(profile: "Profile", names: list[str]) -> list[float]:
    """Return the highest peak among the devices of each host in bytes, NaN if none was recorded."""
    allocations = profile.allocations
    highest = []
    for name in names:
        own = allocations if len(names) == 1 else allocations[allocations["host"] == name]
        by_device = peaks(replace(profile, allocations=own.drop(columns="host", errors="ignore")))
        levels = [peak["live_bytes"] for peak in by_device.values()]
        highest.append(float(max(levels, default=np.nan)))
    return highest

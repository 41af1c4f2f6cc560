"""What each node cost: a profile's events added up per node, one array per metric of `COLUMNS`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from nbprof.arrays import count_distinct, distinct
from nbprof.columns import COLUMNS, Metric, counts, op_times, summed_columns
from nbprof.errors import NbprofError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pandas as pd

    from nbprof._profile import Profile

Sums = npt.NDArray[np.float64]
Metrics = dict[str, Sums]
Groups = npt.NDArray[np.intp]
Step = int | Literal["all"]

LISTED_STEPS = 8
"""List at most this many steps in an error; otherwise name the first and the last."""


@dataclass(frozen=True, eq=False)
class Members:
    """The smallest things a view adds up: nodes, or the parts of nodes that belong to one row."""

    node: Groups
    """The node of each member."""
    of_event: Groups
    """The member of each event."""


def nodes_as_members(profile: "Profile") -> Members:
    """Make every node one member."""
    return Members(np.arange(len(profile.nodes)), profile.costs["node"].to_numpy(np.intp))


def members_by(profile: "Profile", row: Groups, row_of_node: Groups) -> tuple[Members, Groups]:
    """Split the nodes by the row of each event; return the members and their rows.

    A node without events, such as a variable, belongs to its row in `row_of_node` and comes after
    the others; if that row is negative, the node is left out.
    """
    node = profile.costs["node"].to_numpy(np.int64)
    width = max(len(profile.nodes), 1)
    pairs, of_event = _distinct_keys(row * width + node)
    ran = np.bincount(node, minlength=len(profile.nodes)) > 0
    idle = np.flatnonzero(~ran & (row_of_node >= 0))
    members = Members(np.append(pairs % width, idle), of_event)
    return members, np.append(pairs // width, row_of_node[idle])


def _distinct_keys(keys: Groups) -> tuple[Groups, Groups]:
    return distinct(keys, int(keys.max(initial=-1)) + 1)


def only_what_ran(profile: "Profile") -> "Profile":
    """Leave out a cell's variables, which come after the nodes that ran."""
    if profile.recording.tfprof:
        return profile
    ran = int(profile.costs["node"].max()) + 1 if len(profile.costs) else 0
    return profile if ran == len(profile.nodes) else profile.with_values(nodes=profile.nodes[:ran])


def measure(
    profile: "Profile",
    step: Step | None,
    members: Members,
    uses: "Callable[[str], bool]" = lambda _: True,
) -> Metrics:
    """Add up the events of each member over the steps asked for, in µs, bytes and counts.

    Only columns that `uses` accepts are measured, besides those that every view needs: each takes
    time, and `float_ops` of tfprof's inputs would have to be read from the log.
    """
    step = resolved_step(profile, step)
    count = len(members.node)
    wanted = list(_wanted(uses))
    all_events = _events_with(profile, wanted)
    events = _of_step(profile, step, all_events)
    member = members.of_event
    if events is not all_events:
        member = member[events.index.to_numpy()]
    if (member >= count).any():  # events of nodes that are not members
        events, member = events[member < count], member[member < count]
    metrics = _add_up_events(events, member, count, wanted)
    if "fused" in profile.nodes:
        fused = profile.nodes["fused"].to_numpy(bool)[members.node]
        metrics |= {name: np.where(fused, np.nan, metrics[name]) for name in op_times()}
    if step == -1 and len(profile.steps) > 1:
        steps = count_distinct(member, events["step"].to_numpy(np.int64), count)
        divisor = np.maximum(steps, 1)
        moments = {metric.name for metric in wanted if metric.at_one_moment}
        averages = {name: metrics[name] / divisor for name in metrics if name not in moments}
        metrics |= averages
    if step in ("all", -1):
        metrics |= _without_runs(profile, members, wanted, metrics)
    if profile.recording.tfprof:
        metrics = {name: np.trunc(values) for name, values in metrics.items()}
        if uses("float_ops"):
            metrics["float_ops"] = _logged_float_ops(profile, members, metrics["run_count"])
    return metrics | _count_nodes(profile, members, wanted)


def _without_runs(
    profile: "Profile", members: Members, wanted: list[Metric], metrics: Metrics
) -> Metrics:
    """Return what nodes have at one moment of the cell although they never run."""
    own = {
        metric.name: profile.nodes[metric.column].to_numpy(np.float64)[members.node]
        for metric in wanted
        if metric.at_one_moment and metric.column in profile.nodes
    }
    return {name: np.where(values > 0, values, metrics[name]) for name, values in own.items()}


def _wanted(uses: "Callable[[str], bool]") -> "Iterator[Metric]":
    for column in COLUMNS.values():
        if column.always or uses(column.name):
            yield from column.measures


def _events_with(profile: "Profile", wanted: list[Metric]) -> "pd.DataFrame":
    """Return the events, without the columns that take long to make if nobody wants them."""
    columns = {metric.column for metric in wanted if metric.table == "events" and metric.column}
    return profile.costs if columns <= set(profile.costs.columns) else profile.events


def _count_nodes(profile: "Profile", members: Members, wanted: list[Metric]) -> Metrics:
    """Return the metrics that each member has once, however often it ran."""
    return {
        metric.name: profile.nodes[metric.column].to_numpy(np.float64)[members.node]
        if metric.column
        else np.ones(len(members.node))
        for metric in wanted
        if metric.table == "nodes"
    }


def _logged_float_ops(
    profile: "Profile", members: Members, run_count: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Count float_ops as tfprof does, which includes nodes that never ran."""
    once = profile.float_ops.to_numpy(np.float64)
    ran = np.zeros(len(profile.nodes), dtype=bool)
    ran[profile.events["node"].to_numpy()] = True
    runs = np.where(ran[members.node], run_count, 1.0)
    return np.asarray(once[members.node] * runs, dtype=np.float64)


def weighted(metrics: Metrics, weight: npt.NDArray[np.int64]) -> Metrics:
    """Multiply the members' metrics by their weights; counts are only kept or dropped."""
    counted, once = (weight > 0).astype(np.int64), counts()
    return {
        name: values * (counted if name in once else weight) for name, values in metrics.items()
    }


def resolved_step(profile: "Profile", step: Step | None) -> Step:
    """Return the step asked for, by default all of a cell's or the average of tfprof's inputs."""
    if step is not None:
        return step
    return -1 if profile.recording.tfprof else "all"


def chosen_events(profile: "Profile", step: Step | None) -> "pd.DataFrame":
    """Return the events of one step, or all of them."""
    return _of_step(profile, resolved_step(profile, step), profile.events)


def _of_step(profile: "Profile", step: Step, events: "pd.DataFrame") -> "pd.DataFrame":
    if step in ("all", -1):
        return events
    _check_step(profile, step)
    return events[events["step"] == step]


def _check_step(profile: "Profile", step: int | str) -> None:
    steps = profile.steps["step"].tolist()
    if step not in steps:
        known = ", ".join(map(str, steps[:LISTED_STEPS]))
        if len(steps) > LISTED_STEPS:
            known = f"{steps[0]} to {steps[-1]}"
        raise NbprofError(f"there is no step {step}; steps are {known or 'none'}, -1 or all.")
    if step not in profile.detailed_steps["step"].to_numpy():
        raise NbprofError(
            f"step {step} ran bare; {profile.detail} ran in detail. "
            f"%%tfprof -steps {step}:{int(step) + 1} traces it."
        )


def _add_up_events(
    events: "pd.DataFrame", member: Groups, count: int, wanted: list[Metric]
) -> Metrics:
    sums: Metrics = {}
    for metric in wanted:
        if metric.table == "events" and not metric.adds:
            # Dividing the sum, not the summands, keeps sums of whole ns exact in any order.
            sums[metric.name] = _sums(member, _values(events, metric), count) / metric.divisor
    for metric in wanted:
        if metric.adds:
            sums[metric.name] = np.sum([sums[part] for part in metric.adds], axis=0)
    return sums


def _values(events: "pd.DataFrame", metric: Metric) -> npt.NDArray[Any]:
    """Return what each event adds to a metric, NaN if the profile lacks the metric's column."""
    if not metric.column:
        return np.ones(len(events))
    if metric.column not in events:
        return np.full(len(events), np.nan)
    values: npt.NDArray[Any] = events[metric.column].to_numpy()
    if metric.devices == "all":
        return values
    accelerator = events["accelerator"].to_numpy()
    return np.asarray(values * (accelerator if metric.devices == "accelerator" else ~accelerator))


def add_up(metrics: Metrics, group: Groups, count: int) -> Metrics:
    """Add the members' metrics up by group number."""
    return {
        name: _sums(group, values, count, known(metrics, name)) for name, values in metrics.items()
    }


def known(metrics: Metrics, name: str) -> npt.NDArray[np.bool_]:
    """Mask of known values; a 0 of what never ran, such as a variable or a scope, says nothing."""
    has_value: npt.NDArray[np.bool_] = ~np.isnan(metrics[name])
    if name not in summed_columns() and name not in op_times():
        return has_value
    return has_value & ((metrics["run_count"] > 0) | (metrics[name] > 0))


def whole(counts: npt.NDArray[np.float64]) -> npt.NDArray[np.int64] | npt.NDArray[np.float64]:
    """Make counts whole numbers, unless an average left fractions."""
    return counts if (counts % 1).any() else counts.astype(np.int64)


EXACT = 2.0**53
"""Floats below this hold whole numbers exactly."""
PART = 2.0**26
"""Larger sums are added up in two parts: multiples of this, and remainders."""


def _exact_sums(group: npt.NDArray[np.integer], values: npt.NDArray[Any], count: int) -> Sums:
    """Add up whole numbers of any size so that their order does not matter."""
    sums: Sums = np.bincount(group, weights=values, minlength=count).astype(np.float64)
    if sums.max(initial=0) < EXACT:
        return sums
    high = np.floor(values / PART)
    low = np.bincount(group, weights=values - high * PART, minlength=count)
    exact = np.bincount(group, weights=high, minlength=count) * PART + low
    return exact.astype(np.float64)


def _sums(
    group: npt.NDArray[np.integer],
    values: npt.NDArray[Any],
    count: int,
    is_known: npt.NDArray[np.bool_] | None = None,
) -> npt.NDArray[np.float64]:
    """Add up by group, leaving out unknown values, so that a sum is a lower bound.

    A group is unknown if it has unknown values and no known one; all groups are if nothing is
    known.
    """
    unknown = np.isnan(values) if values.dtype.kind == "f" else np.zeros(0, dtype=bool)
    if not unknown.any():
        return _exact_sums(group, values, count)
    sums = _exact_sums(group[~unknown], values[~unknown], count)
    is_known = ~unknown if is_known is None else is_known
    if not is_known.any():
        return np.full(count, np.nan)
    nothing = np.bincount(group[is_known], minlength=count) == 0
    return np.where(nothing & (np.bincount(group[unknown], minlength=count) > 0), np.nan, sums)

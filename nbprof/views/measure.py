"""What each node cost: a profile's events added up per node, one array per metric."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from nbprof.distinct_values import distinct
from nbprof.errors import NbprofError

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from nbprof._profile import Profile

SUMMED = ("bytes", "peak_bytes", "residual_bytes", "output_bytes", "float_ops")
"""The columns of events that are simply added up."""
OF_SHAPES = ("output_bytes", "float_ops")
"""Those of them that a profile's `costs` may not have."""

Sums = npt.NDArray[np.float64]
Metrics = dict[str, Sums]
Groups = npt.NDArray[np.intp]
Step = int | Literal["all"]

MOST_STEPS = 8


@dataclass(frozen=True, eq=False)
class Members:
    """The smallest things a view adds up: nodes, as far as they belong to one of its rows."""

    node: Groups
    """The node that each member is, or a part of."""
    of_event: Groups
    """The member that each event belongs to."""


def nodes_as_members(profile: "Profile") -> Members:
    """Take every node as a whole."""
    return Members(np.arange(len(profile.nodes)), profile.costs["node"].to_numpy(np.intp))


def members_by(profile: "Profile", row: Groups, row_of_node: Groups) -> tuple[Members, Groups]:
    """Part the nodes by the row that each event belongs to; give the members and their rows.

    A node that has no event, a variable, belongs to the row in `row_of_node` and stands behind the
    others; where that is none, it is no member.
    """
    node = profile.costs["node"].to_numpy(np.int64)
    width = max(len(profile.nodes), 1)
    pairs, of_event = _distinct_keys(row * width + node)
    ran = np.bincount(node, minlength=len(profile.nodes)) > 0
    silent = np.flatnonzero(~ran & (row_of_node >= 0))
    members = Members(np.append(pairs % width, silent), of_event)
    return members, np.append(pairs // width, row_of_node[silent])


def _distinct_keys(keys: Groups) -> tuple[Groups, Groups]:
    return distinct(keys, int(keys.max(initial=-1)) + 1)


def only_what_ran(profile: "Profile") -> "Profile":
    """Leave the variables of a cell out, which stand behind the nodes that ran."""
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
    """Add up the events of each member, in µs, bytes and counts, over the steps asked for.

    Of the columns that are simply added up those that `uses` names: each takes time, and for
    `float_ops` the log of tfprof's inputs would have to be read.
    """
    step = resolved_step(profile, step)
    count = len(members.node)
    summed = tuple(filter(uses, SUMMED))
    all_events = profile.events if set(OF_SHAPES) & set(summed) else profile.costs
    events = _of_step(profile, step, all_events)
    member = members.of_event
    if events is not all_events:
        member = member[events.index.to_numpy()]
    if (member >= count).any():  # events of nodes that are no member
        events, member = events[member < count], member[member < count]
    metrics = _add_up_events(events, member, count, summed)
    if step == -1 and len(profile.steps) > 1:
        divisor = _steps_of_each(events["step"].to_numpy(np.int64), member, count)
        metrics = {name: values / divisor for name, values in metrics.items()}
    if profile.recording.tfprof:
        metrics = {name: np.trunc(values) for name, values in metrics.items()}
        if uses("float_ops"):
            metrics["float_ops"] = _logged_float_ops(profile, members, metrics["run_count"])
    params = profile.nodes["params"].to_numpy(np.float64)[members.node]
    return {**metrics, "params": params, "defined_count": np.ones(count)}


def _steps_of_each(step: Groups, member: Groups, count: int) -> Groups:
    """Count the steps in which each member ran; 1 for those that never did."""
    first = step.min(initial=0)
    width = int(step.max(initial=0) - first) + 1
    pairs, _ = _distinct_keys(member * width + (step - first))
    return np.maximum(np.bincount(pairs // width, minlength=count), 1)


def _logged_float_ops(
    profile: "Profile", members: Members, run_count: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Count float_ops as tfprof does: also of nodes that never ran."""
    once = profile.float_ops.to_numpy(np.float64)
    ran = np.zeros(len(profile.nodes), dtype=bool)
    ran[profile.events["node"].to_numpy()] = True
    runs = np.where(ran[members.node], run_count, 1.0)
    return np.asarray(once[members.node] * runs, dtype=np.float64)


def weighted(metrics: Metrics, weight: npt.NDArray[np.int64]) -> Metrics:
    """Add members up as often as they are to be counted; how often they ran stays what it is."""
    counted = (weight > 0).astype(np.int64)
    return {
        name: values * (counted if name.endswith("_count") else weight)
        for name, values in metrics.items()
    }


def resolved_step(profile: "Profile", step: Step | None) -> Step:
    """Give the step asked for, or the usual one: the whole cell, and tfprof's average."""
    if step is not None:
        return step
    return -1 if profile.recording.tfprof else "all"


def chosen_events(profile: "Profile", step: Step | None) -> "pd.DataFrame":
    """Give the events of one step, or all of them."""
    return _of_step(profile, resolved_step(profile, step), profile.events)


def _of_step(profile: "Profile", step: Step, events: "pd.DataFrame") -> "pd.DataFrame":
    if step in ("all", -1):
        return events
    _check_step(profile, step)
    return events[events["step"] == step]


def _check_step(profile: "Profile", step: int | str) -> None:
    steps = profile.steps["step"].tolist()
    if step not in steps:
        known = ", ".join(map(str, steps[:MOST_STEPS]))
        if len(steps) > MOST_STEPS:
            known = f"{steps[0]} to {steps[-1]}"
        raise NbprofError(f"there is no step {step}; steps are {known or 'none'}, -1 or all.")


def _add_up_events(
    events: "pd.DataFrame", member: Groups, count: int, summed: tuple[str, ...]
) -> Metrics:
    ns = events["self_ns"].to_numpy()
    accelerator = events["accelerator"].to_numpy()

    # Whole ns are added up exactly, in whatever order.
    accelerator_micros = _sums(member, ns * accelerator, count) / 1e3
    cpu_micros = _sums(member, ns * ~accelerator, count) / 1e3
    return {
        "micros": cpu_micros + accelerator_micros,
        "accelerator_micros": accelerator_micros,
        "cpu_micros": cpu_micros,
        **{name: _sums(member, events[name].to_numpy(), count) for name in summed},
        "run_count": _sums(member, events["is_run"].to_numpy(), count),
    }


def add_up(metrics: Metrics, group: Groups, count: int) -> Metrics:
    """Add the members' metrics up by group number."""
    return {
        name: _sums(group, values, count, tells(metrics, name)) for name, values in metrics.items()
    }


def tells(metrics: Metrics, name: str) -> npt.NDArray[np.bool_]:
    """Mark what a metric is known of, if it has a number: of a variable no run tells its memory."""
    told: npt.NDArray[np.bool_] = ~np.isnan(metrics[name])
    return told & (metrics["run_count"] > 0) if name in SUMMED else told


def whole(counts: npt.NDArray[np.float64]) -> npt.NDArray[np.int64] | npt.NDArray[np.float64]:
    """Make counts whole numbers, unless an average left fractions."""
    return counts if (counts % 1).any() else counts.astype(np.int64)


EXACT = 2.0**53
"""Up to here, whole numbers and their sums are exact as floats."""
PART = 2.0**26


def _exact_sums(group: npt.NDArray[np.integer], values: npt.NDArray[Any], count: int) -> Sums:
    """Add up whole numbers so that the order does not matter, however large they are."""
    known: Sums = np.bincount(group, weights=values, minlength=count).astype(np.float64)
    if known.max(initial=0) < EXACT:
        return known
    high = np.floor(values / PART)
    low = np.bincount(group, weights=values - high * PART, minlength=count)
    whole = np.bincount(group, weights=high, minlength=count) * PART + low
    return whole.astype(np.float64)


def _sums(
    group: npt.NDArray[np.integer],
    values: npt.NDArray[Any],
    count: int,
    told: npt.NDArray[np.bool_] | None = None,
) -> npt.NDArray[np.float64]:
    """Add up by group.

    Unknown values are left out, so that a sum is at least what is known of it; a group of unknown
    values, and of others that are not `told`, is unknown, and all are where nothing is told.
    """
    unknown = np.isnan(values) if values.dtype.kind == "f" else np.zeros(0, dtype=bool)
    if not unknown.any():
        return _exact_sums(group, values, count)
    known = _exact_sums(group[~unknown], values[~unknown], count)
    told = ~unknown if told is None else told
    if not told.any():
        return np.full(count, np.nan)
    nothing = np.bincount(group[told], minlength=count) == 0
    return np.where(nothing & (np.bincount(group[unknown], minlength=count) > 0), np.nan, known)

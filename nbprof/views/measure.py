"""What each node cost: a profile's events added up per node, one array per metric."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from nbprof.errors import NbprofError

if TYPE_CHECKING:
    import pandas as pd

    from nbprof._profile import Profile

SUMMED = ("bytes", "peak_bytes", "residual_bytes", "output_bytes", "float_ops")
"""The columns of events that are simply added up."""

Metrics = dict[str, npt.NDArray[np.float64]]
Groups = npt.NDArray[np.intp]
Step = int | Literal["all"]


@dataclass(frozen=True, eq=False)
class Members:
    """The smallest things a view adds up: nodes, as far as they belong to one of its rows."""

    node: Groups
    """The node that each member is, or a part of."""
    of_event: Groups
    """The member that each event belongs to."""


def nodes_as_members(profile: "Profile") -> Members:
    """Take every node as a whole."""
    return Members(np.arange(len(profile.nodes)), profile.events["node"].to_numpy(np.intp))


def members_by(profile: "Profile", row: Groups, row_of_node: Groups) -> tuple[Members, Groups]:
    """Part the nodes by the row that each event belongs to; give the members and their rows.

    A node that has no event, a variable, belongs to the row in `row_of_node`.
    """
    node = profile.events["node"].to_numpy(np.int64)
    width = max(len(profile.nodes), 1)
    pairs, of_event = np.unique(row * width + node, return_inverse=True)
    silent = np.setdiff1d(np.arange(len(profile.nodes)), node)
    members = Members(np.append(pairs % width, silent), of_event)
    return members, np.append(pairs // width, row_of_node[silent])


def only_what_ran(profile: "Profile") -> "Profile":
    """Leave the variables out, which stand behind the nodes that ran."""
    ran = int(profile.events["node"].max()) + 1 if len(profile.events) else 0
    return replace(profile, nodes=profile.nodes[:ran])


def measure(profile: "Profile", step: Step, members: Members) -> Metrics:
    """Add up the events of each member, in µs, bytes and counts, over the steps asked for."""
    events = chosen_events(profile, step)
    member = members.of_event[events.index.to_numpy()]
    count = len(members.node)
    metrics = _add_up_events(events, member, count)
    if step == -1:
        ran_in = events["step"].groupby(member).nunique()
        divisor = ran_in.reindex(range(count), fill_value=1).to_numpy()
        metrics = {name: values / divisor for name, values in metrics.items()}
    params = profile.nodes["params"].to_numpy(np.float64)[members.node]
    return {**metrics, "params": params, "defined_count": np.ones(count)}


def chosen_events(profile: "Profile", step: Step) -> "pd.DataFrame":
    """Give the events of one step, or all of them."""
    if step in ("all", -1):
        return profile.events
    _check_step(profile, step)
    return profile.events[profile.events["step"] == step]


def _check_step(profile: "Profile", step: int | str) -> None:
    last = max(len(profile.steps), 1) - 1
    if not isinstance(step, int) or step > last:
        known = f"0 to {last}" if last else "only 0"
        raise NbprofError(f"there is no step {step}; steps are {known}, -1 or all.")


def _add_up_events(events: "pd.DataFrame", member: Groups, count: int) -> Metrics:
    micros = events["self_ns"].to_numpy() / 1e3
    accelerator = events["accelerator"].to_numpy()

    accelerator_micros = _sums(member, micros * accelerator, count)
    cpu_micros = _sums(member, micros * ~accelerator, count)
    return {
        "micros": cpu_micros + accelerator_micros,
        "accelerator_micros": accelerator_micros,
        "cpu_micros": cpu_micros,
        **{name: _sums(member, events[name].to_numpy(), count) for name in SUMMED},
        "run_count": _sums(member, events["is_run"].to_numpy(), count),
    }


def add_up(metrics: Metrics, group: Groups, count: int) -> Metrics:
    """Add the members' metrics up by group number."""
    return {name: _sums(group, values, count) for name, values in metrics.items()}


def whole(counts: npt.NDArray[np.float64]) -> npt.NDArray[np.int64] | npt.NDArray[np.float64]:
    """Make counts whole numbers, unless an average left fractions."""
    return counts if (counts % 1).any() else counts.astype(np.int64)


def _sums(
    group: npt.NDArray[np.integer], values: npt.NDArray[Any], count: int
) -> npt.NDArray[np.float64]:
    """Add up by group.

    Unknown values are left out, so that a sum is at least what is known of it; a group of nothing
    but unknown values is unknown, and all are where nothing is known.
    """
    unknown = np.isnan(values)
    known = np.bincount(group[~unknown], weights=values[~unknown], minlength=count)
    if not unknown.any():
        return known.astype(np.float64)
    if unknown.all():
        return np.full(count, np.nan)
    nothing = np.bincount(group[~unknown], minlength=count) == 0
    return np.where(nothing & (np.bincount(group, minlength=count) > 0), np.nan, known)

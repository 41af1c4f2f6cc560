"""What each node cost: a profile's events added up per node, one array per metric."""

from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from nbprof.errors import NbprofError

if TYPE_CHECKING:
    import pandas as pd

    from nbprof._profile import Profile

MEMORY = ("bytes", "peak_bytes", "residual_bytes")

Metrics = dict[str, npt.NDArray[np.float64]]


def per_node(profile: "Profile", step: int | Literal["all"]) -> Metrics:
    """Add up the events of every node, in µs, bytes and counts, over the steps asked for."""
    events = profile.events
    if step not in ("all", -1):
        _check_step(profile, step)
        events = events[events["step"] == step]
    metrics = _sums_per_node(events, len(profile.nodes))
    if step == -1:
        ran_in = events.groupby("node")["step"].nunique()
        divisor = ran_in.reindex(range(len(profile.nodes)), fill_value=1).to_numpy()
        metrics = {name: values / divisor for name, values in metrics.items()}
    return {**metrics, "defined_count": np.ones(len(profile.nodes))}


def _check_step(profile: "Profile", step: int | str) -> None:
    last = max(len(profile.steps), 1) - 1
    if not isinstance(step, int) or step > last:
        known = f"0 to {last}" if last else "only 0"
        raise NbprofError(f"there is no step {step}; steps are {known}, -1 or all.")


def _sums_per_node(events: "pd.DataFrame", count: int) -> Metrics:
    node = events["node"].to_numpy()
    micros = events["self_ns"].to_numpy() / 1e3
    accelerator = events["accelerator"].to_numpy()

    accelerator_micros = _sums(node, micros * accelerator, count)
    cpu_micros = _sums(node, micros * ~accelerator, count)
    return {
        "micros": cpu_micros + accelerator_micros,
        "accelerator_micros": accelerator_micros,
        "cpu_micros": cpu_micros,
        **{name: _sums(node, events[name].to_numpy(), count) for name in MEMORY},
        "run_count": _sums(node, events["is_run"].to_numpy(), count),
    }


def add_up(metrics: Metrics, group: npt.NDArray[np.intp], count: int) -> Metrics:
    """Add the nodes' metrics up by group number."""
    return {name: _sums(group, values, count) for name, values in metrics.items()}


def whole(counts: npt.NDArray[np.float64]) -> npt.NDArray[np.int64] | npt.NDArray[np.float64]:
    """Make counts whole numbers, unless an average left fractions."""
    return counts if (counts % 1).any() else counts.astype(np.int64)


def _sums(
    group: npt.NDArray[np.integer], values: npt.NDArray[np.generic], count: int
) -> npt.NDArray[np.float64]:
    return np.bincount(group, weights=values, minlength=count).astype(np.float64)

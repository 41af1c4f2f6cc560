"""What each node cost: a profile's events added up per node, one array per metric."""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from nbprof._profile import Profile

MEMORY = ("bytes", "peak_bytes", "residual_bytes")

Metrics = dict[str, npt.NDArray[np.float64]]


def per_node(profile: "Profile") -> Metrics:
    """Add up the events of every node, in µs and counts."""
    events = profile.events
    count = len(profile.nodes)
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
        "defined_count": np.ones(count),
    }


def add_up(metrics: Metrics, group: npt.NDArray[np.intp], count: int) -> Metrics:
    """Add the nodes' metrics up by group number."""
    return {name: _sums(group, values, count) for name, values in metrics.items()}


def _sums(
    group: npt.NDArray[np.integer], values: npt.NDArray[np.generic], count: int
) -> npt.NDArray[np.float64]:
    return np.bincount(group, weights=values, minlength=count).astype(np.float64)

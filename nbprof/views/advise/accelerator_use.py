"""How well accelerators are used: tfprof's AcceleratorUtilizationChecker, and work on the CPU."""

import re
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from nbprof.units import format_micros
from nbprof.views.advise.check_result import Advice
from nbprof.views.measure import measure, nodes_as_members

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.arrays import Names

ACCELERATOR = re.compile(r"gpu|tpu")
ON_THE_HOST = re.compile(
    r"_?(Arg|Retval|Send|Recv|HostSend|HostRecv)|Const|_EagerConst|Placeholder\w*|PyFunc"
    r"|\w*Dataset\w*|\w*Iterator\w*|\w*Call\w*|While|StatelessWhile|If|StatelessIf|_?VarHandleOp|NoOp"
    r"|Save\w*|Restore\w*|Decode\w*|Read(File|Record)\w*|\w*Summary\w*|String\w*"
)
"""Op types that belong on the host even where there is an accelerator."""

SEVERAL = "|"
"""Separates the devices of a node that ran on several."""
GOOD_UTILIZATION = 0.5
"""Below this utilization there is advice, as in tfprof."""
POOR_UTILIZATION = 0.2
"""Below this utilization the advice is severe, as in tfprof."""
CPU_PERCENT = 10
"""Smallest share of the op time that is worth moving to an accelerator."""
CPU_HIGH_PERCENT = 30
"""From this share on the advice is severe; the softmax of tfprof's own example has 36 %."""


def accelerator_utilization(profile: "Profile") -> list[Advice]:
    """Compare the time in kernels with the time that passed, in the last step of each node."""
    return [
        _utilization(device, busy, elapsed)
        for device, (busy, elapsed) in sorted(_busy(profile).items())
    ]


def _busy(profile: "Profile") -> dict[str, tuple[float, float]]:
    """Return the time in kernels and the time that passed of each GPU, in µs."""
    if not profile.recording.single_runs:
        return {}
    events, device = profile.events, _device_of_events(profile)
    last = events.groupby("node")["step"].transform("max")
    events = events.assign(device=device)[(events["step"] == last)]
    events = events[events["device"].map(lambda name: "gpu" in name).to_numpy(dtype=bool)]
    found = {}
    for name, rows in events.groupby("device"):
        timed = rows[rows["start_ns"] > 0]
        end = timed["start_ns"] + timed["duration_ns"]
        elapsed = max(end.max(), 0) - timed["start_ns"].min() if len(timed) else 0
        if elapsed > 0:
            busy = rows.loc[rows["accelerator"], "self_ns"].sum()
            found[str(name)] = (busy / 1e3, elapsed / 1e3)
    return found


def _device_of_events(profile: "Profile") -> "Names":
    """Return the device of each event: that of its node or, if there are several, its stream's."""
    events = profile.events
    device = profile.nodes["device"].str.lower().to_numpy(dtype=object)[events["node"]]
    several = np.array([SEVERAL in name for name in device], dtype=bool)
    if several.any():
        streams = profile.threads["device"].str.lower().to_numpy(dtype=object)
        device[several] = streams[events["thread"].to_numpy()[several]]
    return device


def _utilization(device: str, busy: float, elapsed: float) -> Advice:
    share = busy / elapsed
    times = f"{format_micros(busy)} of {format_micros(elapsed)} in kernels"
    numbers = f"{times}, utilization {share:.2f}"
    if share >= GOOD_UTILIZATION:
        message, severity = f"{device} is busy: {numbers}.", "info"
    else:
        severity = "medium" if share > POOR_UTILIZATION else "high"
        message = (
            f"{device} is idle much of the time: {numbers}. Larger batches, more prefetching or "
            "fewer small ops keep it busy."
        )
    return Advice("accelerator utilization", severity, message, (device,))


def heavy_on_cpu(profile: "Profile") -> list[Advice]:
    """Find op types that take long on the CPU although there is an accelerator."""
    accelerators = sorted({name for name in profile.nodes["device"] if _is_accelerator(name)})
    if not accelerators:
        return []
    times = _times_on_cpu(profile)
    found = []
    for (op_type, device), micros, percent in times.itertuples():
        if percent >= CPU_PERCENT:
            message = (
                f"{op_type} takes {format_micros(micros)}, {percent:.2f}% of the op time, on "
                f"{device}, although there is {accelerators[0]}. Move it there: remove a tf.device "
                "that keeps it on the CPU, or use a dtype or an op that the accelerator supports."
            )
            severity = "high" if percent >= CPU_HIGH_PERCENT else "medium"
            found.append(Advice("heavy op on the CPU", severity, message, (op_type,)))
    return found


def _is_accelerator(device: str) -> bool:
    return ACCELERATOR.search(device.lower()) is not None


def _times_on_cpu(profile: "Profile") -> pd.DataFrame:
    """Return time and share of the op types that run on a CPU but need not, longest first."""
    nodes = profile.nodes
    micros = measure(profile, None, nodes_as_members(profile))["micros"]
    on_cpu = ["cpu" in name.lower() for name in nodes["device"]]
    movable = [ON_THE_HOST.fullmatch(op_type) is None for op_type in nodes["op_type"]]
    chosen = np.array(on_cpu, dtype=bool) & np.array(movable, dtype=bool)
    chosen_nodes = nodes.loc[chosen, ["op_type", "device"]].assign(micros=micros[chosen])
    sums: pd.DataFrame = chosen_nodes.groupby(["op_type", "device"])[["micros"]].sum()
    sums["percent"] = 100 * sums["micros"] / max(micros.sum(), 1e-10)
    return sums.sort_values("micros", ascending=False, kind="stable")

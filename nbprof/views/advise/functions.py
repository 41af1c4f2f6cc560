"""How TensorFlow is called: functions traced again and again, and many small eager ops."""

from typing import TYPE_CHECKING

from nbprof.units import format_micros
from nbprof.views.advise.advice import Advice
from nbprof.views.advise.shares import share_of
from nbprof.views.advise.thresholds import threshold

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    from nbprof._profile import Profile


def retracing(profile: "Profile") -> list[Advice]:
    """Find functions whose graph was built again and again."""
    wall = profile.recording.wall_ns / 1e3
    again = profile.traces[profile.traces["count"] > 1]
    found = []
    for function, rows in again.groupby("function", sort=False):
        micros = float(rows["micros"].sum())
        percent = 100 * micros / max(wall, 1e-10)
        if len(rows) >= threshold("retraces") and percent >= threshold("retrace_percent"):
            high = percent >= threshold("retrace_high_percent")
            changes = rows["changed"][::-1]
            why = next((f", the last time for {text}" for text in changes if text), "")
            message = (
                f"{function} was traced anew {len(rows)} times, {format_micros(micros)}, "
                f"{percent:.0f}% of the wall time{why}. Give it tensors rather than Python "
                "numbers, the same shapes, or an input_signature (or reduce_retracing=True)."
            )
            severity = "high" if high else "medium"
            found.append(Advice("retracing", severity, message, (str(function),)))
    return found


def small_eager_ops(profile: "Profile") -> list[Advice]:
    """Find a loop of eager ops that take longer to start than to run."""
    events = _eager(profile)
    started = share_of(profile, "dispatch") + share_of(profile, "Python")
    count = int(events["is_run"].sum())
    if count < threshold("eager_runs") or started < threshold("dispatch_percent"):
        return []
    # Not the mean: that of a busy machine is long, for an op that had to wait for a core.
    typical = float((events["self_ns"] / events["is_run"]).median()) / 1e3
    if typical >= threshold("eager_micros") or count < profile.events["is_run"].sum() / 2:
        return []
    names = profile.nodes["op_type"].to_numpy(dtype=object)[events["node"]]
    runs = events.groupby(names)["is_run"].sum()
    often = runs.sort_values(ascending=False, kind="stable").index[:3]
    message = (
        f"{count:,} eager ops ran, most for {format_micros(typical)} or so; starting them "
        f"took {started:.0f}% of the wall time (dispatch {share_of(profile, 'dispatch'):.0f}%, "
        f"Python {share_of(profile, 'Python'):.0f}%). Put the loop into a tf.function, or work on "
        "larger tensors."
    )
    severity = "high" if started >= threshold("python_high_percent") else "medium"
    return [Advice("many small eager ops", severity, message, tuple(map(str, often)))]


def _eager(profile: "Profile") -> "pd.DataFrame":
    """Give the runs of eager ops on the cell's thread: their nodes have no name of their own."""
    nodes, events = profile.nodes, profile.events
    unnamed = (nodes["name"] == nodes["op_type"]).to_numpy(dtype=bool)
    on_cell = profile.threads["is_cell"].to_numpy(dtype=bool)
    own: npt.NDArray[np.bool_] = (
        unnamed[events["node"]] & on_cell[events["thread"]] & events["is_run"].to_numpy(bool)
    )
    return events.loc[own]

"""How a cell calls TensorFlow: functions traced again and again, and many small eager ops."""

from typing import TYPE_CHECKING

from nbprof.categories import ANY_PYTHON, Category
from nbprof.units import format_micros
from nbprof.views.advise.check_result import Advice, percent_of_wall

if TYPE_CHECKING:
    import pandas as pd

    from nbprof._profile import Profile
    from nbprof.arrays import Mask

RETRACES = 3
"""Fewest retraces worth advice: tf.function relaxes shapes after one or two, Keras has two."""
RETRACE_PERCENT = 5
"""Smallest share of the wall time worth advice."""
RETRACE_HIGH_PERCENT = 25
"""From this share of the wall time on the advice is severe."""
EAGER_RUNS = 1000
"""Fewest eager ops that make a loop; setting up a model runs a few hundred."""
EAGER_MICROS = 50
"""Duration in µs at which an op hides the cost of its dispatch."""
STARTING_PERCENT = 50
"""Smallest share of the wall time worth advice: more goes into starting ops than running them."""
STARTING_HIGH_PERCENT = 70
"""From this share of the wall time on the advice is severe."""


def retracing(profile: "Profile") -> list[Advice]:
    """Find functions whose graph was built again and again."""
    wall = profile.recording.wall_ns / 1e3
    again = profile.traces[profile.traces["count"] > 1]
    found = []
    for function, rows in again.groupby("function", sort=False):
        micros = float(rows["micros"].sum())
        percent = 100 * micros / max(wall, 1e-10)
        if len(rows) >= RETRACES and percent >= RETRACE_PERCENT:
            changes = rows["changed"][::-1]
            why = next((f", the last time because of {text}" for text in changes if text), "")
            message = (
                f"{function} was retraced {len(rows)} times, {format_micros(micros)}, "
                f"{percent:.0f}% of the wall time{why}. Pass tensors instead of Python numbers, "
                "keep shapes the same, or set an input_signature (or reduce_retracing=True)."
            )
            severity = "high" if percent >= RETRACE_HIGH_PERCENT else "medium"
            found.append(Advice("retracing", severity, message, (str(function),)))
    return found


def small_eager_ops(profile: "Profile") -> list[Advice]:
    """Find a loop of eager ops that take longer to start than to run."""
    events = _eager(profile)
    dispatch = percent_of_wall(profile, Category.DISPATCH)
    python = percent_of_wall(profile, *ANY_PYTHON)
    count = int(events["is_run"].sum())
    if count < EAGER_RUNS or dispatch + python < STARTING_PERCENT:
        return []
    # Not the mean: on a busy machine some ops wait long for a core.
    typical = float((events["self_ns"] / events["is_run"]).median()) / 1e3
    if typical >= EAGER_MICROS or count < profile.events["is_run"].sum() / 2:
        return []
    names = profile.nodes["op_type"].to_numpy(dtype=object)[events["node"]]
    runs = events.groupby(names)["is_run"].sum()
    often = runs.sort_values(ascending=False, kind="stable").index[:3]
    message = (
        f"{count:,} eager ops ran, most for about {format_micros(typical)}; starting them took "
        f"{dispatch + python:.0f}% of the wall time (dispatch {dispatch:.0f}%, Python "
        f"{python:.0f}%). Put the loop into a tf.function, or use larger tensors."
    )
    severity = "high" if dispatch + python >= STARTING_HIGH_PERCENT else "medium"
    return [Advice("many small eager ops", severity, message, tuple(map(str, often)))]


def _eager(profile: "Profile") -> "pd.DataFrame":
    """Return the runs of eager ops on the cell's thread: their nodes are named like their type."""
    nodes, events = profile.nodes, profile.events
    unnamed = (nodes["name"] == nodes["op_type"]).to_numpy(dtype=bool)
    on_cell = profile.threads["is_cell"].to_numpy(dtype=bool)
    own: Mask = (
        unnamed[events["node"]] & on_cell[events["thread"]] & events["is_run"].to_numpy(bool)
    )
    return events.loc[own]

"""What a reader of certain columns should know besides the profile's own notes."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from nbprof._profile import Profile
    from nbprof.columns import Column

MOST = 5

NO_DEFINITIONS = "a trace alone does not know {}; %%tfprof records them for TensorFlow"
NOT_IN_TRACES = {"graph": "which nodes use which", "layer": "Keras layers"}


def notes_for(profile: "Profile", view: str, columns: "tuple[Column, ...]") -> tuple[str, ...]:
    """Add to the profile's notes what is to be said of a view and of the selected columns."""
    selected = {column.name for column in columns}
    notes = profile.notes
    if not profile.recording.has_definitions:
        missing = [NOT_IN_TRACES[view]] if view in NOT_IN_TRACES else []
        missing += ["parameters"] if "params" in selected else []
        notes += tuple(map(NO_DEFINITIONS.format, missing))
    if "tensor_value" in selected and not len(profile.values):
        notes += ("no values of tensors: load_tfprof with a checkpoint has them",)
    if profile.recording.tfprof:
        return notes
    if "float_ops" in selected:
        notes += _uncounted(_by_type(profile, "float_ops"))
    for metric in ("float_ops", "output_bytes"):
        if metric in selected:
            notes += _unknown(_by_type(profile, metric), metric)
    return notes


def _uncounted(by_type: "pd.DataFrame") -> tuple[str, ...]:
    rows = by_type[(by_type["float_ops"] == 0) & ~by_type["unknown"]]
    if not len(rows):
        return ()
    share = _share(rows, by_type)
    return (f"TensorFlow counts no float_ops for {_listed(rows)} ({share:.0f}% of the time)",)


def _unknown(by_type: "pd.DataFrame", metric: str) -> tuple[str, ...]:
    rows = by_type[by_type["unknown"]]
    if not len(rows):
        return ()
    return (
        f"{metric} are at least what is shown: those of {_listed(rows)} "
        f"({_share(rows, by_type):.0f}% of the time) are not known for all runs, for want of a "
        "shape or an attribute",
    )


def _share(rows: "pd.DataFrame", all_rows: "pd.DataFrame") -> float:
    return float(100 * rows["self_ns"].sum() / max(all_rows["self_ns"].sum(), 1))


def _by_type(profile: "Profile", metric: str) -> "pd.DataFrame":
    """Add up time and one metric per op type, the longest first."""
    op_type = profile.nodes["op_type"].to_numpy()[profile.events["node"]]
    events = profile.events.assign(unknown=profile.events[metric].isna())
    sums = events.groupby(op_type).agg({"self_ns": "sum", metric: "sum", "unknown": "any"})
    return sums.sort_values("self_ns", ascending=False)


def _listed(rows: "pd.DataFrame") -> str:
    names = ", ".join(rows.index[:MOST])
    more = len(rows) - MOST
    return f"{names} and {more} more op types" if more > 0 else names

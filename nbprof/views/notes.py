"""Notes about a view and the selected columns, after the profile's own notes."""

from typing import TYPE_CHECKING

from nbprof.view_kinds import VIEWS

if TYPE_CHECKING:
    import pandas as pd

    from nbprof._profile import Profile
    from nbprof.columns import Column

LISTED_TYPES = 5
"""List at most this many op types; otherwise count the rest."""

NO_DEFINITIONS = "a trace alone does not know {}; %%tfprof records them for TensorFlow"


def notes_for(profile: "Profile", view: str, columns: "tuple[Column, ...]") -> tuple[str, ...]:
    """Return the profile's notes and those about a view and its columns."""
    selected = {column.name for column in columns}
    notes = profile.notes
    if not profile.recording.has_definitions:
        missing = [VIEWS[view].not_in_traces, *(column.not_in_traces for column in columns)]
        notes += tuple(NO_DEFINITIONS.format(what) for what in missing if what)
    if "tensor_value" in selected and not len(profile.values):
        notes += ("no values of tensors: give load_tfprof a checkpoint to see them",)
    if profile.recording.tfprof:
        return notes
    if "float_ops" in selected:
        notes += _uncounted(_by_type(profile, "float_ops"))
    # By name, so that float_ops come first, right after the note on ops that have none.
    for column in sorted(columns, key=lambda column: column.name):
        if column.from_shapes:
            notes += _unknown(_by_type(profile, column.name), column.name)
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
        f"({_share(rows, by_type):.0f}% of the time) are not known for all runs, because a shape "
        "or an attribute is missing",
    )


def _share(rows: "pd.DataFrame", all_rows: "pd.DataFrame") -> float:
    return float(100 * rows["self_ns"].sum() / max(all_rows["self_ns"].sum(), 1))


def _by_type(profile: "Profile", metric: str) -> "pd.DataFrame":
    """Add up time and one metric per op type, the longest-running first."""
    op_type = profile.nodes["op_type"].to_numpy()[profile.events["node"]]
    events = profile.events.assign(unknown=profile.events[metric].isna())
    sums = events.groupby(op_type).agg({"self_ns": "sum", metric: "sum", "unknown": "any"})
    return sums.sort_values("self_ns", ascending=False)


def _listed(rows: "pd.DataFrame") -> str:
    names = ", ".join(rows.index[:LISTED_TYPES])
    more = len(rows) - LISTED_TYPES
    return f"{names} and {more} more op types" if more > 0 else names

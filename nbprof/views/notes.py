"""What a reader of certain columns should know besides the profile's own notes."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from nbprof._profile import Profile
    from nbprof.columns import Column

MOST = 5


def notes_for(profile: "Profile", columns: "tuple[Column, ...]") -> tuple[str, ...]:
    """Add to the profile's notes what is to be said of the selected columns."""
    if not any(column.name == "float_ops" for column in columns):
        return profile.notes
    by_type = _by_type(profile)
    total = max(by_type["self_ns"].sum(), 1)
    uncounted = by_type[(by_type["float_ops"] == 0) & ~by_type["unknown"]]
    unknown = by_type[by_type["unknown"]]
    notes = profile.notes
    if len(uncounted):
        share = 100 * uncounted["self_ns"].sum() / total
        notes += (
            f"TensorFlow counts no float_ops for {_listed(uncounted)} ({share:.0f}% of the time)",
        )
    if len(unknown):
        share = 100 * unknown["self_ns"].sum() / total
        notes += (
            f"float_ops are at least what is shown: those of {_listed(unknown)} ({share:.0f}% of "
            "the time) are not known for all runs, for want of a shape or an attribute",
        )
    return notes


def _by_type(profile: "Profile") -> "pd.DataFrame":
    """Add up time and float_ops per op type, the longest first."""
    op_type = profile.nodes["op_type"].to_numpy()[profile.events["node"]]
    events = profile.events.assign(unknown=profile.events["float_ops"].isna())
    sums = events.groupby(op_type).agg({"self_ns": "sum", "float_ops": "sum", "unknown": "any"})
    return sums.sort_values("self_ns", ascending=False)


def _listed(rows: "pd.DataFrame") -> str:
    names = ", ".join(rows.index[:MOST])
    more = len(rows) - MOST
    return f"{names} and {more} more op types" if more > 0 else names

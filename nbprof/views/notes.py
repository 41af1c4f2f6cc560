"""The notes of a view: the profile's own, those about selected columns, why there are no rows."""

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

from nbprof.columns import COLUMNS, op_times
from nbprof.float_op_table import is_known
from nbprof.note import columns_of
from nbprof.options import ViewOptions
from nbprof.view_kinds import VIEWS

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from nbprof._profile import Profile
    from nbprof.columns import Column
    from nbprof.views.view import View

LISTED_TYPES = 5
"""List at most this many op types and count the rest."""

NO_DEFINITIONS = "a trace alone does not know {}; %%tfprof records them for TensorFlow"

NOT_IN_TFPROF = "tfprof's inputs do not know {}; %%tfprof records it"


def notes_for(profile: "Profile", view: str, columns: "tuple[Column, ...]") -> tuple[str, ...]:
    """Return the profile's notes and those about a view and its columns."""
    selected = {column.name for column in columns}
    notes = tuple(note for note in profile.notes if _matters(note, profile, selected))
    if not profile.recording.has_definitions:
        missing = [VIEWS[view].not_in_traces, *(column.not_in_traces for column in columns)]
        notes += tuple(NO_DEFINITIONS.format(what) for what in missing if what)
    if "tensor_value" in selected and not len(profile.values):
        notes += ("tensors have no values: pass a checkpoint to load_tfprof to see them",)
    if profile.recording.tfprof:
        missing = [column.not_in_tfprof for column in columns if column.not_in_tfprof]
        return notes + tuple(map(NOT_IN_TFPROF.format, missing))
    if any(metric.name in op_times() for column in columns for metric in column.measures):
        notes += _fused(profile)
    if "float_ops" in selected:
        notes += _without_formula(_by_type(profile, "float_ops"))
    # By name, so that float_ops come first, right after the note on ops without a formula.
    for column in sorted(columns, key=lambda column: column.name):
        if column.from_shapes:
            notes += _unknown(_by_type(profile, column.name), column.name)
    return notes


def _matters(note: str, profile: "Profile", selected: set[str]) -> bool:
    """Return whether a note is about all columns or a selected one that has numbers."""
    shown = selected.intersection(columns_of(note))
    has_numbers = len(profile.costs) > 0 or any(not COLUMNS[name].of_ops for name in shown)
    return not columns_of(note) or (has_numbers and bool(shown))


def _fused(profile: "Profile") -> tuple[str, ...]:
    """Say where the time of fused ops is."""
    nodes = profile.nodes
    if "fused" not in nodes or not nodes["fused"].any():
        return ()
    types = nodes["op_type"][nodes["fused"]].value_counts(sort=False).to_frame()
    return (
        f"the time of {_listed(types)} that TensorFlow fused into other ops is part of theirs; "
        "select op_types to see what was fused",
    )


def _without_formula(by_type: "pd.DataFrame") -> tuple[str, ...]:
    """Name the op types without a formula, with their shares of the op time."""
    rows = by_type[by_type["unknown"]]
    rows = rows.loc[[op_type for op_type in rows.index if not is_known(op_type)]]
    if not len(rows):
        return ()
    shares = [f"{op_type} ({_percent(rows.loc[[op_type]], by_type)}" for op_type in rows.index]
    shares[0] += " of the op time"
    listed = ", ".join(f"{share})" for share in shares[:LISTED_TYPES])
    rest = rows[LISTED_TYPES:]
    if len(rest):
        listed += f" and {len(rest)} more op types ({_percent(rest, by_type)})"
    return (f"float_ops leave out {listed}: there is no formula",)


def _unknown(by_type: "pd.DataFrame", metric: str) -> tuple[str, ...]:
    rows = by_type[by_type["unknown"]]
    if metric == "float_ops":
        rows = rows.loc[[op_type for op_type in rows.index if is_known(op_type)]]
    if not len(rows):
        return ()
    return (
        f"{metric} are at least what is shown: those of {_listed(rows)} "
        f"({_share(rows, by_type):.0f}% of the time) are not known for all runs, because a shape "
        "or an attribute is missing",
    )


def _percent(rows: "pd.DataFrame", all_rows: "pd.DataFrame") -> str:
    share = _share(rows, all_rows)
    return f"{share:.0f}%" if share >= 1 else "<1%"


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


WHAT_MATCHES = {
    "account_type_regexes": "type of a node",
    "start_name_regexes": "name",
    "show_name_regexes": "name",
}
"""What the regular expressions of an option must match for a row to be shown."""
REGEXES = (*WHAT_MATCHES, "hide_name_regexes", "trim_name_regexes")
"""All options that take regular expressions."""
LONGEST_VALUE = 200
"""Longest option value that is quoted in full, in characters."""
DEFAULTS = ViewOptions()


def why_nothing(view: "View", make: "Callable[[ViewOptions], View]") -> tuple[str, ...]:
    """Explain an empty view by the options whose removal brings rows back, alone or together."""
    if not is_empty(view):
        return ()
    given = _filters(view.options)
    guilty = [name for name in given if not is_empty(make(_without(view.options, name)))]
    if not guilty and not is_empty(make(reduce(_without, given, view.options))):
        guilty = given
    return (_sentence(view.options, guilty),) if guilty else ()


def is_empty(view: "View") -> bool:
    """Return whether there are no rows, or only a tree's root."""
    return len(view.frame) <= view.is_tree


def _filters(options: ViewOptions) -> list[str]:
    """Name the filters that differ from the defaults."""
    regexes = [name for name in REGEXES if getattr(options, name) != getattr(DEFAULTS, name)]
    return regexes + [f"min_{column}" for column in options.minimum]


def _without(options: ViewOptions, name: str) -> ViewOptions:
    """Return the options without one of their filters."""
    if name in REGEXES:
        return replace(options, **{name: getattr(DEFAULTS, name)})
    column = name.removeprefix("min_")
    return replace(options, minimum={**options.minimum, column: float("-inf")})


def _sentence(options: ViewOptions, guilty: list[str]) -> str:
    flags = " and ".join(f"-{name} {_value(options, name)}" for name in guilty)
    sentence = f"{flags} {'leaves' if len(guilty) == 1 else 'together leave'} no rows"
    whole = next((WHAT_MATCHES[name] for name in guilty if name in WHAT_MATCHES), "")
    why = f": a regular expression (RE2) must match the whole {whole}, as .*Mul.* matches MatMul"
    return sentence + why if whole else sentence


def _value(options: ViewOptions, name: str) -> str:
    if name in REGEXES:
        text = ",".join(getattr(options, name))
        text = text if text and text.isprintable() else repr(text)
        return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"
    return f"{options.minimum[name.removeprefix('min_')]:g}"

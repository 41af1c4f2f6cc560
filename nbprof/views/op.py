"""The op view: one row per op type, with its own share and that of all rows from it down."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from nbprof.arrays import NONE, Floats, Mask, Rows
from nbprof.columns import COLUMNS, ROOT, Column, selected
from nbprof.options import EVERYTHING
from nbprof.views.accounting import matches, weights
from nbprof.views.measure import Metrics, add_up, measure, nodes_as_members, weighted, whole
from nbprof.views.notes import notes_for
from nbprof.views.row_labels import Labels
from nbprof.views.view import Places, View

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.options import ViewOptions

COUNTS = COLUMNS["occurrence"].metrics
"""The metrics that have no shares."""


@dataclass(frozen=True, eq=False)
class OpTypes:
    """Op types in display order, with what their nodes cost."""

    number: Rows
    """The number of each type in alphabetical order."""
    names: list[str]
    own: Metrics
    accumulated: Metrics
    """The sum of each row and all rows below it."""

    def only(self, rows: Rows) -> "OpTypes":
        """Keep some rows with the sums they have."""
        return OpTypes(
            number=self.number[rows],
            names=[self.names[row] for row in rows.tolist()],
            own=_take(self.own, rows),
            accumulated=_take(self.accumulated, rows),
        )

    @property
    def total(self) -> dict[str, float]:
        """The sum over all rows."""
        return {
            name: float(sums[0]) if len(sums) else 0.0 for name, sums in self.accumulated.items()
        }


def view(profile: "Profile", options: "ViewOptions") -> View:
    """Group the nodes by op type, heaviest first."""
    if profile.recording.tfprof and not len(profile.nodes):
        return _view_of_no_nodes(profile, options)
    members = nodes_as_members(profile)
    weight = weights(profile, options.account_type_regexes)
    number, names = pd.factorize(profile.nodes["op_type"], sort=True)
    metrics = weighted(measure(profile, options.step, members, options.uses), weight)
    sums = add_up(metrics, number.astype(np.intp), len(names))
    types = _in_order(names.tolist(), sums, options.order_by)
    shown = types.only(_shown_rows(types, options))
    total = types.total
    if options.account_displayed_op_only:
        shown = replace(shown, accumulated=_accumulated(shown.own))
        total = shown.total

    counted = np.where(weight > 0, number, NONE)
    labels = Labels(profile, options.step, members, counted)

    def places() -> Places:
        row = np.full(len(names) + 1, NONE, dtype=np.intp)
        row[shown.number] = np.arange(len(shown.number))
        return Places(of_event=members.of_event, row=row[counted], own=row[counted] >= 0)

    columns = selected(options.columns, "op")
    return View(
        name="op",
        frame=_frame(shown, total, columns, labels),
        columns=columns,
        options=options,
        headline=profile.headline,
        notes=notes_for(profile, "op", columns),
        exact=profile.recording.tfprof,
        places=places,
    )


def _view_of_no_nodes(profile: "Profile", options: "ViewOptions") -> View:
    """Show only the root, as tfprof does for a graph without nodes."""
    columns = selected(options.columns, "op")
    measure(profile, options.step, nodes_as_members(profile))  # refuses an unknown step
    nothing = {metric: np.zeros(1) for column in columns for metric in column.metrics}
    root = OpTypes(
        number=np.zeros(1, dtype=np.intp), names=[ROOT], own=nothing, accumulated=nothing
    )
    data: dict[str, Any] = {"name": root.names}
    for column in columns:
        if column.metrics:
            data |= _numbers(column, root, root.total)
        else:
            data[column.name] = [[] if column.name == "input_shapes" else ""]
    return View(
        name="op",
        frame=pd.DataFrame(data),
        columns=columns,
        options=options,
        headline=profile.headline,
        notes=profile.notes,
        exact=True,
    )


def _in_order(names: list[str], sums: Metrics, order_by: str) -> OpTypes:
    """Bring the op types that have counted nodes into display order."""
    present = np.flatnonzero(sums["defined_count"] > 0)
    order = present[_order(_take(sums, present), order_by)]
    own = _take(sums, order)
    return OpTypes(
        number=order,
        names=[names[row] for row in order.tolist()],
        own=own,
        accumulated=_accumulated(own),
    )


def _order(rows: Metrics, order_by: str) -> Rows:
    if order_by == "name":
        return np.arange(len(rows["micros"]))
    key = rows["defined_count" if order_by == "occurrence" else order_by]
    return np.argsort(np.where(np.isnan(key), np.inf, -key), kind="stable")


def _take(metrics: Metrics, rows: Rows) -> Metrics:
    return {name: values[rows] for name, values in metrics.items()}


def _accumulated(own: Metrics) -> Metrics:
    return {name: _sums_from_below(values) for name, values in own.items()}


def _sums_from_below(values: Floats) -> Floats:
    """Add up from the last row to each, leaving unknown values out unless there are no others."""
    unknown = np.isnan(values)[::-1]
    sums = np.cumsum(np.nan_to_num(values)[::-1])
    return np.where(np.logical_and.accumulate(unknown), np.nan, sums)[::-1]


def _shown_rows(types: OpTypes, options: "ViewOptions") -> Rows:
    """Return the rows that pass the regular expressions, `-max_depth` and the minimums."""
    shown = _in_range(types.names, options)
    shown &= matches(types.names, options.show_name_regexes)
    if options.hide_name_regexes:
        shown &= ~matches(types.names, options.hide_name_regexes)
    for name, minimum in options.minimum.items():
        own = types.own["defined_count" if name == "occurrence" else name]
        tested = own if name == "occurrence" else types.accumulated[name]
        shown &= ~(tested < minimum) | np.isnan(own)  # an unknown value does not hide a row
    return np.flatnonzero(shown)


def _in_range(names: list[str], options: "ViewOptions") -> Mask:
    """Mark the rows from the start on, up to a trimmed one or to `-max_depth`."""
    first = 0
    if options.start_name_regexes not in (EVERYTHING, ()):
        starts = np.flatnonzero(matches(names, options.start_name_regexes))
        first = int(starts[0]) if len(starts) else len(names)
    last = min(len(names), first + options.max_depth + 1)
    if options.trim_name_regexes:
        trimmed = np.flatnonzero(matches(names[first:last], options.trim_name_regexes))
        last = first + int(trimmed[0]) if len(trimmed) else last
    row = np.arange(len(names))
    return (first <= row) & (row < last)


def _frame(
    shown: OpTypes, total: dict[str, float], columns: tuple[Column, ...], labels: Labels
) -> pd.DataFrame:
    data: dict[str, Any] = {"name": pd.Series(shown.names, dtype=object)}
    for column in columns:
        if column.metrics:
            data |= _numbers(column, shown, total)
        else:
            texts = list(map(labels.of(column.name), shown.number.tolist()))
            data[column.name] = pd.Series(texts, dtype=object)
    return pd.DataFrame(data)


def _numbers(column: Column, rows: OpTypes, total: dict[str, float]) -> dict[str, Any]:
    """Return the columns of the frame for one selected column of numbers."""
    if column.metrics == COUNTS:
        return {metric: whole(rows.own[metric]) for metric in COUNTS}
    (metric,) = column.metrics
    return {
        metric: rows.own[metric],
        f"{metric}_percent": _percent(rows.own[metric], total[metric]),
        f"{metric}_accumulated_percent": _percent(rows.accumulated[metric], total[metric]),
    }


def _percent(part: Floats, total: float) -> Floats:
    # tfprof's order of operations: `100 / total * part` would print 15 of 96 as 15.63%, not 15.62%.
    return 100.0 * part / total if total else 0.0 * part

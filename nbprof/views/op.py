"""The op view: one row per op type, with its own share and the share of the rows from it down."""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from nbprof.arrays import Rows
from nbprof.columns import COLUMNS, Column, selected
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


def view(profile: "Profile", options: "ViewOptions") -> View:
    """Group the nodes by op type, heaviest first."""
    if profile.recording.tfprof and not len(profile.nodes):
        return _of_no_nodes(profile, options)
    group, texts = pd.factorize(profile.nodes["op_type"], sort=True)
    weight = weights(profile, options.account_type_regexes)
    members = nodes_as_members(profile)
    counted = np.where(weight > 0, group, -1)
    labels = Labels(profile, options.step, members, counted)
    metrics = weighted(measure(profile, options.step, members, options.uses), weight)
    rows = add_up(metrics, group.astype(np.intp), len(texts))
    present = np.flatnonzero(rows["defined_count"] > 0)
    order = present[_order({name: own[present] for name, own in rows.items()}, options.order_by)]
    names = texts.to_numpy(dtype=object)[order]
    rows = {metric: values[order] for metric, values in rows.items()}
    running = {metric: _running(values) for metric, values in rows.items()}

    shown = _shown(names.tolist(), rows, running, options)
    rows = {metric: values[shown] for metric, values in rows.items()}
    if options.account_displayed_op_only:
        running = {metric: _running(values) for metric, values in rows.items()}
        totals = {metric: _first(values) for metric, values in running.items()}
    else:
        totals = {metric: _first(values) for metric, values in running.items()}
        running = {metric: values[shown] for metric, values in running.items()}

    columns = selected(options.select, "op")
    data: dict[str, Any] = {"name": pd.Series(names[shown], dtype=object)}
    for column in columns:
        if column.metrics:
            data.update(_frame_columns(column, rows, running, totals))
        else:
            found = list(map(labels.of(column.name), order[shown].tolist()))
            data[column.name] = pd.Series(found, dtype=object)
    frame = pd.DataFrame(data)
    notes = notes_for(profile, "op", columns)
    exact = profile.recording.tfprof

    def places() -> Places:
        row = np.full(len(texts) + 1, -1, dtype=np.intp)
        row[order[shown]] = np.arange(len(shown))
        return Places(members.of_event, row[counted], row[counted] >= 0)

    return View("op", frame, columns, options, profile.headline, notes, exact=exact, places=places)


def _of_no_nodes(profile: "Profile", options: "ViewOptions") -> View:
    """Show what tfprof shows then: a root without anything."""
    columns = selected(options.select, "op")
    measure(profile, options.step, nodes_as_members(profile))  # refuses a step that is not there
    nothing = {metric: np.zeros(1) for column in columns for metric in column.metrics}
    data: dict[str, Any] = {"name": ["_TFProfRoot"]}
    for column in columns:
        if column.metrics:
            data.update(_frame_columns(column, nothing, nothing, dict.fromkeys(nothing, 0.0)))
        else:
            data[column.name] = [[] if column.name == "input_shapes" else ""]
    frame = pd.DataFrame(data)
    return View("op", frame, columns, options, profile.headline, profile.notes, exact=True)


def _running(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Add up from the last row to each; what is not known is left out, unless nothing is."""
    unknown = np.isnan(values)[::-1]
    running = np.cumsum(np.nan_to_num(values)[::-1])
    return np.where(np.logical_and.accumulate(unknown), np.nan, running)[::-1]


def _first(running: npt.NDArray[np.float64]) -> float:
    return float(running[0]) if len(running) else 0.0


def _order(rows: Metrics, order_by: str) -> Rows:
    if order_by == "name":
        return np.arange(len(rows["micros"]))
    key = rows["defined_count" if order_by == "occurrence" else order_by]
    return np.argsort(np.where(np.isnan(key), np.inf, -key), kind="stable")


def _shown(names: list[str], rows: Metrics, running: Metrics, options: "ViewOptions") -> Rows:
    """Apply the regular expressions, max_depth and the minimums, which test the running totals."""
    first = 0
    if options.start_name_regexes not in (EVERYTHING, ()):
        found = np.flatnonzero(matches(names, options.start_name_regexes))
        first = int(found[0]) if len(found) else len(names)
    last = min(len(names), first + options.max_depth + 1)
    if options.trim_name_regexes:
        trimmed = np.flatnonzero(matches(names[first:last], options.trim_name_regexes))
        last = first + int(trimmed[0]) if len(trimmed) else last
    chosen = np.zeros(len(names), dtype=bool)
    chosen[first:last] = True
    chosen &= matches(names, options.show_name_regexes)
    if options.hide_name_regexes:
        chosen &= ~matches(names, options.hide_name_regexes)
    for name, least in options.minimum.items():
        tested = rows["defined_count"] if name == "occurrence" else running[name]
        own = tested if name == "occurrence" else rows[name]
        chosen &= ~(tested < least) | np.isnan(own)  # what is not known is not hidden
    return np.flatnonzero(chosen)


def _frame_columns(
    column: Column, rows: Metrics, running: Metrics, totals: dict[str, float]
) -> dict[str, Any]:
    if column.metrics == COUNTS:
        return {metric: whole(rows[metric]) for metric in COUNTS}
    (metric,) = column.metrics
    return {
        metric: rows[metric],
        f"{metric}_percent": _percent(rows[metric], totals[metric]),
        f"{metric}_accumulated_percent": _percent(running[metric], totals[metric]),
    }


def _percent(part: np.ndarray, whole: float) -> np.ndarray:
    # In tfprof's order: another one prints 15 of 96 as 15.62% or 15.63%.
    return 100.0 * part / whole if whole else 0.0 * part

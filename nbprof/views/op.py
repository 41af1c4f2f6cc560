"""The op view: one row per op type, with its own share and the share of the rows from it down."""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from nbprof.columns import COLUMNS, Column, selected
from nbprof.views.labels import Labels
from nbprof.views.measure import Metrics, add_up, measure, nodes_as_members, whole
from nbprof.views.notes import notes_for
from nbprof.views.view import View

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.options import ViewOptions

COUNTS = COLUMNS["occurrence"].metrics


def view(profile: "Profile", options: "ViewOptions") -> View:
    """Group the nodes by op type, heaviest first."""
    names, group = np.unique(profile.nodes["op_type"].to_numpy(dtype=str), return_inverse=True)
    members = nodes_as_members(profile)
    labels = Labels(profile, options.step, members, group)
    rows = add_up(measure(profile, options.step, members), group, len(names))
    order = _order(rows, options.order_by)
    names = names[order]
    rows = {metric: values[order] for metric, values in rows.items()}
    running = {metric: _running(values) for metric, values in rows.items()}

    columns = selected(options.select, "op")
    shown = _shown(rows, running, options)
    data: dict[str, Any] = {"name": names.astype(object)}
    for column in columns:
        if column.metrics:
            data.update(_frame_columns(column, rows, running))
        else:
            data[column.name] = list(map(labels.of(column.name), order.tolist()))
    frame = pd.DataFrame(data)[shown].reset_index(drop=True)
    notes = notes_for(profile, columns)
    return View("op", frame, columns, options, profile.headline, notes)


def _running(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Add up from the last row to each; what is not known is left out, unless nothing is."""
    known = values if np.isnan(values).all() else np.nan_to_num(values)
    return np.cumsum(known[::-1])[::-1]


def _order(rows: Metrics, order_by: str) -> npt.NDArray[np.intp]:
    if order_by == "name":
        return np.arange(len(rows["micros"]))
    key = "defined_count" if order_by == "occurrence" else order_by
    return np.argsort(-rows[key], kind="stable")


def _shown(rows: Metrics, running: Metrics, options: "ViewOptions") -> npt.NDArray[np.bool_]:
    """Apply max_depth and the minimums, which tfprof tests against the running totals."""
    shown = np.arange(len(rows["micros"])) <= options.max_depth
    for name, least in options.minimum.items():
        tested = rows["defined_count"] if name == "occurrence" else running[name]
        shown &= tested >= least
    return shown


def _frame_columns(column: Column, rows: Metrics, running: Metrics) -> dict[str, Any]:
    if column.metrics == COUNTS:
        return {metric: whole(rows[metric]) for metric in COUNTS}
    (metric,) = column.metrics
    total = running[metric][0] if len(running[metric]) else 0.0
    share = 100.0 / total if total else 0.0
    return {
        metric: rows[metric],
        f"{metric}_percent": rows[metric] * share,
        f"{metric}_accumulated_percent": running[metric] * share,
    }

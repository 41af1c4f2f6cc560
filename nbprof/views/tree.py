"""From a tree of rows to a View: what counts, what shows, in which order, as a frame.

The root `_TFProfRoot` is not a row of the tree; it becomes row 0 of the frame.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from nbprof.arrays import NONE, Floats, Mask, Names, Rows
from nbprof.columns import ROOT, TOTAL, counts, selected
from nbprof.views.measure import whole
from nbprof.views.notes import notes_for
from nbprof.views.tree_filter import Rules, shown_rows
from nbprof.views.tree_nesting import Nesting
from nbprof.views.tree_sums import SummedRows
from nbprof.views.view import Lines, Origin, Places, RowLines, View

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.columns import Column
    from nbprof.options import ViewOptions
    from nbprof.views.measure import Metrics
    from nbprof.views.row_labels import Labels

NO_ROW = -2
"""The row number of a node that is in no row, not even the root's."""


@dataclass(frozen=True, eq=False)
class Stated:
    """Totals that are known by themselves, because they are not the sums over subtrees.

    A function's time with all it called is not the sum over its rows: callers share callees.
    """

    totals: "Metrics"
    """The total of each row."""
    root_own: Mapping[str, float]
    """What is the root's own, by metric."""
    root: Mapping[str, float]
    """The root's totals."""


@dataclass(frozen=True, eq=False)
class Tree:
    """Named rows with their own metrics, in visiting order."""

    names: Names
    nesting: Nesting
    metrics: "Metrics"
    accounted: Mask
    """Which rows count; the others show `--`, and only where something below them counts."""
    labels: "Labels"
    texts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Further text columns of the frame, a text for each row."""
    rules: Rules = field(default_factory=Rules)
    row_lines: RowLines | None = None
    """The lines of the rows and, as the last one, of the root."""
    row_functions: Rows | None = None
    """The functions of the rows and, as the last one, NONE for the root."""
    lines: Lines | None = None
    stated: Stated | None = None
    """None if totals are sums."""


@dataclass(frozen=True, eq=False)
class Layout:
    """The shown rows in display order, the root first."""

    frame: pd.DataFrame
    accounted: Mask
    source: Rows
    """The row of the tree that each shown row is, NONE for the root."""
    total_micros: Floats


def view(name: str, tree: Tree, profile: "Profile", options: "ViewOptions") -> View:
    """Make the View of a tree."""
    columns = selected(options.columns, name)
    layout = lay_out(tree, options, columns)
    needs_origin = options.output.kind in ("timeline", "pprof")
    return View(
        name=name,
        frame=layout.frame,
        columns=columns,
        options=options,
        headline=profile.headline,
        notes=notes_for(profile, name, columns),
        accounted=layout.accounted,
        exact=profile.recording.tfprof,
        origin=_origin(tree, layout) if needs_origin else None,
        places=lambda: _places(tree, layout.source),
        row_lines=tree.row_lines and tree.row_lines.of_rows(layout.source),
        row_functions=(None if tree.row_functions is None else tree.row_functions[layout.source]),
    )


def _origin(tree: Tree, layout: Layout) -> Origin:
    node, row = tree.labels.members
    return Origin(
        rows=layout.source,
        end=tree.nesting.end,
        total_micros=layout.total_micros,
        node=node,
        row=row,
        lines=tree.lines,
    )


def _places(tree: Tree, shown: Rows) -> Places:
    """Find the row of the frame that each member counts in: its own, or the nearest shown above."""
    place = np.full(len(tree.names) + 1, NONE, dtype=np.intp)  # the last entry is the root's
    place[shown] = np.arange(len(shown))
    is_shown = place >= 0
    for row in np.flatnonzero(~is_shown).tolist():  # a parent comes before its children
        place[row] = place[tree.nesting.parent[row]]
    _, group = tree.labels.members
    counts = (group >= 0) & np.append(tree.accounted, False)[np.maximum(group, NONE)]
    group = np.where(counts, group, NONE)
    return Places(
        of_event=tree.labels.of_event,
        row=np.where(counts, place[group], NONE),
        own=counts & is_shown[group],
    )


def lay_out(tree: Tree, options: "ViewOptions", columns: "tuple[Column, ...]") -> Layout:
    """Choose the rows to show, bring them into display order, and make the frame."""
    rows = _counted_rows(tree, _needed_metrics(tree, options, columns))
    rows = rows.only(shown_rows(rows, tree.rules, options))
    if options.account_displayed_op_only and tree.rules.can_account_displayed:
        rows = _added_up_again(rows)
    order = rows.nesting.display_order(_sort_key(rows, tree.rules, options.order_by))
    source = rows.source[order]
    accounted = _after_root(False, tree.accounted[source])
    data = _structure(rows, order)
    data |= {name: _texts(texts, source) for name, texts in tree.texts.items()}
    for column in columns:
        data |= _labels(tree, column, source)
        for metric in column.metrics:
            # A row that does not count has nothing of its own; tfprof prints `--` for it.
            own = np.where(tree.accounted[source], rows.own[metric][order], np.nan)
            root_own = tree.stated.root_own.get(metric, np.nan) if tree.stated else np.nan
            data[metric] = _after_root(root_own, own)
            total = _after_root(rows.root[metric], rows.totals[metric][order])
            data[f"total_{metric}"] = whole(total) if metric in counts() else total
    return Layout(
        frame=pd.DataFrame(data),
        accounted=accounted,
        source=_after_root(NONE, source),
        total_micros=_after_root(rows.root["micros"], rows.totals["micros"][order]),
    )


def _needed_metrics(tree: Tree, options: "ViewOptions", columns: "tuple[Column, ...]") -> list[str]:
    """Name the metrics that are shown, ordered by or compared with a minimum."""
    named = {metric for column in columns for metric in column.metrics}
    named |= {
        options.order_by.removeprefix(TOTAL),
        *options.minimum,
        "micros",
        "run_count",
        "defined_count",
    }
    return [name for name in tree.metrics if name in named]


def _counted_rows(tree: Tree, metrics: list[str]) -> SummedRows:
    """Add up the tree without the subtrees in which nothing counts."""
    counted = tree.nesting.subtree_sums(tree.accounted.astype(np.float64)) > 0
    source = np.flatnonzero(counted)
    own = {name: tree.metrics[name][source] for name in metrics}
    rows = SummedRows.add_up(tree.names[source], source, tree.nesting.only(source), own)
    return rows if tree.stated is None else _with_totals(rows, tree.stated)


def _with_totals(rows: SummedRows, stated: Stated) -> SummedRows:
    """Replace sums by the totals that are stated."""
    totals = {name: values[rows.source] for name, values in stated.totals.items()}
    return replace(rows, totals={**rows.totals, **totals}, root={**rows.root, **stated.root})


def _added_up_again(rows: SummedRows) -> SummedRows:
    """Add up the shown rows alone; tfprof then counts the root as a node, too."""
    shown = SummedRows.add_up(rows.names, rows.source, rows.nesting, rows.own)
    root = {**shown.root, "defined_count": shown.root["defined_count"] + 1}
    return replace(shown, root=root)


def _sort_key(rows: SummedRows, rules: Rules, order_by: str) -> npt.NDArray[Any]:
    if order_by == "occurrence" and not rules.counts_runs:
        return -rows.own["defined_count"]
    metric = order_by.removeprefix(TOTAL)
    if metric in rows.totals:
        by_own = rules.orders_by_own and metric == order_by
        numbers = rows.own[metric] if by_own else rows.totals[metric]
        return np.where(np.isnan(numbers), np.inf, -numbers)
    if rules.named_in_order:
        return np.arange(len(rows.names))
    # By name, also where tfprof cannot order by occurrence.
    return np.unique(rows.names, return_inverse=True)[1]


def _structure(rows: SummedRows, order: Rows) -> dict[str, Any]:
    """Return the columns that say what each row is and where it belongs."""
    place = np.empty(len(order) + 1, dtype=np.intp)
    place[order] = np.arange(1, len(order) + 1)
    place[NONE] = 0
    return {
        "name": pd.Series(_after_root(ROOT, rows.names[order]), dtype=object),
        "parent": _after_root(NONE, place[rows.nesting.parent[order]]),
        "depth": _after_root(0, rows.nesting.level[order] + 1),
    }


def _labels(tree: Tree, column: "Column", source: Rows) -> dict[str, Any]:
    """Return the text column of a label, or the one that comes with a metric."""
    if column.metrics and not column.label:
        return {}
    name = column.label or column.name
    label = tree.labels.of(name)
    root = tree.rules.root_type if name == "op_types" else label(NONE)
    return {name: pd.Series([root, *map(label, source.tolist())], dtype=object)}


def _texts(texts: Sequence[str], source: Rows) -> pd.Series:
    return pd.Series(["", *map(texts.__getitem__, source.tolist())], dtype=object)


def _after_root(root: Any, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Put the root's value before those of the rows."""
    joined = np.empty(len(values) + 1, dtype=values.dtype)
    joined[0], joined[1:] = root, values
    return joined

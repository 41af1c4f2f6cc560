"""The only tree arithmetic: what counts, subtree totals, which rows show, in which order.

Trees arrive as arrays in the order in which tfprof would visit the nodes: a parent before its
children, a child's whole subtree before the next child. So a subtree is a range of rows, and its
total the difference of two running sums. The root `_TFProfRoot` is not in the arrays; it becomes
row 0 of the frame.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from nbprof.arrays import Mask, Rows
from nbprof.columns import ROOT, is_count, selected
from nbprof.options import EVERYTHING
from nbprof.views.accounting import matches
from nbprof.views.measure import known, whole
from nbprof.views.notes import notes_for
from nbprof.views.view import Lines, Origin, Places, View

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.columns import Column
    from nbprof.options import ViewOptions
    from nbprof.views.measure import Metrics
    from nbprof.views.row_labels import Labels


MANY_LEVELS = 64
NONE, NOWHERE = -1, -2
"""No row above: the root. And no row at all."""


@dataclass(frozen=True)
class Rules:
    """In what tfprof's tree views differ."""

    minimum_of_own: tuple[str, ...] = ("params", "float_ops")
    """Columns whose minimum is held against a row's own number, not against its total."""
    counts_runs: bool = True
    """Whether `-min_occurrence` is held against a row's runs; it means nothing otherwise."""
    trims_the_row: bool = False
    """Whether a trimmed row goes with all below it; elsewhere it stays, as a leaf."""
    can_account_displayed: bool = True
    """Whether `-account_displayed_op_only` works."""
    root_type: str = "_kTFScopeParent"


@dataclass(frozen=True)
class Tree:
    """Named rows with their own metrics, in visiting order."""

    names: Sequence[str]
    parent: Rows
    level: Rows
    """0 for rows that have no parent."""
    metrics: "Metrics"
    accounted: Mask
    """Which rows count; others show `--`, and only where something below them counts."""
    labels: "Labels"
    texts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Further columns of the frame: a text for each row."""
    rules: Rules = field(default_factory=Rules)
    lines: Lines | None = None


@dataclass(frozen=True, eq=False)
class Layout:
    """The shown rows in display order, the root first."""

    frame: pd.DataFrame
    accounted: Mask
    rows: Rows
    """The row of the tree that each is, NONE for the root."""
    total_micros: npt.NDArray[np.float64]


def view(name: str, tree: Tree, profile: "Profile", options: "ViewOptions") -> View:
    """Make the View of a tree."""
    columns = selected(options.select, name)
    shown = lay_out(tree, options, columns)
    return View(
        name,
        shown.frame,
        columns,
        options,
        profile.headline,
        notes_for(profile, name, columns),
        shown.accounted,
        exact=profile.recording.tfprof,
        origin=_origin(tree, shown) if options.output.kind in ("timeline", "pprof") else None,
        places=lambda: _places(tree, shown.rows),
    )


def _origin(tree: Tree, shown: Layout) -> Origin:
    node, row = tree.labels.members
    return Origin(shown.rows, ends(tree.level), shown.total_micros, node, row, tree.lines)


def _places(tree: Tree, shown: Rows) -> Places:
    """Say in which row of the frame each member counts: its own, or the nearest shown above."""
    place = np.full(len(tree.names) + 1, NONE, dtype=np.intp)  # the last entry is the root's
    place[shown] = np.arange(len(shown))
    own = place >= 0
    for row in np.flatnonzero(~own).tolist():  # a parent stands before its children
        place[row] = place[tree.parent[row]]
    _, group = tree.labels.members
    counts = (group >= 0) & np.append(tree.accounted, False)[np.maximum(group, NONE)]
    group = np.where(counts, group, NONE)
    return Places(tree.labels.of_event, np.where(counts, place[group], NONE), counts & own[group])


def visiting_order(parent: Iterable[int]) -> tuple[list[int], list[int]]:
    """Order rows so that a subtree stands together; children keep their order. Give levels, too."""
    above = list(parent)
    first = [NONE] * (len(above) + 1)  # the last entry is the root's, whose number is -1
    following = [NONE] * len(above)
    for row in range(len(above) - 1, -1, -1):
        following[row] = first[above[row]]
        first[above[row]] = row
    order: list[int] = []
    levels: list[int] = []
    row, level = first[NONE], 0
    while row != NONE:
        order.append(row)
        levels.append(level)
        if first[row] != NONE:
            row, level = first[row], level + 1
            continue
        while row != NONE and following[row] == NONE:
            row, level = above[row], level - 1
        row = NONE if row == NONE else following[row]
    return order, levels


def lay_out(tree: Tree, options: "ViewOptions", columns: "tuple[Column, ...]") -> Layout:
    """Lay the shown rows out in display order, the root first."""
    end = ends(tree.level)
    kept = np.flatnonzero(_ranges(tree.accounted.astype(np.float64), end) > 0)
    level = tree.level[kept]
    if len(kept) < len(end):
        end = ends(level)
    own = {name: tree.metrics[name][kept] for name in _needed(tree, options, columns)}
    totals, root = _totals(own, end)
    names = list(map(tree.names.__getitem__, kept.tolist()))

    rows = _shown(tree.rules, options, names, level, end, own, totals)
    above, depth = _parents(tree, kept), level
    if len(rows) < len(kept):
        above, depth = nearest_shown(rows, end)
    totals = {name: values[rows] for name, values in totals.items()}
    if options.account_displayed_op_only and tree.rules.can_account_displayed:
        own_shown = {name: values[rows] for name, values in own.items()}
        totals, root = _totals(own_shown, ends(depth))
        root["defined_count"] += 1

    key = _sort_key(tree.rules, own, totals, rows, names, options.order_by)
    order = _display_order(above, key)
    place = np.empty(len(order) + 1, dtype=np.intp)
    place[order] = np.arange(1, len(order) + 1)
    place[-1] = 0  # index -1: the root
    rows, above, depth = rows[order], above[order], depth[order]
    source = kept[rows]
    data: dict[str, Any] = {
        "name": pd.Series([ROOT, *map(names.__getitem__, rows.tolist())], dtype=object),
        "parent": np.concatenate(([NONE], place[above])),
        "depth": np.concatenate(([0], depth + 1)),
    }
    for name, texts in tree.texts.items():
        data[name] = pd.Series(["", *map(texts.__getitem__, source.tolist())], dtype=object)
    accounted = np.append(False, tree.accounted[source])
    for column in columns:
        for name, labels in _labels(tree, column, source).items():
            data[name] = pd.Series(labels, dtype=object)
        for metric in column.metrics:
            # What is not accounted has nothing of its own: tfprof prints `--` for it.
            mine = np.append(np.nan, own[metric][rows])
            data[metric] = np.where(accounted, mine, np.nan)
            total = np.append(root[metric], totals[metric][order])
            data[f"total_{metric}"] = whole(total) if is_count(metric) else total
    total_micros = np.append(root["micros"], totals["micros"][order])
    return Layout(pd.DataFrame(data), accounted, np.append(NONE, source), total_micros)


def _needed(tree: Tree, options: "ViewOptions", columns: "tuple[Column, ...]") -> list[str]:
    """Name the metrics that are shown, ordered by or held against a minimum; others are not."""
    named = {metric for column in columns for metric in column.metrics}
    named |= {options.order_by, *options.minimum, "micros", "run_count", "defined_count"}
    return [name for name in tree.metrics if name in named]


def _labels(tree: Tree, column: "Column", rows: Rows) -> dict[str, list[Any]]:
    """Give the texts of a column that is none of numbers, or that come with one."""
    if column.metrics and not column.label:
        return {}
    name = column.label or column.name
    label = tree.labels.of(name)
    root = tree.rules.root_type if name == "op_types" else label(NONE)
    return {name: [root, *map(label, rows.tolist())]}


def _parents(tree: Tree, kept: Rows) -> Rows:
    """Give the parents of kept rows, which are kept, too, by their places among those."""
    place = np.full(len(tree.names) + 1, NONE, dtype=np.intp)
    place[kept] = np.arange(len(kept))
    parents: Rows = place[tree.parent[kept]]
    return parents


def _shown(
    rules: Rules,
    options: "ViewOptions",
    names: list[str],
    level: Rows,
    end: Rows,
    own: "Metrics",
    totals: "Metrics",
) -> Rows:
    """Find the rows that show."""
    visible, first_level = _from_start(names, level, end, options.start_name_regexes)
    depth = level - first_level + 2  # the root is 1
    shown = visible & (depth <= options.max_depth)
    shown &= ~_trimmed(names, visible, end, options.trim_name_regexes, rules.trims_the_row)
    shown &= matches(names, options.show_name_regexes)
    if options.hide_name_regexes:
        shown &= ~matches(names, options.hide_name_regexes)
    for name, least in options.minimum.items():
        tested = _tested(rules, name, own, totals)
        if tested is not None:
            shown &= ~(tested < least)  # what is not known is not hidden
    return np.flatnonzero(shown)


def _tested(rules: Rules, name: str, own: "Metrics", totals: "Metrics") -> Any:
    if name == "occurrence":
        return own["run_count"] if rules.counts_runs else None
    return own[name] if name in rules.minimum_of_own else totals[name]


def _from_start(
    names: list[str], level: Rows, end: Rows, patterns: tuple[str, ...]
) -> tuple[Mask, Rows]:
    """Find the rows at or below a start, and the level at which their start is."""
    if patterns == EVERYTHING:
        return np.ones(len(names), dtype=bool), np.zeros(len(names), dtype=np.intp)
    match = np.flatnonzero(matches(names, patterns))
    starts = match[_covered(match, end, strictly=True)[match] == 0]
    below = _covered(starts, end, strictly=False) > 0
    start = np.zeros(len(names), dtype=np.intp)
    start[starts] = starts
    first_level = level[np.maximum.accumulate(start)] if len(start) else start
    return below, first_level


def _trimmed(
    names: list[str], visible: Mask, end: Rows, patterns: tuple[str, ...], inclusive: bool
) -> Mask:
    """Find the rows that are cut off by a trimmed one above them, which must be visible itself."""
    if not patterns:
        return np.zeros(len(names), dtype=bool)
    if matches([ROOT], patterns)[0]:
        return np.ones(len(names), dtype=bool)
    trimmed = np.flatnonzero(visible & matches(names, patterns))
    covered: Mask = _covered(trimmed, end, strictly=not inclusive) > 0
    return covered


def _covered(rows: Rows, end: Rows, strictly: bool) -> Rows:
    """Count how many of these rows each row is below; not strictly, a row is below itself."""
    change = np.zeros(len(end) + 1, dtype=np.intp)
    np.add.at(change, rows + strictly, 1)
    np.subtract.at(change, end[rows], 1)
    return np.cumsum(change)[:-1]


def ends(level: Rows) -> Rows:
    """Give for each row the one behind its subtree."""
    highest = int(level.max(initial=0))
    if highest < MANY_LEVELS:
        end = np.full(len(level), len(level), dtype=np.intp)
        for here in range(highest + 1):
            rows = np.flatnonzero(level <= here)
            own = np.flatnonzero(level[rows] == here)
            own = own[own + 1 < len(rows)]
            end[rows[own]] = rows[own + 1]
        return end
    return _ends_one_by_one(level)


def _ends_one_by_one(level: Rows) -> Rows:
    end = [0] * len(level)
    open_rows: list[int] = []
    levels = level.tolist()
    for row, here in enumerate(levels):
        while len(open_rows) > here:
            end[open_rows.pop()] = row
        open_rows.append(row)
    for row in open_rows:
        end[row] = len(levels)
    return np.array(end, dtype=np.intp)


def _totals(own: "Metrics", end: Rows) -> "tuple[Metrics, dict[str, float]]":
    """Add up the metrics of subtrees, and of all rows; what is not known is left out.

    A sum is unknown where a part is and no part is told: a row without runs tells nothing of them.
    """
    told = {name: known(own, name) for name in own}
    totals = {name: _subtotals(values, end, told[name]) for name, values in own.items()}
    return totals, {name: _sum(values, told[name]) for name, values in own.items()}


def _subtotals(
    own: npt.NDArray[np.float64], end: Rows, told: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float64]:
    unknown = np.isnan(own)
    total = _ranges(np.where(unknown, 0.0, own), end)
    if not unknown.any():
        return total
    missing = _ranges(unknown.astype(np.float64), end) > 0
    return np.where(missing & (_ranges(told.astype(np.float64), end) == 0), np.nan, total)


def _sum(own: npt.NDArray[np.float64], told: npt.NDArray[np.bool_]) -> float:
    unknown = np.isnan(own).any() and not told.any()
    return float("nan") if unknown else float(np.nansum(own))


def _ranges(values: npt.NDArray[np.float64], end: Rows) -> npt.NDArray[np.float64]:
    before = np.append(0.0, np.cumsum(values))
    total: npt.NDArray[np.float64] = np.round(before[end] - before[:-1], 6)
    alone = end == np.arange(1, len(end) + 1)
    return np.where(alone, values, total)  # to the last digit, or it may print differently


def nearest_shown(rows: Rows, end: Rows) -> tuple[Rows, Rows]:
    """Hand the children of hidden rows to the nearest shown one above; count those above."""
    above: list[int] = []
    depth: list[int] = []
    open_rows: list[tuple[int, int]] = []
    for place, (row, ended) in enumerate(zip(rows.tolist(), end[rows].tolist(), strict=True)):
        while open_rows and open_rows[-1][1] <= row:
            open_rows.pop()
        above.append(open_rows[-1][0] if open_rows else NONE)
        depth.append(len(open_rows))
        open_rows.append((place, ended))
    return np.array(above, dtype=np.intp), np.array(depth, dtype=np.intp)


def _sort_key(
    rules: Rules,
    own: "Metrics",
    totals: "Metrics",
    rows: Rows,
    names: list[str],
    order_by: str,
) -> npt.NDArray[Any]:
    if order_by == "occurrence" and not rules.counts_runs:
        return -own["defined_count"][rows]
    if order_by in totals:
        return np.where(np.isnan(totals[order_by]), np.inf, -totals[order_by])
    # By name; also where tfprof cannot order by occurrence.
    shown = np.array([names[row] for row in rows.tolist()], dtype=object)
    return np.unique(shown, return_inverse=True)[1]


def _display_order(above: Rows, key: npt.NDArray[Any]) -> Rows:
    """Walk the shown rows depth-first, siblings by key, then in visiting order."""
    by_key = np.argsort(key, kind="stable")
    rank = np.empty(len(by_key), dtype=np.intp)
    rank[by_key] = np.arange(len(by_key))
    sorted_above = np.append(rank, NONE)[above[by_key]]
    order, _ = visiting_order(sorted_above.tolist())
    return by_key[np.array(order, dtype=np.intp)]

"""The only tree arithmetic: subtree totals, which rows show, in which order, as a frame.

Trees arrive as arrays: node i's parent is `parent[i]`, -1 at the top level; a parent stands before
its children, and the array order is the order in which tfprof would visit the nodes. The root
`_TFProfRoot` is not in the arrays; it becomes row 0 of the frame.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from nbprof.columns import selected
from nbprof.views.measure import whole
from nbprof.views.notes import notes_for
from nbprof.views.view import View

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.columns import Column
    from nbprof.options import ViewOptions
    from nbprof.views.labels import Labels
    from nbprof.views.measure import Metrics

ROOT = "_TFProfRoot"
NONE = -1


@dataclass(frozen=True)
class Tree:
    """Named nodes with their own metrics, in visiting order."""

    names: Sequence[str]
    parent: npt.NDArray[np.intp]
    metrics: "Metrics"
    labels: "Labels"
    texts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Further columns of the frame: a text for each node."""


def view(name: str, tree: Tree, profile: "Profile", options: "ViewOptions") -> View:
    """Make the View of a tree."""
    columns = selected(options.select, name)
    notes = notes_for(profile, columns)
    return View(name, frame(tree, options, columns), columns, options, profile.headline, notes)


def frame(tree: Tree, options: "ViewOptions", columns: "tuple[Column, ...]") -> pd.DataFrame:
    """Lay the shown rows out in display order, the root first."""
    level = _levels(tree.parent)
    totals = {name: _totals(tree.parent, level, own) for name, own in tree.metrics.items()}
    shown = _shown(tree.metrics, totals, level, options)
    parent = _nearest_shown(tree.parent, shown)
    rows, depth = _display_order(parent, shown, _sort_key(totals, options.order_by))

    place = np.full(len(tree.names) + 1, -1)
    place[rows] = np.arange(1, len(rows) + 1)
    place[-1] = 0  # index -1: the root
    data: dict[str, Any] = {
        "name": [ROOT, *(tree.names[row] for row in rows)],
        "parent": np.concatenate(([-1], place[parent[rows]])),
        "depth": np.concatenate(([0], depth)),
    }
    for name, texts in tree.texts.items():
        data[name] = ["", *(texts[row] for row in rows)]
    for column in columns:
        if not column.metrics:
            label = tree.labels.of(column.name)
            data[column.name] = [label(NONE), *map(label, rows.tolist())]
        if column.name == "params":
            shape = tree.labels.of("shape")
            data["shape"] = ["", *map(shape, rows.tolist())]
        for metric in column.metrics:
            # The root has nothing of its own: tfprof prints `--` for it.
            data[metric] = np.concatenate(([np.nan], tree.metrics[metric][rows]))
            top = _sum_known(totals[metric][level == 0])
            data[f"total_{metric}"] = np.concatenate(([top], totals[metric][rows]))
            if metric.endswith("_count"):
                data[f"total_{metric}"] = whole(data[f"total_{metric}"])
    return pd.DataFrame(data)


def _sum_known(values: npt.NDArray[np.float64]) -> float:
    return float("nan") if len(values) and np.isnan(values).all() else float(np.nansum(values))


def _levels(parent: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    level = np.zeros(len(parent), dtype=np.intp)
    for node, above in enumerate(parent):
        if above >= 0:
            level[node] = level[above] + 1
    return level


def _totals(
    parent: npt.NDArray[np.intp], level: npt.NDArray[np.intp], own: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    if np.isnan(own).all():
        return own
    total = np.nan_to_num(own)
    for depth in range(int(level.max(initial=0)), 0, -1):
        nodes = np.flatnonzero(level == depth)
        np.add.at(total, parent[nodes], total[nodes])
    return np.where(np.isnan(own) & (total == 0), np.nan, total)


def _shown(
    own: "Metrics", totals: "Metrics", level: npt.NDArray[np.intp], options: "ViewOptions"
) -> npt.NDArray[np.bool_]:
    """Apply max_depth (the root is depth 1) and the minimums as tfprof's tree views do."""
    shown = level + 2 <= options.max_depth
    for name, least in options.minimum.items():
        shown &= (own["run_count"] if name == "occurrence" else totals[name]) >= least
    return shown


def _nearest_shown(
    parent: npt.NDArray[np.intp], shown: npt.NDArray[np.bool_]
) -> npt.NDArray[np.intp]:
    """Hand the children of hidden nodes to the nearest shown ancestor."""
    adopted = parent.copy()
    for node, above in enumerate(parent):
        if above >= 0 and not shown[above]:
            adopted[node] = adopted[above]
    return adopted


def _sort_key(totals: "Metrics", order_by: str) -> npt.NDArray[np.float64]:
    # tfprof's tree views cannot order by occurrence and fall back to the name.
    if order_by in totals:
        return -totals[order_by]
    return np.zeros(len(totals["micros"]))


def _display_order(
    parent: npt.NDArray[np.intp],
    shown: npt.NDArray[np.bool_],
    key: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Walk the shown nodes depth-first, siblings by key; give their numbers and depths."""
    children: dict[int, list[int]] = {}
    for node in np.flatnonzero(shown).tolist():
        children.setdefault(int(parent[node]), []).append(node)
    for siblings in children.values():
        siblings.sort(key=key.__getitem__)

    rows: list[int] = []
    depths: list[int] = []
    waiting = [(node, 1) for node in reversed(children.get(-1, ()))]
    while waiting:
        node, depth = waiting.pop()
        rows.append(node)
        depths.append(depth)
        waiting.extend((child, depth + 1) for child in reversed(children.get(node, ())))
    return np.array(rows, dtype=np.intp), np.array(depths, dtype=np.intp)

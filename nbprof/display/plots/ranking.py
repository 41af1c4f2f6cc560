"""Which rows of a view become bars, how long they are, and what is left over."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbprof.display.plots import because, words_about
from nbprof.errors import NbprofError

if TYPE_CHECKING:
    import numpy.typing as npt

    from nbprof.columns import Column
    from nbprof.views.view import View

TOTAL = "total_"
"""How a tree's columns of totals begin."""


class Ranking(NamedTuple):
    """The rows to draw, from the top down."""

    column: "Column"
    title: str
    names: list[str]
    depths: list[int]
    """How far to indent each name; 0 in a list."""
    values: "npt.NDArray[np.float64]"
    own: "npt.NDArray[np.float64] | None"
    """The row's own part of each total, in a tree."""
    rest_rows: int
    """How many rows are not drawn."""
    rest: float
    """The sum of their own numbers, so that nothing counts twice."""
    unknown_rows: int
    """How many rows have no known number."""


def rank(view: "View", column: str | None, top: int) -> Ranking:
    """Choose the rows with the highest numbers; raise NbprofError if there is nothing to draw."""
    if top < 1:
        raise NbprofError(f"plot(top=…) takes a number of rows, at least 1, not {top!r}.")
    described, name = _choose(view, column)
    frame = view.frame[view.frame["parent"] >= 0] if view.is_tree else view.frame
    if not len(frame):
        raise NbprofError(because("this view has no rows to plot", view.notes))
    values = frame[name].to_numpy(float)
    known = ~np.isnan(values)
    if not known.any():
        what = f"{name} was not recorded, so there is no plot"
        raise NbprofError(because(what, view.notes, words_about(described)))
    order = np.argsort(np.where(known, -values, np.inf), kind="stable")
    worth_it = int(max((values[known] > 0).sum(), min(1, known.sum())))
    chosen = order[: min(top, worth_it)]
    if view.is_tree and name.startswith(TOTAL):
        chosen = np.sort(chosen)  # in the tree's order, where a row follows its parent
        own = frame[name.removeprefix(TOTAL)].to_numpy(float)
    else:
        own = values
    left = np.setdiff1d(np.flatnonzero(known), chosen)
    names, depths = _names(view, frame.index[chosen].tolist(), indented=own is not values)
    return Ranking(
        *(described, _title(described, name), names, depths, values[chosen]),
        np.nan_to_num(own[chosen]) if own is not values else None,
        *(len(left), float(np.nansum(own[left])), int((~known).sum())),
    )


def _choose(view: "View", name: str | None) -> "tuple[Column, str]":
    """Return the column and the frame's column that a name stands for."""
    metrics = {metric: column for column in view.columns for metric in column.metrics}
    if not metrics:
        raise NbprofError("this view has no numbers to plot; select some, such as select='micros'.")
    columns = dict(metrics)
    if view.is_tree:
        columns |= {f"{TOTAL}{metric}": column for metric, column in metrics.items()}
    first = {column.name: column.metrics[0] for column in view.columns if column.metrics}
    if name is None:
        metric = first.get(view.options.order_by) or next(iter(metrics))
        name = f"{TOTAL}{metric}" if view.is_tree else metric
    name = first.get(name, name)
    if name not in columns:
        raise NbprofError(
            f"this view has no numbers {name!r} to plot; it has {', '.join(columns)}. Select "
            "others with select=…"
        )
    return columns[name], name


def _title(column: "Column", name: str) -> str:
    """Return the title of an axis: the legend's, unless that names two numbers."""
    if not column.has_shares:
        return name.removeprefix(TOTAL).replace("_", " ")
    return column.title.removeprefix("# ")


def _names(view: "View", rows: list[int], indented: bool) -> tuple[list[str], list[int]]:
    """Return names and depths; a row below its parent shows only the end of its name."""
    names = dict(zip(rows, view.frame["name"].loc[rows].tolist(), strict=True))
    if not indented:
        return list(names.values()), [0] * len(names)
    parents = view.frame["parent"].loc[rows].tolist()
    shown: list[str] = []
    depths: dict[int, int] = {}
    for row, parent in zip(names, parents, strict=True):
        prefix = f"{names[parent]}/" if parent in names else ""
        depths[row] = depths.get(parent, -1) + 1
        shown.append(names[row].removeprefix(prefix) or names[row])
    return shown, list(depths.values())

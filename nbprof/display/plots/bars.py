"""Bars for the rows of a view with the highest numbers in a column."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbprof.display.plots import because, layout, words_about
from nbprof.display.plots.colours import theme_of
from nbprof.display.plots.scales import label_with, plain_frame, scale_axis
from nbprof.errors import NbprofError
from nbprof.units import format_short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from nbprof.arrays import Floats
    from nbprof.columns import Column
    from nbprof.display.plots.colours import Theme
    from nbprof.views.view import View

ROW_INCHES = 0.22
"""Height of a row in inches, in a figure made here."""
BAR = 0.72
"""Height of a bar as a share of its row."""
SMALLEST_FONT = 6.0
"""Smallest font size in points; draw fewer rows rather than smaller text."""
LINE = 1.2
"""Height of a row as a multiple of the font size."""
INDENT = 9.0
"""Indentation per level of a tree, in points."""
GAP = 3.0
"""Space between a bar and its number, in points."""


def plot(view: "View", column: str | None, top: int, ax: "Axes | None") -> "Axes":
    """Draw the rows as horizontal bars, the first on top."""
    ranking = rank(view, column, top)
    is_own = ax is None
    ax = layout.axes(ax, 0.75 + ROW_INCHES * _lines(ranking))
    theme = theme_of(ax)
    plain_frame(ax, theme)
    largest = max(float(ranking.values.max()), ranking.rest)
    unit = scale_axis(ax.xaxis, largest, ranking.column.unit, layout.size(ax)[0])
    ax.set_xlabel(label_with(ranking.title, unit))
    width = layout.label_width(ax)
    for _ in range(1 if is_own else 2):  # labels change the height of a given Axes
        points = layout.size(ax)[1]
        if not is_own:
            below = _lines(ranking) - len(ranking.names)
            fitting = max(1, int(points / (LINE * SMALLEST_FONT)) - below)
            ranking = rank(view, column, min(top, fitting))
        font = min(layout.font_size(ax), points / _lines(ranking) / LINE)
        _name_rows(ax, ranking, font, width)
        layout.settle(ax)
    _draw_bars(ax, ranking, theme)
    _write_numbers(ax, ranking, 0.9 * font, theme)
    return ax


def _lines(ranking: "Ranking") -> int:
    """Count the lines of the plot: rows, the rest, unknown rows and the legend."""
    left = (ranking.rest_rows > 0) + (ranking.unknown_rows > 0)
    return len(ranking.names) + left + (ranking.own is not None)


def _draw_bars(ax: "Axes", ranking: "Ranking", theme: "Theme") -> None:
    rows = np.arange(len(ranking.names))
    if ranking.own is None:
        ax.barh(rows, ranking.values, BAR, color=theme.main)
    else:
        faded = theme.faded(theme.main, 0.4)
        ax.barh(rows, ranking.values, BAR, color=faded, label="total")
        ax.barh(rows, ranking.own, BAR, color=theme.main, label="self")
        ax.legend(
            *(ax.get_legend_handles_labels()),
            loc="lower right",
            ncols=2,
            frameon=False,
            fontsize="small",
            labelcolor=theme.ink,
            borderaxespad=0,
            borderpad=0.2,
        )
    if ranking.rest_rows:
        ax.barh(len(rows), ranking.rest, BAR, color=theme.grey(0.5))
    ax.set_ylim(_lines(ranking) - 0.5, -0.6)


def _name_rows(ax: "Axes", ranking: "Ranking", font: float, width: float) -> None:
    measure = layout.ruler(ax, size=font)
    indent = min(INDENT, 0.4 * width / max(1, *ranking.depths, 1))
    space = max(measure("x x") - measure("xx"), 1.0)
    cut = [
        layout.shorten(layout.clean(name), width - indent * depth, measure)
        for name, depth in zip(ranking.names, ranking.depths, strict=True)
    ]
    spaces = [round(indent * depth / space) for depth in ranking.depths]
    widest = max(measure(name) + count * space for name, count in zip(cut, spaces, strict=True))
    names = [" " * count + name for name, count in zip(cut, spaces, strict=True)]
    for count in filter(None, (ranking.rest_rows, ranking.unknown_rows)):
        names.append(f"{count:,} more row{'s' if count > 1 else ''}")
        widest = max(widest, measure(names[-1]))
    ax.set_yticks(np.arange(len(names)), names, size=font, **layout.PLAIN)
    ax.tick_params(axis="y", length=0)
    if ranking.own is not None:
        ax.tick_params(axis="y", pad=widest + GAP)
        for label in ax.get_yticklabels():
            label.set_horizontalalignment("left")


def _write_numbers(ax: "Axes", ranking: "Ranking", font: float, theme: "Theme") -> None:
    """Write each number after its bar and make the axis long enough for it."""
    values = [*ranking.values.tolist(), *([ranking.rest] if ranking.rest_rows else [])]
    values += [float("nan")] if ranking.unknown_rows else []
    texts = [format_short(value, ranking.column.unit) for value in values]
    measure = layout.ruler(ax, size=font)
    width = layout.size(ax)[0]
    most = max(
        value * width / max(width - measure(text) - 2 * GAP, 0.2 * width)
        for value, text in zip(np.nan_to_num(values), texts, strict=True)
    )
    ax.set_xlim(0, most or 1.0)
    for row, (value, text) in enumerate(zip(np.nan_to_num(values), texts, strict=True)):
        ax.annotate(
            *(text, (value, row)),
            xytext=(GAP, 0),
            textcoords="offset points",
            va="center_baseline",
            size=font,
            color=theme.ink,
        )


TOTAL = "total_"
"""Prefix of a tree's columns of totals."""


class Ranking(NamedTuple):
    """The rows to draw, from the top down."""

    column: "Column"
    title: str
    names: list[str]
    depths: list[int]
    """Levels by which to indent each name; 0 in a list."""
    values: "Floats"
    own: "Floats | None"
    """The row's own part of each total, in a tree."""
    rest_rows: int
    """Number of rows with a known number that are not drawn."""
    rest: float
    """Sum of the own numbers of those rows, so that nothing counts twice."""
    unknown_rows: int
    """Number of rows whose number is unknown."""


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
    """Return the column that a name stands for, and the name of its column in the frame."""
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
    """Return the title of an axis: the column's, unless that stands for two numbers."""
    if not column.has_shares:
        return name.removeprefix(TOTAL).replace("_", " ")
    return column.title.removeprefix("# ")


def _names(view: "View", rows: list[int], indented: bool) -> tuple[list[str], list[int]]:
    """Return names and depths; a row below its parent drops the parent's name from its own."""
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

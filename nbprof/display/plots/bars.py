"""Bars: the rows of a view that have the most of a column."""

from typing import TYPE_CHECKING

import numpy as np

from nbprof.display.plots import layout
from nbprof.display.plots.colours import theme_of
from nbprof.display.plots.ranking import rank
from nbprof.display.plots.scales import label_with, plain_frame, scale_axis
from nbprof.units import format_short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from nbprof.display.plots.colours import Theme
    from nbprof.display.plots.ranking import Ranking
    from nbprof.views.view import View

ROW_INCHES = 0.22
BAR = 0.72
"""The share of a row's height that its bar has."""
LETTER = 6.0
"""The size of the smallest letters, in points; where rows are lower still, fewer are drawn."""
LINE = 1.2
"""The height of a row, in sizes of its letters."""
INDENT = 9.0
GAP = 3.0
"""Points between a bar and its number."""


def plot(view: "View", column: str | None, top: int, ax: "Axes | None") -> "Axes":
    """Draw the rows as horizontal bars, the first on top."""
    ranking = rank(view, column, top)
    is_own = ax is None
    ax = layout.axes(ax, 0.75 + ROW_INCHES * _lines(ranking))
    theme = theme_of(ax)
    plain_frame(ax, theme)
    largest = max(float(ranking.values.max()), ranking.rest)
    unit = scale_axis(ax.xaxis, largest, ranking.column.format, layout.size(ax)[0])
    ax.set_xlabel(label_with(ranking.title, unit))
    width = layout.label_width(ax)
    for _ in range(1 if is_own else 2):  # the Axes has another height once its labels are there
        points = layout.size(ax)[1]
        if not is_own:
            below = _lines(ranking) - len(ranking.names)
            fitting = max(1, int(points / (LINE * LETTER)) - below)
            ranking = rank(view, column, min(top, fitting))
        letters = min(layout.letters(ax), points / _lines(ranking) / LINE)
        _name_rows(ax, ranking, letters, width)
        layout.settle(ax)
    _draw_bars(ax, ranking, theme)
    _write_numbers(ax, ranking, 0.9 * letters, theme)
    return ax


def _lines(ranking: "Ranking") -> int:
    """Count the rows, with those below the bars: what is left, and the legend."""
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


def _name_rows(ax: "Axes", ranking: "Ranking", letters: float, width: float) -> None:
    measure = layout.ruler(ax, size=letters)
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
    ax.set_yticks(np.arange(len(names)), names, size=letters, **layout.PLAIN)
    ax.tick_params(axis="y", length=0)
    if ranking.own is not None:
        ax.tick_params(axis="y", pad=widest + GAP)
        for label in ax.get_yticklabels():
            label.set_horizontalalignment("left")


def _write_numbers(ax: "Axes", ranking: "Ranking", letters: float, theme: "Theme") -> None:
    """Write each number behind its bar, and make the axis long enough for that."""
    values = [*ranking.values.tolist(), *([ranking.rest] if ranking.rest_rows else [])]
    values += [float("nan")] if ranking.unknown_rows else []
    texts = [format_short(value, ranking.column.format) for value in values]
    measure = layout.ruler(ax, size=letters)
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
            size=letters,
            color=theme.ink,
        )

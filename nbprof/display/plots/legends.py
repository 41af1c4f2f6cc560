"""Legends at the top of an Axes, where they cover nothing and are never cut off."""

from itertools import pairwise
from typing import TYPE_CHECKING

from nbprof.display.plots import layout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend

    from nbprof.display.plots.colours import Theme

MOST = 0.6
"""The largest share of an Axes that a legend takes."""
SIZE = 0.8
"""Font size, relative to that of the axes' labels."""
HANDLE = 1.2
"""Length of a legend's handle, as a multiple of the font size."""
PAD = 0.5
"""Space between a handle and its text, as a multiple of the font size."""
BETWEEN = 1.2
"""Space between two columns, as a multiple of the font size."""


def above(
    ax: "Axes", entries: "Sequence[Artist]", theme: "Theme", caption: str, over_labels: bool = True
) -> "Legend":
    """Put a legend with a caption at the top, extending over the labels at the left if wanted."""
    size = SIZE * layout.font_size(ax)
    left, width = _place(ax) if over_labels else (0.01, 0.97 * layout.size(ax)[0])
    measure = layout.ruler(ax, size=size)
    for entry in entries:
        label = layout.shorten(str(entry.get_label()), width - (HANDLE + 2 * PAD) * size, measure)
        entry.set_label(label)
    widths = [measure(str(entry.get_label())) / size + HANDLE + PAD for entry in entries]
    legend = ax.legend(
        handles=entries,
        loc="upper left",
        bbox_to_anchor=(left, 1),
        ncols=_columns(widths, width / size),
        frameon=False,
        fontsize=size,
        labelcolor=theme.ink,
        title=caption and " ",
        title_fontsize=size,
        alignment="left",
        borderaxespad=0,
        borderpad=0.2,
        handlelength=HANDLE,
        handletextpad=PAD,
        columnspacing=BETWEEN,
        labelspacing=0.3,
    )
    legend.get_title().set_color(theme.ink)
    for text in legend.get_texts():
        text.set_parse_math(False)
        text.set_usetex(False)
    if caption:
        set_caption(ax, legend, caption)
    return legend


def height(ax: "Axes", legend: "Legend") -> float:
    """Return the height of a legend in points."""
    return float(legend.get_window_extent().height) / layout.point(ax) + SIZE * 5


def make_room(ax: "Axes", legend: "Legend", first: float, last: float) -> None:
    """Let the rows from `first` to `last` fill the height below the legend."""
    taken = min(height(ax, legend) / layout.size(ax)[1], MOST)
    ax.set_ylim(last, last - (last - first) / (1 - taken))


def set_caption(ax: "Axes", legend: "Legend", caption: str) -> None:
    """Write a caption above the entries, in lines no wider than the legend may be."""
    title = legend.get_title()
    measure = layout.ruler(ax, size=title.get_fontsize())
    title.set_text(layout.wrap(caption, _place(ax)[1], measure))


def _place(ax: "Axes") -> tuple[float, float]:
    """Return the left edge of the labels in Axes coordinates, and the points from there on."""
    box = ax.get_window_extent()
    labels = [label.get_window_extent().x0 for label in ax.get_yticklabels()]
    left = min([box.x0, *labels])
    return (left - box.x0) / box.width, 0.98 * (box.x1 - left) / layout.point(ax)


def _columns(widths: list[float], width: float) -> int:
    """Return the most columns that fit, each as wide as its widest entry."""
    for count in range(len(widths), 1, -1):
        long, longer = divmod(len(widths), count)
        ends = [column * long + min(column, longer) for column in range(count + 1)]
        columns = [max(widths[a:b]) for a, b in pairwise(ends)]
        if sum(columns) + BETWEEN * (count - 1) + 0.5 <= width:
            return count
    return 1

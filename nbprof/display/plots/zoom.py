"""Draw at the figure's resolution, and redraw whenever the range shown changes."""

from typing import TYPE_CHECKING

from nbprof.display.lane_load import Range
from nbprof.display.plots import layout

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

PER_POINT = 2
"""Columns per point; half a point is fine enough for print."""


def follow(ax: "Axes", draw: "Callable[[Axes, Range], list[Artist]]") -> None:
    """Draw the range shown, and redraw whenever it changes."""
    drawn: list[Artist] = []

    def redraw(ax: "Axes") -> None:
        while drawn:
            drawn.pop().remove()
        start, end = sorted(ax.get_xlim())
        width, _ = layout.size(ax)
        drawn.extend(draw(ax, Range(start, end, max(1, round(width * PER_POINT)))))

    redraw(ax)
    ax.callbacks.connect("xlim_changed", redraw)

"""Draw at the figure's resolution, and redraw whenever the range shown changes."""

from typing import TYPE_CHECKING, NamedTuple

from nbprof.display.plots import layout

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

PER_POINT = 2
"""Columns per point; half a point is fine enough for print."""


class Range(NamedTuple):
    """The part of a time axis that is shown, in µs, and its width in columns."""

    start: float
    end: float
    columns: int

    @property
    def column(self) -> float:
        """The width of one column in µs."""
        return (self.end - self.start) / self.columns


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

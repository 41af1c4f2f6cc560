"""Drawing at the figure's resolution, and again whenever another range is shown."""

from typing import TYPE_CHECKING, NamedTuple

from nbprof.display.plots import layout

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

PER_POINT = 2
"""Columns per point; half a point is as fine as print."""


class Range(NamedTuple):
    """The part of a time axis that is shown, in µs, and its width in columns."""

    start: float
    end: float
    columns: int

    @property
    def column(self) -> float:
        """The µs of one column."""
        return (self.end - self.start) / self.columns


def follow(ax: "Axes", draw: "Callable[[Axes, Range], list[Artist]]") -> None:
    """Draw the current range, and again whenever the Axes gets another one."""
    drawn: list[Artist] = []

    def redraw(ax: "Axes") -> None:
        while drawn:
            drawn.pop().remove()
        start, end = sorted(ax.get_xlim())
        width, _ = layout.size(ax)
        drawn.extend(draw(ax, Range(start, end, max(1, round(width * PER_POINT)))))

    redraw(ax)
    ax.callbacks.connect("xlim_changed", redraw)

"""Axes of raw numbers whose tick labels are in one suitable unit."""

from typing import TYPE_CHECKING

from matplotlib.ticker import Formatter, MaxNLocator

from nbprof.display.plots import layout
from nbprof.units import MICROS, Unit, scale_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

    from nbprof.display.plots.colours import Theme

TICK_WIDTH = 42.0
"""Width that a tick and its label take along a horizontal axis, in points."""
STEPS = [1, 2, 2.5, 5, 10]
"""Distances between ticks, times a power of ten."""


class Scaled(Formatter):
    """Writes raw numbers in a larger unit; unlike a lambda, it lets a figure be pickled."""

    def __init__(self, divisor: float) -> None:
        self._divisor = divisor

    def __call__(self, x: float, pos: int | None = None) -> str:  # noqa: ARG002 (matplotlib's)
        """Write the number of a tick."""
        return f"{x / self._divisor:.10g}"


def scale_axis(axis: "Axis", largest: float, unit: Unit, points: float) -> str:
    """Label the ticks in the unit that suits the largest number; return its symbol."""
    divisor, symbol = scale_for(largest, unit)
    axis.set_major_locator(MaxNLocator(max(2, min(6, int(points / TICK_WIDTH))), steps=STEPS))
    axis.set_major_formatter(Scaled(divisor))
    return symbol


def label_with(title: str, unit: str) -> str:
    """Name an axis and its unit."""
    return f"{title} ({unit})" if unit else title


def plain_frame(ax: "Axes", theme: "Theme") -> None:
    """Draw only the left and bottom edges, with ticks in the Axes' own colour.

    matplotlib makes ticks late, in whatever style is active then.
    """
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(color=theme.ink, labelcolor=theme.ink)
    ax.grid(visible=False)


def label_time(ax: "Axes") -> None:
    """Label a time axis for the range shown; a label set by the user stays."""
    start, end = sorted(ax.get_xlim())
    unit = scale_axis(ax.xaxis, max(abs(start), abs(end)), MICROS, layout.size(ax)[0])
    if ax.get_xlabel() in ("", *(label_with("time", other) for _, other in MICROS.scales)):
        ax.set_xlabel(label_with("time", unit))

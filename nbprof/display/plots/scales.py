"""Scales: axes of raw numbers whose labels read in one unit that suits them."""

from typing import TYPE_CHECKING

from matplotlib.ticker import Formatter, MaxNLocator

from nbprof.display.plots import layout
from nbprof.units import SCALES, format_micros, scale_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

    from nbprof.display.plots.colours import Theme

TICK_WIDTH = 42.0
"""The points that a tick and its label take, along a horizontal axis."""
STEPS = [1, 2, 2.5, 5, 10]


class Scaled(Formatter):
    """Writes raw numbers in a larger unit; unlike a lambda, it lets a figure be pickled."""

    def __init__(self, divisor: float) -> None:
        self._divisor = divisor

    def __call__(self, x: float, pos: int | None = None) -> str:  # noqa: ARG002 (matplotlib's)
        """Write the number of a tick."""
        return f"{x / self._divisor:.10g}"


def scale_axis(
    axis: "Axis", largest: float, written_by: "Callable[[float], str]", points: float
) -> str:
    """Label the ticks in the unit that suits the largest number, and give that unit."""
    divisor, unit = scale_for(largest, written_by)
    axis.set_major_locator(MaxNLocator(max(2, min(6, int(points / TICK_WIDTH))), steps=STEPS))
    axis.set_major_formatter(Scaled(divisor))
    return unit


def label_with(title: str, unit: str) -> str:
    """Name an axis and its unit."""
    return f"{title} ({unit})" if unit else title


def plain_frame(ax: "Axes", theme: "Theme") -> None:
    """Draw no more of the frame than the axes, in the Axes' own ink.

    Ticks are made late, in whatever style is in force then.
    """
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(color=theme.ink, labelcolor=theme.ink)
    ax.grid(visible=False)


def label_time(ax: "Axes") -> None:
    """Label a time axis for the range that is shown; a label of the user's stays."""
    start, end = sorted(ax.get_xlim())
    unit = scale_axis(ax.xaxis, max(abs(start), abs(end)), format_micros, layout.size(ax)[0])
    if ax.get_xlabel() in ("", *(label_with("time", other) for _, other in SCALES[format_micros])):
        ax.set_xlabel(label_with("time", unit))

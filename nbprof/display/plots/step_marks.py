"""Steps marked on a time axis: a strip of bars, numbered where there is room."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.collections import LineCollection, PolyCollection

from nbprof.display import lane_load
from nbprof.display.plots import layout

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from nbprof._profile import Profile
    from nbprof.arrays import Floats
    from nbprof.display.lane_load import Range
    from nbprof.display.plots.colours import Theme

COLUMNS_OF_A_STEP = 4
"""Least width of a step in columns; narrower steps are merged into one strip."""
POINTS_OF_A_LINE = 12.0
"""Least distance in points between starts of steps that are marked by lines through all lanes."""
FONT_SIZE = 6.5
"""Font size of a step's number in points."""


class Strip(NamedTuple):
    """The place of the strip, in y coordinates of `transform`."""

    top: float
    bottom: float
    foot: float
    """Where the lines that mark starts end."""
    transform: Any
    """Has data coordinates on the x axis."""
    numbered: bool = True


class Steps(NamedTuple):
    """The steps in the range shown; times are in µs."""

    start: "Floats"
    end: "Floats"
    number: "npt.NDArray[np.int_]"


def times(profile: "Profile", zero: float) -> "tuple[Floats, Floats]":
    """Return the starts and ends of the steps in µs."""
    start = profile.steps["start_micros"].to_numpy(float) - zero
    return start, start + profile.steps["micros"].to_numpy(float)


def draw(
    ax: "Axes", profile: "Profile", zero: float, shown: "Range", strip: Strip, theme: "Theme"
) -> "list[Artist]":
    """Draw the steps of the range shown."""
    steps = _steps_in(profile, zero, shown)
    if not len(steps.start):
        return []
    if float(np.median(steps.end - steps.start)) / shown.column < COLUMNS_OF_A_STEP:
        return [_merged(ax, steps, shown, strip, theme)]
    greys = [theme.grey(0.55), theme.grey(0.3)]
    boxes = [_box(*ends, strip) for ends in zip(steps.start, steps.end, strict=True)]
    colours = [greys[step % 2] for step in steps.number.tolist()]
    drawn: list[Artist] = [_polygons(ax, boxes, colours, strip)]
    points = layout.size(ax)[0] / (shown.end - shown.start)
    gaps = np.diff(steps.start)
    if not len(gaps) or float(np.median(gaps)) * points >= POINTS_OF_A_LINE:
        drawn.append(_lines(ax, steps.start, strip, theme))
    if strip.numbered:
        drawn += _numbers(ax, steps, shown, strip, theme)
    return drawn


def _steps_in(profile: "Profile", zero: float, shown: "Range") -> Steps:
    start, end = times(profile, zero)
    seen = np.flatnonzero((end >= shown.start) & (start <= shown.end))
    return Steps(start[seen], end[seen], profile.steps["step"].to_numpy(int)[seen])


def _box(start: float, end: float, strip: Strip) -> list[tuple[float, float]]:
    return [
        *((start, strip.bottom), (start, strip.top)),
        *((end, strip.top), (end, strip.bottom)),
    ]


def _polygons(ax: "Axes", boxes: Any, colours: Any, strip: Strip) -> PolyCollection:
    bars = PolyCollection(
        boxes, facecolors=colours, linewidths=0, transform=strip.transform, label="_steps"
    )
    ax.add_collection(bars, autolim=False)
    return bars


def _merged(
    ax: "Axes", steps: Steps, shown: "Range", strip: Strip, theme: "Theme"
) -> PolyCollection:
    """Draw steps too narrow to tell apart as one strip, as high as the share of time they fill."""
    first = np.zeros(len(steps.start), dtype=np.intp)
    runs = lane_load.Runs(first, first, steps.start, steps.end, np.ones(len(first)))
    filled = lane_load.fill(runs, 1, 1, shown)
    outlines = lane_load.outlines(filled[0], shown, strip.bottom, strip.top - strip.bottom)
    return _polygons(ax, outlines[0], theme.grey(0.45), strip)


def _lines(ax: "Axes", start: "Floats", strip: Strip, theme: "Theme") -> LineCollection:
    lines = LineCollection(
        [[(moment, strip.bottom), (moment, strip.foot)] for moment in start.tolist()],
        colors=[theme.grey(0.3)],
        linewidths=0.6,
        linestyles="dotted",
        transform=strip.transform,
        zorder=0.5,
        label="_step starts",
    )
    ax.add_collection(lines, autolim=False)
    return lines


def _numbers(
    ax: "Axes", steps: Steps, shown: "Range", strip: Strip, theme: "Theme"
) -> "list[Artist]":
    """Number the steps if there is room for the largest number in most of them."""
    left, right = np.maximum(steps.start, shown.start), np.minimum(steps.end, shown.end)
    number = steps.number
    points = layout.size(ax)[0] / (shown.end - shown.start)
    width = layout.ruler(ax, size=FONT_SIZE)(str(number.max()))
    if float(np.median(right - left)) * points < width + 3:
        return []
    fits = (right - left) * points >= width + 1
    return [
        ax.text(
            *((left[row] + right[row]) / 2, (strip.top + strip.bottom) / 2),
            str(number[row]),
            transform=strip.transform,
            size=FONT_SIZE,
            ha="center",
            va="center",
            color=theme.ground if number[row] % 2 == 0 else theme.ink,
        )
        for row in np.flatnonzero(fits).tolist()
    ]

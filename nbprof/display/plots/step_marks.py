"""Steps marked on a time axis: a strip of bars, numbered where there is room."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.collections import LineCollection, PolyCollection

from nbprof.display.plots import lane_load, layout

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from nbprof._profile import Profile
    from nbprof.display.plots.colours import Theme
    from nbprof.display.plots.zoom import Range

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


def times(
    profile: "Profile", zero: float
) -> "tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]":
    """Return the starts and ends of the steps in µs."""
    start = profile.steps["start_micros"].to_numpy(float) - zero
    return start, start + profile.steps["micros"].to_numpy(float)


def draw(
    ax: "Axes", profile: "Profile", zero: float, shown: "Range", strip: Strip, theme: "Theme"
) -> "list[Artist]":
    """Draw the steps of the range shown."""
    start, end = times(profile, zero)
    seen = np.flatnonzero((end >= shown.start) & (start <= shown.end))
    if not len(seen):
        return []
    wide = float(np.median(end[seen] - start[seen])) / shown.column
    if wide < COLUMNS_OF_A_STEP:
        return [_merged(ax, start[seen], end[seen], shown, strip, theme)]
    greys = [theme.grey(0.55), theme.grey(0.3)]
    number = profile.steps["step"].to_numpy(int)[seen]
    bars = _polygons(
        ax,
        [_box(start[row], end[row], strip) for row in seen],
        [greys[step % 2] for step in number.tolist()],
        strip,
    )
    points = layout.size(ax)[0] / (shown.end - shown.start)
    gaps = np.diff(start[seen])
    drawn: list[Artist] = [bars]
    if not len(gaps) or float(np.median(gaps)) * points >= POINTS_OF_A_LINE:
        drawn.append(_lines(ax, start[seen], strip, theme))
    if strip.numbered:
        drawn += _numbers(ax, start[seen], end[seen], number, shown, strip, theme)
    return drawn


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
    ax: "Axes",
    start: "npt.NDArray[np.float64]",
    end: "npt.NDArray[np.float64]",
    shown: "Range",
    strip: Strip,
    theme: "Theme",
) -> PolyCollection:
    """Draw steps too narrow to tell apart as one strip, as high as the share of time they fill."""
    first = np.zeros(len(start), dtype=np.intp)
    filled = lane_load.fill(
        lane_load.Runs(first, first, start, end, np.ones(len(start))), 1, 1, shown
    )
    outlines = lane_load.outlines(filled[0], shown, strip.bottom, strip.top - strip.bottom)
    return _polygons(ax, outlines[0], theme.grey(0.45), strip)


def _lines(
    ax: "Axes", start: "npt.NDArray[np.float64]", strip: Strip, theme: "Theme"
) -> LineCollection:
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
    ax: "Axes",
    start: "npt.NDArray[np.float64]",
    end: "npt.NDArray[np.float64]",
    number: "npt.NDArray[np.int_]",
    shown: "Range",
    strip: Strip,
    theme: "Theme",
) -> "list[Artist]":
    """Number the steps if there is room for the largest number in most of them."""
    left, right = np.maximum(start, shown.start), np.minimum(end, shown.end)
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

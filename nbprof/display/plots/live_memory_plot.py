"""Memory over time: live bytes per device, with the peak and the steps marked."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.lines import Line2D

from nbprof.display.plots import MEMORY, because, layout, legends, step_marks, zoom
from nbprof.display.plots.colours import PALETTE, theme_of
from nbprof.display.plots.scales import TICK_WIDTH, label_time, label_with, plain_frame, scale_axis
from nbprof.errors import NbprofError
from nbprof.units import BYTES, MICROS, format_short

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from nbprof._profile import Profile
    from nbprof.arrays import Floats, Rows
    from nbprof.display.lane_load import Range
    from nbprof.display.plots.colours import Theme

INCHES = 2.6
"""Height of a figure made here, in inches."""
MOST_DEVICES = len(PALETTE)
"""The most devices that are drawn."""
DASHES = ("-", "--", "-.", ":")
"""Line styles that tell devices apart in grey."""
TICK_HEIGHT = 22.0
"""Height that a tick takes along the vertical axis, in points."""
THIN = 0.5
"""Width of a line that goes up and down in every column, in points."""
STRIP = 8.0
"""Height of the strip of steps in points."""

TFPROF = (
    "tfprof's inputs have no single allocations, so there is no memory over time to plot. "
    "%%tfprof records it; view.plot('peak_bytes') draws the peak of each row."
)


class Curve(NamedTuple):
    """The live bytes of a device over the whole recording."""

    device: str
    micros: "Floats"
    live: "Floats"

    @property
    def peak(self) -> int:
        """The index of the peak."""
        return int(self.live.argmax())

    @property
    def label(self) -> str:
        """The peak in words."""
        micros, live = self.micros[self.peak], self.live[self.peak]
        return f"peak {format_short(live, BYTES)} at {format_short(micros, MICROS)}"


def plot(profile: "Profile", ax: "Axes | None") -> "Axes":
    """Draw the curves; raise NbprofError if memory was not recorded."""
    curves, last = _curves(profile)
    is_own = ax is None
    ax = layout.axes(ax, INCHES)
    theme = theme_of(ax)
    plain_frame(ax, theme)
    ax.set_xlim(min(0.0, *(curve.micros[0] for curve in curves)), last)
    most = max(float(curve.live.max()) for curve in curves)
    ax.set_ylim(0, most or 1.0)
    label_time(ax)
    height = layout.size(ax)[1]
    unit = scale_axis(ax.yaxis, most, BYTES, height * TICK_WIDTH / TICK_HEIGHT)
    ax.set_ylabel(label_with("live memory", unit))
    layout.settle(ax)
    drawn = curves[:MOST_DEVICES]
    styles = _styles(len(drawn), theme)
    above = _legend(ax, drawn, len(curves), styles, theme) if len(curves) > 1 else 0.0
    if is_own and above:
        layout.heighten(
            ax,
            layout.size(ax)[1] / layout.POINTS_PER_INCH + above / layout.POINTS_PER_INCH,
        )
    for_peak = 0.0 if above else 1.3 * _font_size(ax) + 6
    height = layout.size(ax)[1]
    taken = min((above + STRIP + for_peak + 4) / height, legends.MOST)
    ax.set_ylim(0, (most or 1.0) / (1 - taken))
    layout.settle(ax)  # the tick labels may have changed
    _mark_peaks(ax, drawn, styles, theme, is_labelled=not above)
    top = 1 - above / height
    strip = step_marks.Strip(top, top - STRIP / height, 0, ax.get_xaxis_transform())

    def draw(ax: "Axes", shown: "Range") -> "list[Artist]":
        label_time(ax)
        marked = step_marks.draw(ax, profile, 0.0, shown, strip, theme)
        return [*marked, *_draw_curves(ax, drawn, styles, shown, theme)]

    zoom.follow(ax, draw)
    return ax


def _curves(profile: "Profile") -> tuple[list[Curve], float]:
    """Return the curves, the highest peak first, and the end of the time axis in µs."""
    if profile.recording.tfprof:
        raise NbprofError(TFPROF)
    table = profile.memory()
    if not len(table):
        raise NbprofError(because("no memory over time was recorded", profile.notes, MEMORY))
    _, ends = step_marks.times(profile, 0.0)
    last = max(
        profile.recording.wall_ns / 1e3, float(ends.max(initial=0)), float(table["micros"].max())
    )
    curves = []
    for device, rows in table.groupby("device"):
        micros, live = (rows[name].to_numpy(float) for name in ("micros", "live_bytes"))
        curves.append(Curve(str(device), np.append(micros, last), np.append(live, live[-1])))
    return sorted(curves, key=lambda curve: -curve.live.max()), last


def _styles(count: int, theme: "Theme") -> list[dict[str, Any]]:
    colours = [theme.main] if count == 1 else PALETTE
    return [
        {"color": colours[number], "linestyle": DASHES[number % len(DASHES)], "linewidth": 1.2}
        for number in range(count)
    ]


def _font_size(ax: "Axes") -> float:
    return legends.SIZE * layout.font_size(ax)


def _legend(
    ax: "Axes", curves: list[Curve], count: int, styles: list[dict[str, Any]], theme: "Theme"
) -> float:
    """Name the devices and their peaks; return the legend's height in points."""
    lines = [
        Line2D([], [], **style, marker="o", markersize=3, label=f"{curve.device}: {curve.label}")
        for curve, style in zip(curves, styles, strict=True)
    ]
    more = count - len(curves)
    caption = f"the {len(curves)} devices with the highest peaks, {more:,} more left out"
    legend = legends.above(ax, lines, theme, caption if more else "", over_labels=False)
    return legends.height(ax, legend)


def _mark_peaks(
    ax: "Axes", curves: list[Curve], styles: list[dict[str, Any]], theme: "Theme", is_labelled: bool
) -> None:
    for curve, style in zip(curves, styles, strict=True):
        micros, live = curve.micros[curve.peak], curve.live[curve.peak]
        ax.plot(
            *([micros], [live]),
            marker="o",
            markersize=4,
            color=style["color"],
            markeredgecolor=theme.ground,
            markeredgewidth=0.5,
            zorder=4,
            label=f"_peak of {curve.device}",
        )
        if is_labelled:
            _label_peak(ax, curve, theme)


def _label_peak(ax: "Axes", curve: Curve, theme: "Theme") -> None:
    """Write the peak above its point, moved as needed to stay inside the Axes."""
    micros, live = curve.micros[curve.peak], curve.live[curve.peak]
    size, (width, _) = _font_size(ax), layout.size(ax)
    start, end = ax.get_xlim()
    half = layout.ruler(ax, size=size)(curve.label) / 2
    point = width * (micros - start) / (end - start)
    moved = float(np.clip(point, half, max(width - half, half))) - point
    ax.annotate(
        *(curve.label, (micros, live)),
        xytext=(moved, 5),
        textcoords="offset points",
        ha="center",
        size=size,
        color=theme.ink,
    )


def _draw_curves(
    ax: "Axes",
    curves: list[Curve],
    styles: list[dict[str, Any]],
    shown: "Range",
    theme: "Theme",
) -> "list[Artist]":
    drawn: list[Artist] = []
    for curve, style in zip(curves, styles, strict=True):
        rows = _rows_shown(curve, shown)
        micros, live = curve.micros[rows], curve.live[rows]
        if len(rows) > shown.columns:
            style = {**style, "linewidth": THIN}
        drawn += ax.plot(micros, live, **style, drawstyle="steps-post", label=f"_{curve.device}")
        if len(curves) == 1:
            tint = theme.faded(style["color"], 0.25)
            drawn.append(ax.fill_between(micros, live, step="post", color=tint, linewidth=0))
    return drawn


def _rows_shown(curve: Curve, shown: "Range") -> "Rows":
    """Keep the first, last, lowest and highest point of each column."""
    column = np.floor((curve.micros - shown.start) / shown.column)
    column = np.clip(column, -1, shown.columns).astype(np.intp)
    by_size = np.lexsort((curve.live, column))
    ends = np.flatnonzero(np.diff(column, prepend=-2, append=shown.columns + 1))
    begins, lasts = ends[:-1], ends[1:] - 1
    kept = np.concatenate((begins, lasts, by_size[begins], by_size[lasts]))
    return np.unique(kept)

"""The timeline: what each thread and accelerator stream did when, by op type."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.patches import Patch

from nbprof.display import lane_load, lane_names
from nbprof.display.plots import because, layout, legends, span_lanes, step_marks, zoom
from nbprof.display.plots.colours import PALETTE, theme_of
from nbprof.display.plots.scales import label_time, plain_frame
from nbprof.errors import NbprofError
from nbprof.units import MICROS, format_short

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from nbprof._profile import Profile
    from nbprof.arrays import Floats, Rows
    from nbprof.display.lane_load import Range
    from nbprof.display.plots.colours import Colour, Theme

MOST_LANES = 40
"""The most lanes of a figure made here."""
LANE_INCHES = 0.26
"""Height of a lane in inches, in a figure made here."""
NAMED_TYPES = 6
"""Number of op types that have a colour of their own."""
FEWER_TYPES = 3
"""Number of op types that have a colour of their own in a low Axes."""
OTHERS = " other op types"
"""The legend's words for the rest, after their number."""
FOR_LANES = 0.6
"""Least share of a given Axes for the lanes; the rest is for the legend."""
HEIGHT = 0.8
"""The share of a lane that is filled where its thread is busy."""
SMALLEST_FONT = 6.0
"""Smallest font size in points; draw fewer lanes rather than smaller text."""
LINE = 1.25
"""Height of a lane as a multiple of the font size."""
ONLY_SUMS = (
    "a timeline needs single runs, but engine='dask' keeps only sums. Load the traces of fewer "
    "hosts without an engine and plot those."
)


class Drawing(NamedTuple):
    """What is drawn, and words for the caption."""

    runs: lane_load.Runs
    zero: float
    """The moment that is 0 on the axis, in µs of the profile."""
    threads: list[int]
    """The thread of each lane."""
    types: list[str]
    """The op type of each colour; the last may stand for all others."""
    noun: str
    """What the caption calls the runs."""
    left_out: str
    """The end of the caption, about the lanes that are left out."""
    spans: list[str]
    """The names of the lanes of spans, which come last."""

    @property
    def lanes(self) -> int:
        """The number of all lanes."""
        return len(self.threads) + len(self.spans)


def plot(profile: "Profile", ax: "Axes | None") -> "Axes":
    """Draw a lane per thread; raise NbprofError if nothing is known to have run."""
    is_own = ax is None
    drawing = _prepare(profile, MOST_LANES)
    ax = layout.axes(ax, 1.3 + LANE_INCHES * (drawing.lanes + 1))
    theme = theme_of(ax)
    plain_frame(ax, theme)
    ax.set_xlim(*_whole(profile, drawing))
    label_time(ax)
    width = layout.label_width(ax)
    for _ in range(1 if is_own else 2):  # labels change the height of a given Axes
        if not is_own:
            points = FOR_LANES * layout.size(ax)[1]
            drawing = _prepare(profile, max(1, int(points / (LINE * SMALLEST_FONT)) - 1))
        _name_lanes(ax, profile, drawing, width, is_own)
        layout.settle(ax)
    legend = legends.above(ax, _patches(drawing, theme), theme, _caption(drawing, ax))
    if is_own:
        lanes_inches = LANE_INCHES * (drawing.lanes + 1)
        layout.heighten(ax, lanes_inches + legends.height(ax, legend) / layout.POINTS_PER_INCH)
    elif legends.height(ax, legend) > (1 - FOR_LANES) * layout.size(ax)[1]:
        drawing = _prepare(profile, len(drawing.threads), FEWER_TYPES)
        legend = legends.above(ax, _patches(drawing, theme), theme, _caption(drawing, ax))
    legends.make_room(ax, legend, -1, drawing.lanes)

    def draw(ax: "Axes", shown: "Range") -> "list[Artist]":
        label_time(ax)
        legends.set_caption(ax, legend, _caption(drawing, ax))
        strip = step_marks.Strip(-0.9, -0.2, len(drawing.threads), ax.transData)
        return [
            *step_marks.draw(ax, profile, drawing.zero, shown, strip, theme),
            *_fill_lanes(ax, drawing, shown, theme),
            *span_lanes.draw(ax, profile, len(drawing.threads), drawing.zero, shown, theme),
        ]

    zoom.follow(ax, draw)
    return ax


def _prepare(profile: "Profile", most: int, most_types: int = NAMED_TYPES) -> Drawing:
    events = profile.events
    if not profile.recording.single_runs:
        raise NbprofError(ONLY_SUMS)
    own = events["self_ns"].to_numpy(float)
    if not own.sum():
        raise NbprofError(
            because("no op is known to have run, so there is no timeline", profile.notes)
        )
    thread = events["thread"].to_numpy(np.intp)
    by_thread = np.bincount(thread, own, len(profile.threads)).astype(float)
    threads = lane_names.order(profile, by_thread, most)
    lane = np.full(len(profile.threads), -1)
    lane[threads] = np.arange(len(threads))
    names, colour = _colour_numbers(profile, own, most_types)
    start, lasted = (events[name].to_numpy(np.int64) for name in ("start_ns", "duration_ns"))
    zero_ns = int(start.min()) if profile.recording.tfprof else 0
    share = np.divide(own, lasted, out=np.zeros(len(own)), where=lasted > 0)
    runs = lane_load.Runs(
        *(lane[thread], colour, (start - zero_ns) / 1e3, (start + lasted - zero_ns) / 1e3),
        np.minimum(share, 1),
    )
    hidden = int((by_thread > 0).sum()) - len(threads)
    part = 100 * (1 - by_thread[threads].sum() / by_thread.sum())
    return Drawing(
        lane_load.chosen(runs, runs.lane >= 0),
        *(zero_ns / 1e3, threads, names),
        "op runs and kernels" if events["accelerator"].any() else "op runs",
        f"; {hidden:,} more lanes with {part:.2g}% of the op time left out" * (hidden > 0),
        span_lanes.titles(profile),
    )


def _colour_numbers(profile: "Profile", own: "Floats", most: int) -> "tuple[list[str], Rows]":
    """Return the op types that have a colour, and the number of each event's colour.

    The types with the most time get one each, all others share the last.
    """
    types, number = np.unique(profile.nodes["op_type"].to_numpy(str), return_inverse=True)
    number = number[profile.events["node"].to_numpy(np.intp)]
    micros = np.bincount(number, own, len(types))
    ranked = [row for row in np.argsort(-micros, kind="stable").tolist() if micros[row] > 0]
    named, others = ranked[:most], ranked[most:]
    if len(others) == 1:
        named, others = ranked, []
    colour = np.full(len(types), max(len(named) - (not others), 0))
    colour[named] = np.arange(len(named))
    names = [str(types[row]) for row in named]
    return names + [f"{len(others):,}{OTHERS}"] * bool(others), colour[number]


def _colours(drawing: Drawing, theme: "Theme") -> "list[Colour]":
    has_others = drawing.types[-1].endswith(OTHERS)
    named = len(drawing.types) - has_others
    return [*PALETTE[:named], *([theme.grey(0.4)] if has_others else [])]


def _whole(profile: "Profile", drawing: Drawing) -> tuple[float, float]:
    """Return the range of the whole timeline in µs, from the cell's start to its end."""
    begins, ends = step_marks.times(profile, drawing.zero)
    first = min(0.0, float(drawing.runs.start.min()), *begins.tolist()[:1])
    wall = profile.recording.wall_ns / 1e3
    last = max(wall, float(drawing.runs.end.max()), float(ends.max(initial=0)))
    return first, last


def _name_lanes(
    ax: "Axes", profile: "Profile", drawing: Drawing, width: float, is_own: bool
) -> None:
    count = len(profile.steps)
    names = [
        f"{count:,} step{'s' if count != 1 else ''}",
        *lane_names.names(profile, drawing.threads),
        *drawing.spans,
    ]
    height = LANE_INCHES * layout.POINTS_PER_INCH
    if not is_own:
        height = min(height, FOR_LANES * layout.size(ax)[1] / len(names))
    font = min(layout.font_size(ax), height / LINE)
    measure = layout.ruler(ax, size=font)
    shown = [layout.shorten(layout.clean(name), width, measure) for name in names]
    ax.set_yticks(np.arange(len(names)) - 0.5, shown, size=font, **layout.PLAIN)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)


def _caption(drawing: Drawing, ax: "Axes") -> str:
    """Write how many runs are in the range shown, and how many are too short to tell apart."""
    start, end = sorted(ax.get_xlim())
    column = (end - start) / (zoom.PER_POINT * layout.size(ax)[0])
    runs = drawing.runs
    seen = (runs.end >= start) & (runs.start <= end)
    short = seen & (runs.end - runs.start < column)
    caption = f"{int(seen.sum()):,} {drawing.noun}"
    if short.any():
        length = format_short(column, MICROS)
        caption += f", {int(short.sum()):,} of them under {length} and merged"
    return caption + drawing.left_out


def _patches(drawing: Drawing, theme: "Theme") -> list[Patch]:
    return [
        Patch(facecolor=colour, label=layout.clean(name))
        for colour, name in zip(_colours(drawing, theme), drawing.types, strict=True)
    ]


def _fill_lanes(ax: "Axes", drawing: Drawing, shown: "Range", theme: "Theme") -> "list[Artist]":
    colours = _colours(drawing, theme)
    filled = lane_load.fill(drawing.runs, len(drawing.threads), len(colours), shown)
    outlines: list[list[Floats]] = [[] for _ in colours]
    for lane, shares in enumerate(filled):
        by_colour = lane_load.outlines(shares, shown, lane + 0.9, -HEIGHT)
        for number, found in enumerate(by_colour):
            outlines[number] += found
    drawn: list[Artist] = []
    for colour, name, found in zip(colours, drawing.types, outlines, strict=True):
        polygons = PolyCollection(found, facecolors=[colour], linewidths=0, label=f"_{name}")
        ax.add_collection(polygons, autolim=False)
        drawn.append(polygons)
    return [*drawn, *_ground_lines(ax, filled.sum(axis=1), shown, theme)]


def _ground_lines(ax: "Axes", filled: "Floats", shown: "Range", theme: "Theme") -> "list[Artist]":
    """Underline the lanes, darker where something ran, even if too briefly to be seen."""
    whole = [(lane, [0, shown.columns]) for lane in range(len(filled))]
    ran = [(lane, part) for lane, row in enumerate(filled) for part in lane_load.stretches(row)]
    drawn: list[Artist] = []
    for parts, grey, name in ((whole, 0.2, "_lanes"), (ran, 0.6, "_something ran")):
        lines = LineCollection(
            [
                [(shown.start + shown.column * column, lane + 0.93) for column in part]
                for lane, part in parts
            ],
            colors=[theme.grey(grey)],
            linewidths=0.6,
            capstyle="butt",
            label=name,
        )
        ax.add_collection(lines, autolim=False)
        drawn.append(lines)
    return drawn

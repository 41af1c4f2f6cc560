"""Lanes of the user's spans in the timeline, one for each thread that had any."""

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.collections import PolyCollection

from nbprof.display.plots import layout

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from nbprof._profile import Profile
    from nbprof.arrays import Rows
    from nbprof.display.lane_load import Range
    from nbprof.display.plots.colours import Theme

TOP, BOTTOM = 0.1, 0.9
"""Where an outermost span begins and ends, as a share of its lane."""
STEP = 0.25
"""How much lower each inner span begins, as a share of the lane."""
DEEPEST = 2
"""Spans inside more than this many others are drawn like those inside this many."""
GREYS = (0.3, 0.45, 0.6)
"""The shade of a span by the number of those around it."""
MOST_SPANS = 5000
"""With more spans in the range shown, those narrower than a column are left out."""
FONT_SIZE = 6.5
"""Font size of a span's name in points."""
MOST_NAMES = 200
"""The most names that are written."""


def titles(profile: "Profile") -> list[str]:
    """Return the names of the lanes."""
    threads = profile.spans.drop_duplicates("thread").sort_values("thread")
    return [f"spans: {name}" for name in threads["thread_name"]]


def draw(
    ax: "Axes", profile: "Profile", first: int, zero: float, shown: "Range", theme: "Theme"
) -> "list[Artist]":
    """Draw the spans of the range shown; `first` is their first lane, `zero` its 0 in µs."""
    spans = profile.spans
    start = spans["start_ns"].to_numpy(float) / 1e3 - zero
    end = start + spans["duration_ns"].to_numpy(float) / 1e3
    seen = np.flatnonzero((end >= shown.start) & (start <= shown.end))
    if len(seen) > MOST_SPANS:
        seen = seen[(end - start)[seen] >= shown.column]
    if not len(seen):
        return []
    depth = _depths(spans["parent"].tolist())[seen]
    lane = first + np.unique(spans["thread"], return_inverse=True)[1][seen]
    left, right = start[seen], np.maximum(end[seen], start[seen] + shown.column)
    top, bottom = lane + TOP + STEP * depth, lane + BOTTOM
    boxes = np.array([[left, bottom], [left, top], [right, top], [right, bottom]])
    drawn = PolyCollection(
        list(boxes.transpose(2, 0, 1)),
        facecolors=[theme.grey(GREYS[number]) for number in depth.tolist()],
        linewidths=0,
        label="_spans",
    )
    ax.add_collection(drawn, autolim=False)
    names = spans["name"].to_numpy()[seen]
    left, right = np.maximum(left, shown.start), np.minimum(right, shown.end)
    innermost = np.flatnonzero(~np.isin(seen, spans["parent"].to_numpy()))
    return [drawn, *_names(ax, names, innermost, np.array([left, right, top, bottom]), theme)]


def _depths(parents: list[int]) -> "Rows":
    """Return how many spans are around each; a parent comes before the spans inside it."""
    depth: list[int] = []
    for parent in parents:
        depth.append(0 if parent < 0 else min(depth[parent] + 1, DEEPEST))
    return np.array(depth, dtype=np.intp)


def _names(
    ax: "Axes", names: "np.ndarray", rows: "Rows", boxes: "np.ndarray", theme: "Theme"
) -> "list[Artist]":
    """Write the names of these spans where there is room."""
    left, right, top, bottom = boxes
    low, high = sorted(ax.get_xlim())
    points = (right - left) * layout.size(ax)[0] / (high - low)
    measure = layout.ruler(ax, size=FONT_SIZE)
    widest = rows[np.argsort(-points[rows], kind="stable")][:MOST_NAMES]
    return [
        ax.text(
            *((left[row] + right[row]) / 2, (top[row] + bottom[row]) / 2),
            name,
            size=FONT_SIZE,
            ha="center",
            va="center",
            color=theme.ink,
            **layout.PLAIN,
        )
        for row in widest.tolist()
        if measure(name := layout.clean(names[row])) + 2 <= points[row]
    ]

"""The size of an Axes, how much text fits into it, and keeping everything inside the figure.

A figure made here lays itself out again whenever it is drawn. In a user's figure without a layout
engine, the Axes shrinks to make room for its labels, as it would for a colour bar.
"""

from typing import TYPE_CHECKING, Any

from matplotlib.transforms import Bbox

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

POINTS_PER_INCH = 72
EDGE = 6.0
"""Space between a label and the figure's edge, in points."""
ROUNDING = 1.06
"""Factor by which a text can get wider at another resolution, where glyphs round differently."""
BETWEEN = 8.0
"""Space between a label and a neighbouring Axes, in points."""
LEAST = 0.3
"""The share of its width and height that an Axes keeps, whatever its labels need."""
PLAIN: dict[str, Any] = {"parse_math": False, "usetex": False}
"""Text properties for names, whose dollars and underscores are not formulas."""


def axes(ax: "Axes | None", height: float) -> "Axes":
    """Return the Axes, or that of a new figure of default width and `height` inches."""
    if ax is not None:
        return ax
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    width = mpl.rcParams["figure.figsize"][0]
    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def settle(ax: "Axes") -> None:
    """Lay out an Axes that has its labels, so that its size is about final."""
    figure: Any = ax.figure
    engine = figure.get_layout_engine()
    if engine is not None:
        while figure is not figure.figure:  # subfigures are laid out by the outermost
            figure = figure.figure
        engine.execute(figure)
        return
    for _ in range(2):  # after the first time, fewer ticks may fit
        _shrink(ax)
    _lower_label(ax)


def heighten(ax: "Axes", inches: float) -> None:
    """Resize the figure so that its only Axes is this high."""
    figure: Any = ax.figure
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + inches - size(ax)[1] / POINTS_PER_INCH)
    settle(ax)


def size(ax: "Axes") -> tuple[float, float]:
    """Return the width and height of an Axes in points."""
    box = ax.get_window_extent()
    return box.width / point(ax), box.height / point(ax)


def font_size(ax: "Axes") -> float:
    """Return the font size of the Axes' labels in points."""
    return float(ax.xaxis.label.get_fontsize())


def point(ax: "Axes") -> float:
    """Return the pixels per point."""
    return float(ax.figure.dpi) / POINTS_PER_INCH


def clean(text: str) -> str:
    """Replace characters that cannot be printed on one line."""
    text = text.encode("utf-8", "replace").decode()
    return "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text
    )


def ruler(ax: "Axes", **font: Any) -> "Callable[[str], float]":
    """Return a function that measures the width of a text in points."""
    probe = ax.text(0, 0, "", in_layout=False, **PLAIN, **font)
    probe.remove()
    probe.set_figure(ax.figure)
    pixels = point(ax)

    def width(text: str) -> float:
        probe.set_text(text)
        return ROUNDING * float(probe.get_window_extent().width) / pixels

    return width


def shorten(text: str, width: float, measure: "Callable[[str], float]") -> str:
    """Cut a text in the middle until it fits the width, keeping more of its end."""
    if measure(text) <= width:
        return text
    fits, too_many = 1, len(text)
    while too_many - fits > 1:
        kept = (fits + too_many) // 2
        if measure(_cut(text, kept)) <= width:
            fits = kept
        else:
            too_many = kept
    return _cut(text, fits)


def _cut(text: str, kept: int) -> str:
    head = 2 * kept // 5
    return f"{text[:head]}…{text[len(text) - kept + head :]}"


def wrap(text: str, width: float, measure: "Callable[[str], float]") -> str:
    """Break a sentence at spaces into lines that fit the width."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and measure(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return "\n".join(lines)


def label_width(ax: "Axes") -> float:
    """Return how wide labels left of an Axes may be, in points."""
    if ax.figure.get_layout_engine() is not None:
        return 0.5 * size(ax)[0]
    box, pixels = ax.get_window_extent(), point(ax)
    free = float(box.x0 - _place(ax).x0) / pixels
    return max(0.9 * free, 0.4 * (float(box.width) / pixels + free))


def _place(ax: "Axes") -> Bbox:
    """Return the box that an Axes and its labels may fill, up to the edges and neighbours."""
    own = ax.get_window_extent()
    x0, y0, x1, y1 = ax.figure.bbox.padded(-EDGE * point(ax)).extents
    edge = BETWEEN * point(ax)
    for other in ax.figure.axes:
        box = other.get_window_extent()
        around = other.get_tightbbox() if other is not ax and other.get_visible() else None
        if around is None:
            continue
        if box.y0 < own.y1 and own.y0 < box.y1:
            x0 = max(x0, around.x1 + edge) if box.x1 <= own.x0 else x0
            x1 = min(x1, around.x0 - edge) if box.x0 >= own.x1 else x1
        if box.x0 < own.x1 and own.x0 < box.x1:
            y0 = max(y0, around.y1 + edge) if box.y1 <= own.y0 else y0
            y1 = min(y1, around.y0 - edge) if box.y0 >= own.y1 else y1
    return Bbox.from_extents(x0, y0, x1, y1)


def _shrink(ax: "Axes") -> None:
    own, around, place = ax.get_window_extent(), ax.get_tightbbox(), _place(ax)
    if around is None:
        return
    left, right = max(place.x0 - around.x0, 0.0), max(around.x1 - place.x1, 0.0)
    below, above = max(place.y0 - around.y0, 0.0), max(around.y1 - place.y1, 0.0)
    across = min(1.0, (1 - LEAST) * own.width / max(left + right, 1e-9))
    along = min(1.0, (1 - LEAST) * own.height / max(below + above, 1e-9))
    box = Bbox.from_extents(
        own.x0 + across * left,
        own.y0 + along * below,
        own.x1 - across * right,
        own.y1 - along * above,
    )
    in_layout = ax.get_in_layout()
    ax.set_position(box.transformed(ax.figure.transSubfigure.inverted()))
    ax.set_in_layout(in_layout)  # set_position switches it off


def _lower_label(ax: "Axes") -> None:
    """Move the vertical axis' label down if it is longer than the axis and leaves the figure."""
    label = ax.yaxis.label
    above = float(label.get_window_extent().y1 - ax.figure.bbox.y1)
    if above > 0:
        label.set_y(label.get_position()[1] - above / ax.get_window_extent().height)

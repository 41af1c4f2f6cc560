"""The curve of a MemoryResult drawn with matplotlib."""

import math
from typing import TYPE_CHECKING, Any

from nbprof.errors import NbprofError
from nbprof.memory.result import LINE, MIB, OP, STEP

if TYPE_CHECKING:
    from nbprof.memory.result import MemoryResult, MemoryRun

BANDS = {STEP: "0.6", OP: "tab:orange"}
"""Colours of the bands above the curve, by kind of mark."""
BAND = 0.06
"""Height of a band, as a share of the drawing's height."""


def plot_curve(result: "MemoryResult", ax: Any = None) -> Any:
    """Draw the run with the largest peak into `ax`, or a new figure, and return the Axes."""
    run = result.largest
    if ax is None:
        ax = _new_axes()
    _draw_curve(ax, run)
    bound = "peak" if run.exact else "peak, at least"
    ax.axhline(run.peak / MIB, linestyle="--", linewidth=1, color="tab:red", label=bound)
    _draw_lines(ax, run)
    _draw_bands(ax, run)
    ax.set_xlabel("seconds")
    ax.set_ylabel("MiB in RAM")
    ax.set_xlim(0, run.seconds or None)
    ax.legend(loc="best", frameon=False)
    return ax


def _draw_curve(ax: Any, run: "MemoryRun") -> None:
    """Draw line and shade; gaps break the line, and a sample between two gaps is a dot."""
    seconds, resident = [], []
    gaps = [*run.curve.gaps(), True]
    dots: list[tuple[float, float]] = []
    for number, now in enumerate(run.curve.seconds):
        size = run.curve.resident[number] / MIB
        if gaps[number]:
            seconds.append(now)
            resident.append(math.nan)
            dots += [(now, size)] if gaps[number + 1] else []
        seconds.append(now)
        resident.append(size)
    most = [size / MIB for size in run.curve.most]
    least = min(run.curve.resident, default=run.before) / MIB
    ax.fill_between(
        run.curve.seconds,
        most,
        least,
        step="pre",
        alpha=0.25,
        linewidth=0,
        label="most between samples",
    )
    (held,) = ax.plot(seconds, resident, label="held")
    if dots:
        ax.plot(*zip(*dots, strict=True), ".", color=held.get_color())


def _draw_lines(ax: Any, run: "MemoryRun") -> None:
    """Draw where statements begin, with their line numbers where there is room."""
    free = -math.inf
    marks = [mark for mark in run.marks if mark.kind == LINE]
    for mark in marks if len(marks) > 1 else ():  # a single one says nothing
        ax.axvline(mark.seconds, linewidth=0.5, color="0.6", gid=mark.label)
        if free <= mark.seconds < 0.98 * run.seconds:
            ax.annotate(
                *(str(mark.number), (mark.seconds, 0)),
                xycoords=ax.get_xaxis_transform(),
                xytext=(2, 2),
                textcoords="offset points",
                size="small",
                color="0.4",
            )
            free = mark.seconds + 0.04 * run.seconds


def _draw_bands(ax: Any, run: "MemoryRun") -> None:
    """Draw when steps and ops ran, as bars in bands above the curve."""
    bottom = 1 + BAND / 2
    for kind, colour in BANDS.items():
        marks = [mark for mark in run.marks if mark.kind == kind]
        if not marks:
            continue
        narrowest = run.seconds / 500
        bars = [
            (mark.seconds, max(0 if math.isnan(mark.end) else mark.end - mark.seconds, narrowest))
            for mark in marks
        ]
        band = ax.broken_barh(
            bars,
            (bottom, BAND),
            transform=ax.get_xaxis_transform(),
            facecolors=colour,
            edgecolors="white",
            linewidth=0.3,
            clip_on=False,
        )
        band.set_gid(kind)
        ax.text(
            *(-0.01, bottom + BAND / 2, f"{kind}s"),
            transform=ax.transAxes,
            ha="right",
            va="center",
            size="small",
        )
        bottom += 1.4 * BAND


def _new_axes() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise NbprofError("matplotlib is not installed: pip install matplotlib.") from error
    return plt.subplots(figsize=(7, 2.8), layout="constrained")[1]

"""The curve of a run as an inline SVG drawing, without scripts.

The line is what was held at each sample, the shade above it the most since the sample before,
which is exact. Where no sample was possible there is no line, only the shade.
"""

import math
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from nbprof.units import format_mebibytes, format_seconds

if TYPE_CHECKING:
    from nbprof.memory.result import MemoryRun

WIDTH, HEIGHT = 600, 110
LEFT, TOP, BOTTOM = 8, 16, 18
MOST_POINTS = 300
MOST_MARKS = 40
LEAST_RANGE = 8 * 2**20


def svg(run: "MemoryRun", exact: bool) -> str:
    """Draw the curve of one run."""
    points = list(_points(run))
    if len(points) < 2 or run.seconds <= 0:
        return ""
    low, high = _range(run)
    across = (WIDTH - 2 * LEFT) / run.seconds
    up = (HEIGHT - TOP - BOTTOM) / (high - low)

    def x(seconds: float) -> str:
        return f"{LEFT + seconds * across:.1f}"

    def y(size: float) -> str:
        return f"{TOP + (high - size) * up:.1f}"

    shade, line, pen = [f"M{x(0)} {y(low)}"], [], "M"
    last = 0.0
    for seconds, resident, most, gap in points:
        shade.append(f"L{x(last)} {y(most)}L{x(seconds)} {y(most)}")
        line.append(f"{'M' if gap else pen}{x(seconds)} {y(resident)}")
        pen, last = "L", seconds
    shade.append(f"L{x(last)} {y(low)}Z")
    bound = "peak" if exact else "peak at least"
    top = y(run.peak)
    return "\n".join(
        [
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
            f'aria-label="memory over {escape(format_seconds(run.seconds * 1e9))}" '
            'style="max-width:100%" font-size="10" fill="currentColor">',
            *_marks(run, x),
            f'<path d="{"".join(shade)}" fill="rgb(66,133,244)" fill-opacity=".25"/>',
            f'<path d="{"".join(line)}" fill="none" stroke="rgb(66,133,244)" stroke-width="1.5"/>',
            f'<path d="M{LEFT} {top}H{WIDTH - LEFT}" stroke="rgb(217,74,56)" '
            'stroke-dasharray="4 3"/>',
            f'<text x="{LEFT}" y="{TOP - 5}">{bound} {format_mebibytes(run.peak)}</text>',
            f'<text x="{LEFT}" y="{HEIGHT - 5}">before {format_mebibytes(run.before)}</text>',
            f'<text x="{WIDTH - LEFT}" y="{HEIGHT - 5}" text-anchor="end">after '
            f"{format_mebibytes(run.after)} · {escape(format_seconds(run.seconds * 1e9))}</text>",
            "</svg>",
        ]
    )


def _range(run: "MemoryRun") -> tuple[float, float]:
    """Give the least and the most that the drawing shows; a small rise is not drawn large."""
    low = min(run.before, run.after, *run.curve.resident)
    return low, max(run.peak, low + LEAST_RANGE)


def _points(run: "MemoryRun") -> Iterator[tuple[float, float, float, bool]]:
    """Give seconds, resident, most, gap; of many samples, the highest of each few."""
    curve = run.curve
    gaps = curve.gaps()
    step = math.ceil(len(gaps) / MOST_POINTS) or 1
    for start in range(0, len(gaps), step):
        end = min(start + step, len(gaps))
        yield (
            curve.seconds[end - 1],
            curve.resident[end - 1],
            max(curve.most[start:end]),
            any(gaps[start:end]),
        )


def _marks(run: "MemoryRun", x: "object") -> Iterator[str]:
    if len(run.marks) > MOST_MARKS or not callable(x):
        return
    for mark in run.marks:
        yield (
            f'<path d="M{x(mark.seconds)} {TOP}V{HEIGHT - BOTTOM}" stroke="currentColor" '
            f'stroke-opacity=".3"><title>{escape(mark.label)} begins at '
            f"{escape(format_seconds(mark.seconds * 1e9))}</title></path>"
        )
    last = -math.inf
    for mark in run.marks:
        if mark.seconds - last >= run.seconds / 25:
            yield (
                f'<text x="{x(mark.seconds)}" y="{HEIGHT - BOTTOM - 2}" fill-opacity=".6" '
                f'dx="2">{escape(mark.label.removeprefix("line "))}</text>'
            )
            last = mark.seconds

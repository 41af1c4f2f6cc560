"""The curve of a run as an inline SVG drawing, without scripts.

The line is the memory held at each sample; the shade above it is the exact peak since the sample
before. Where sampling was not possible, there is only the shade. Vertical lines show where
statements begin; steps and ops are bars in bands below the curve.
"""

import math
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from nbprof.memory.result import LINE, MIB, OP, STEP
from nbprof.units import format_mebibytes, format_seconds

if TYPE_CHECKING:
    from nbprof.memory.result import Mark, MemoryRun

WIDTH = 600
"""Width of the drawing; all lengths here are in pixels."""
TALL = 110
"""Height of the drawing without bands."""
TOP = 16
"""Room above the curve, for the peak's label."""
BOTTOM = 18
"""Room below the curve, for the labels of before and after."""
EDGE = 8
"""Room to the right of the drawing, and to the left if there are no bands."""
NAMED_EDGE = 40
"""Room to the left of the drawing for the names of bands."""
BAND = 9
"""Height of a band."""
MOST_POINTS = 300
"""Most points to draw; further samples are merged."""
MOST_LINES = 40
"""Most statements to draw; with more, none are drawn."""
LEAST_RANGE = 8 * MIB
"""Smallest range of the vertical axis in bytes, so that a small rise does not look large."""
LEAST_HEIGHT = 16
"""Least room between the peak and the bottom, for line numbers."""
BANDS = {STEP: "rgb(128,128,128)", OP: "rgb(240,150,60)"}
"""Colours of the bands, by kind of mark."""


def svg(run: "MemoryRun") -> str:
    """Draw the curve of one run; empty without a curve."""
    if len(run.curve.seconds) < 2 or run.seconds <= 0:
        return ""
    return "\n".join(_Drawing(run).parts())


class _Drawing:
    """The scales and parts of a drawing."""

    def __init__(self, run: "MemoryRun") -> None:
        self.run = run
        self.bands = [kind for kind in BANDS if any(mark.kind == kind for mark in run.marks)]
        self.left = NAMED_EDGE if self.bands else EDGE
        self.bottom = TALL - BOTTOM
        self.height = TALL + BAND * len(self.bands)
        self.low = min(run.before, run.after, *run.curve.resident)
        self.high = max(run.peak, self.low + LEAST_RANGE)
        self.cut = round(max(min(self.y(run.peak), self.bottom - LEAST_HEIGHT) - TOP, 0), 1)
        """Height of the empty part above the peak, which is cut off."""

    def x(self, seconds: float) -> float:
        return round(self.left + seconds * (WIDTH - EDGE - self.left) / self.run.seconds, 1)

    def y(self, size: float) -> float:
        return round(TOP + (self.high - size) * (self.bottom - TOP) / (self.high - self.low), 1)

    def parts(self) -> Iterator[str]:
        run, took = self.run, escape(format_seconds(self.run.seconds * 1e9))
        bound = "peak" if run.exact else "peak at least"
        tall = round(self.height - self.cut, 1)
        yield (
            f'<svg viewBox="0 {self.cut} {WIDTH} {tall}" width="{WIDTH}" height="{tall}" '
            f'role="img" aria-label="memory over {took}, {bound} {format_mebibytes(run.peak)}" '
            'style="max-width:100%;height:auto" font-size="10" fill="currentColor">'
        )
        yield from self.lines()
        yield from self.curve()
        for number, kind in enumerate(self.bands):
            yield from self.band(kind, self.bottom + 2 + number * BAND)
        yield (
            f'<path d="M{self.left} {self.y(run.peak)}H{WIDTH - EDGE}" stroke="rgb(217,74,56)" '
            'stroke-dasharray="4 3"/>'
        )
        below, above = self.height - 5, round(self.cut + TOP - 5, 1)
        yield f'<text x="{self.left}" y="{above}">{bound} {format_mebibytes(run.peak)}</text>'
        yield f'<text x="{self.left}" y="{below}">before {format_mebibytes(run.before)}</text>'
        yield (
            f'<text x="{WIDTH - EDGE}" y="{below}" text-anchor="end">after '
            f"{format_mebibytes(run.after)} · {took}</text></svg>"
        )

    def curve(self) -> Iterator[str]:
        """Draw line and shade; gaps break the line, and a sample between two gaps is a dot."""
        shade, line, pen = [f"M{self.x(0)} {self.y(self.low)}"], [], "M"
        last = 0.0
        for seconds, resident, most, gap in _points(self.run):
            x, top = self.x(seconds), self.y(most)
            shade.append(f"L{self.x(last)} {top}L{x} {top}")
            line.append(f"{'M' if gap else pen}{x} {self.y(resident)}{'h0' if gap else ''}")
            pen, last = "L", seconds
        shade.append(f"L{self.x(last)} {self.y(self.low)}Z")
        yield f'<path d="{"".join(shade)}" fill="rgb(66,133,244)" fill-opacity=".25"/>'
        yield (
            f'<path d="{"".join(line)}" fill="none" stroke="rgb(66,133,244)" stroke-width="1.5" '
            'stroke-linecap="round"/>'
        )

    def lines(self) -> Iterator[str]:
        """Draw where statements begin, with their line numbers where there is room."""
        marks = [mark for mark in self.run.marks if mark.kind == LINE]
        free = -math.inf
        for mark in marks if 1 < len(marks) <= MOST_LINES else ():  # a single one says nothing
            x = self.x(mark.seconds)
            yield (
                f'<path d="M{x} {round(self.cut + TOP, 1)}V{self.bottom}" stroke="currentColor" '
                'stroke-opacity=".3">'
                f"<title>{escape(_mark_title(mark))}</title></path>"
            )
            if x >= free:
                number = str(mark.number)
                wide = 7 * len(number) + 6
                place = f'x="{x + 2}"' if x + wide < WIDTH else f'x="{x - 2}" text-anchor="end"'
                yield f'<text {place} y="{self.bottom - 2}" fill-opacity=".6">{number}</text>'
                free = x + wide

    def band(self, kind: str, top: float) -> Iterator[str]:
        """Draw one kind of marks as bars; bars that would share a pixel are drawn once."""
        yield (
            f'<text x="{self.left - 4}" y="{top + BAND - 2}" text-anchor="end" '
            f'fill-opacity=".8">{kind}s</text>'
        )
        free = -math.inf
        for mark in self.run.marks:
            start, end = self.x(mark.seconds), self.x(_end(mark))
            if mark.kind != kind or end < free:
                continue
            wide = max(round(end - start - 0.5, 1), 1)
            free = start + wide
            yield (
                f'<path d="M{start} {top}h{wide}v{BAND - 2}h-{wide}z" fill="{BANDS[kind]}" '
                f'fill-opacity=".7"><title>{escape(_mark_title(mark))}</title></path>'
            )


def _end(mark: "Mark") -> float:
    return mark.seconds if math.isnan(mark.end) else mark.end


def _mark_title(mark: "Mark") -> str:
    """Write a mark's label, when it began, how long it took and what it held."""
    times = f"at {format_seconds(mark.seconds * 1e9)}"
    if not math.isnan(mark.end):
        times += f" for {format_seconds((mark.end - mark.seconds) * 1e9)}"
    held = "" if math.isnan(mark.bytes) else f", held up to {format_mebibytes(mark.bytes)}"
    return f"{mark.label} {times}{held}"


def _points(run: "MemoryRun") -> Iterator[tuple[float, float, float, bool]]:
    """Yield seconds, resident, most and gap, merging samples if there are too many."""
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

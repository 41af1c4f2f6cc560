"""A MemoryResult as text and as script-free HTML: memory_profiler's line first, then the details.

The HTML also reads well without its style sheet and its drawing.
"""

import math
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from nbprof.display.memory import curve_svg
from nbprof.memory.result import MIB
from nbprof.units import format_mebibytes

if TYPE_CHECKING:
    from nbprof.memory.result import Held, MemoryResult, MemoryRun

MUCH_REUSABLE = 64 * MIB
"""Least reusable memory worth mentioning, in bytes; any process that did some work has less."""

STYLE = """<style>
.nbprof-memory{font-size:90%}
.nbprof-memory p{margin:.2em 0}
.nbprof-memory small{opacity:.75}
</style>"""


def text_report(result: "MemoryResult") -> str:
    """Write the whole report as text."""
    return "\n".join([headline(result), *_details(result)])


def html_report(result: "MemoryResult") -> str:
    """Write the whole report as one HTML fragment, with the curve."""
    return "\n".join(
        [
            f'<div class="nbprof-memory">{STYLE}',
            f"<p><b>{escape(headline(result))}</b></p>",
            *(f"<p><small>{escape(line)}</small></p>" for line in _details(result)),
            curve_svg.svg(result.largest),
            "</div>",
        ]
    )


def headline(result: "MemoryResult") -> str:
    """Write memory_profiler's line; lower bounds are marked `at least`."""
    bound = _bound(result.exact)
    return (
        f"peak memory: {bound}{result.peak:.2f} MiB, increment: {bound}{result.increment:.2f} MiB"
    )


def summary(result: "MemoryResult") -> str:
    """Write peak and increment in a few words, for the headline of a profile."""
    bound = _bound(result.exact)
    return f"peak memory {bound}{result.peak:.0f} MiB, {bound}{result.increment:+.0f} MiB"


def _bound(exact: bool) -> str:
    return "" if exact else "at least "


def _details(result: "MemoryResult") -> Iterator[str]:
    """Yield the lines below the headline."""
    yield "; ".join(_run_figures(result.largest))
    if len(result.runs) > 1:
        yield "peaks of the runs: " + ", ".join(f"{peak:.2f} MiB" for peak in result.mem_usage)
    if result.held is not None:
        yield "; ".join(_held_figures(result.held))
    for note in result.notes:
        yield f"note: {note}"


def _run_figures(run: "MemoryRun") -> Iterator[str]:
    """Yield the figures of one run."""
    yield f"before {format_mebibytes(run.before)}, after {format_mebibytes(run.after)}"
    yield from _kept_figure(run)
    if run.reusable >= max(MUCH_REUSABLE, run.peak - run.before):
        yield (
            f"up to {format_mebibytes(run.reusable)} was free for reuse before and does not count "
            "as increment (-trim returns it first)"
        )
    if not math.isnan(run.children):
        yield f"child processes at least {format_mebibytes(run.children)}"
    for device in run.devices:
        yield (
            f"{device.device} peak {_bound(device.exact)}{format_mebibytes(device.peak)}, "
            f"before {format_mebibytes(device.before)}, after {format_mebibytes(device.after)}"
        )


def _kept_figure(run: "MemoryRun") -> Iterator[str]:
    words = "freed but kept by the allocator"
    if run.kept >= max(MIB, 0.9 * run.perhaps_kept):
        yield f"{words} {format_mebibytes(run.kept)}"
    elif run.perhaps_kept >= MIB:
        yield f"{words} up to {format_mebibytes(run.perhaps_kept)}"
    elif run.kept >= MIB:
        yield f"{words} at least {format_mebibytes(run.kept)}"


def _held_figures(held: "Held") -> Iterator[str]:
    """Yield what `-v` found."""
    yield f"after garbage collection {format_mebibytes(held.after_collection)}"
    yield f"Python objects {format_mebibytes(held.python_objects)}"
    if not math.isnan(held.tensors):
        yield f"tensors and variables {format_mebibytes(held.tensors)}"
    if not math.isnan(held.returned):
        yield f"returned by trimming the allocator {format_mebibytes(held.returned)}"

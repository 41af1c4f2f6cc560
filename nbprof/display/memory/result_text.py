"""Memory results as text: memory_profiler's line first, then what else is known."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from nbprof.units import format_mebibytes, format_seconds

if TYPE_CHECKING:
    from nbprof.memory.result import Held, Mark, MemoryResult, MemoryRun

MIB = 2**20
MUCH = 64 * MIB
"""So much may be used again in any process that has done some work."""


def headline(result: "MemoryResult") -> str:
    """Write memory_profiler's line; a lower bound says so."""
    at_least = "" if result.exact else "at least "
    return (
        f"peak memory: {at_least}{result.peak:.2f} MiB, "
        f"increment: {at_least}{result.increment:.2f} MiB"
    )


def report(result: "MemoryResult") -> str:
    """Write the whole report."""
    return "\n".join([headline(result), *details(result)])


def details(result: "MemoryResult") -> Iterator[str]:
    """Write what stands below the headline, line by line."""
    yield "; ".join(figures(result.largest))
    if len(result.runs) > 1:
        yield "peaks of the runs: " + ", ".join(f"{peak:.2f} MiB" for peak in result.mem_usage)
    if result.held is not None:
        yield "; ".join(held_figures(result.held))
    for note in result.notes:
        yield f"note: {note}"


def figures(run: "MemoryRun") -> Iterator[str]:
    """Write the figures of one run."""
    yield f"before {format_mebibytes(run.before)}, after {format_mebibytes(run.after)}"
    if run.kept >= max(MIB, 0.9 * run.perhaps_kept):
        yield f"freed but kept by the allocator {format_mebibytes(run.kept)}"
    elif run.perhaps_kept >= MIB:
        yield f"freed but kept by the allocator up to {format_mebibytes(run.perhaps_kept)}"
    elif run.kept >= MIB:
        yield f"freed but kept by the allocator at least {format_mebibytes(run.kept)}"
    if run.reusable >= max(MUCH, run.peak - run.before):
        yield (
            f"up to {format_mebibytes(run.reusable)} was free for reuse before, which is no "
            "increment (-trim returns it first)"
        )
    if not math.isnan(run.children):
        yield f"child processes at least {format_mebibytes(run.children)}"
    for device in run.devices:
        bound = "" if device.exact else "at least "
        yield (
            f"{device.device} peak {bound}{format_mebibytes(device.peak)}, "
            f"before {format_mebibytes(device.before)}, after {format_mebibytes(device.after)}"
        )


def mark_text(mark: "Mark") -> str:
    """Say what a mark is about, and when that was."""
    times = f"at {format_seconds(mark.seconds * 1e9)}"
    if not math.isnan(mark.end):
        times += f" for {format_seconds((mark.end - mark.seconds) * 1e9)}"
    held = "" if math.isnan(mark.bytes) else f", held up to {format_mebibytes(mark.bytes)}"
    return f"{mark.label} {times}{held}"


def held_figures(held: "Held") -> Iterator[str]:
    """Write what `-v` found out."""
    yield f"after garbage collection {format_mebibytes(held.after_collection)}"
    yield f"Python objects {format_mebibytes(held.python_objects)}"
    if not math.isnan(held.tensors):
        yield f"tensors and variables {format_mebibytes(held.tensors)}"
    if not math.isnan(held.returned):
        yield f"a trim of the allocator returned {format_mebibytes(held.returned)}"

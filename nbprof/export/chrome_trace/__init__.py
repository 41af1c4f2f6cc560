"""A Profile's timeline in the Chrome trace event format, for Perfetto and chrome://tracing.

Times are µs with three decimals, so no nanosecond is lost. `displayTimeUnit` is left out because
early versions of Perfetto took "ns" there as the unit of the times themselves.
"""

import gzip
import json
from itertools import chain, islice
from typing import TYPE_CHECKING, BinaryIO, cast

from nbprof.errors import NbprofError
from nbprof.export.chrome_trace.event_lines import (
    count_lines,
    counter_lines,
    op_lines,
    span_lines,
    step_lines,
)
from nbprof.export.chrome_trace.flows import flow_lines
from nbprof.export.chrome_trace.trace_lanes import lay_out

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbprof._profile import Profile
    from nbprof.export.chrome_trace.trace_lanes import Layout

LINES_AT_ONCE = 10_000
"""Lines joined before each write."""

FASTEST = 1
"""gzip level; the text is repetitive, so more effort gains little."""


def check_single_runs(profile: "Profile") -> None:
    """Refuse a profile whose runs were added up: a timeline has nothing to draw."""
    if not profile.recording.single_runs:
        raise NbprofError(
            "a timeline needs single runs, and engine='dask' keeps only sums: load the traces of "
            "some hosts without an engine, and export that."
        )


def write(profile: "Profile", file: BinaryIO) -> None:
    """Write the timeline as JSON, one line per event."""
    check_single_runs(profile)
    layout = lay_out(profile)
    lines = _lines(profile, layout)
    file.write(b'{"traceEvents":[\n')
    separator = b""
    while some := list(islice(lines, LINES_AT_ONCE)):
        file.write(separator + ",\n".join(some).encode("ascii"))
        separator = b",\n"
    about = {
        "nbprof": profile.headline,
        "notes": list(profile.notes),
        "cell_start_micros": -layout.zero_ns / 1e3,
    }
    file.write(f'\n],"otherData":{json.dumps(about)}}}\n'.encode("ascii"))


def write_gzip(profile: "Profile", file: BinaryIO) -> None:
    """Write the timeline as compressed JSON; equal profiles produce equal bytes."""
    with gzip.GzipFile("", "wb", FASTEST, file, mtime=0) as compressed:
        write(profile, cast("BinaryIO", compressed))


def _lines(profile: "Profile", layout: "Layout") -> "Iterator[str]":
    """Yield all events; flows come last because they are bound to slices read before them."""
    return chain(
        layout.metadata(),
        step_lines(profile, layout),
        span_lines(profile, layout),
        op_lines(profile, layout),
        counter_lines(profile, layout),
        count_lines(profile, layout),
        flow_lines(profile, layout),
    )

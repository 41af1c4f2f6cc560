"""A Profile's timeline in the Chrome trace event format, for Perfetto and chrome://tracing.

Times are µs with three decimals, so no nanosecond is lost. `displayTimeUnit` is left out: earlier
Perfettos took "ns" there for the unit of the times themselves.
"""

import gzip
import json
from itertools import chain, islice
from typing import TYPE_CHECKING, BinaryIO, cast

from nbprof.export.chrome_trace.counters import counter_lines
from nbprof.export.chrome_trace.flows import flow_lines
from nbprof.export.chrome_trace.slices import op_lines, step_lines
from nbprof.export.chrome_trace.trace_lanes import lay_out
from nbprof.export.single_runs import need_single_runs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbprof._profile import Profile
    from nbprof.export.chrome_trace.trace_lanes import Layout

LINES_AT_ONCE = 10_000
FASTEST = 1
"""Of gzip's levels: the text is repetitive, and more effort gains little."""


def write(profile: "Profile", file: BinaryIO) -> None:
    """Write the timeline as JSON, a line per event."""
    need_single_runs(profile)
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
    """Write the timeline as JSON, compressed; equal profiles give equal bytes."""
    with gzip.GzipFile("", "wb", FASTEST, file, mtime=0) as compressed:
        write(profile, cast("BinaryIO", compressed))


def _lines(profile: "Profile", layout: "Layout") -> "Iterator[str]":
    """Give the events; flows come last, because they are bound to slices read before them."""
    return chain(
        layout.metadata(),
        step_lines(profile, layout),
        op_lines(profile, layout),
        counter_lines(profile, layout),
        flow_lines(profile, layout),
    )

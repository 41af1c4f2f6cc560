"""tfprof's own pprof profile, with its ways.

A location is a call: the caller's line, with the function that is called. Only ops of innermost
lines are there, below shown rows that have none below them.
"""

from typing import TYPE_CHECKING

import numpy as np

from nbprof.export.pprof.pprof_tables import Line, Tables
from nbprof.export.pprof.row_ops import ops_by_row, origin_of, shown_lines

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.views.view import View

LABEL = "graph node:"
TIME, BYTES, COUNT = "microseconds", "bytes", "count"
COLUMNS = {
    "micros": (TIME, "Sum of accelerator execution time and cpu execution time."),
    "accelerator_micros": (TIME, "Accelerator execution time."),
    "cpu_micros": (TIME, "CPU execution time."),
    "bytes": (BYTES, "Sum of operation total memory requests, excluding deallocations."),
    "peak_bytes": (BYTES, "Sum of operation peak memory usage."),
    "residual_bytes": (BYTES, "Sum of operation allocated memory after finish."),
    "output_bytes": (BYTES, "Sum of operation output size."),
    "params": (COUNT, "Model parameters."),
    "float_ops": (COUNT, "Model float operations (Only available if defined)."),
}


def build(profile: "Profile", view: "View") -> Tables:
    """Fill the tables in tfprof's order, which is that of the shown rows."""
    tables = Tables()
    origin, of_ops = origin_of(view)
    (metric,) = view.options.select
    values = of_ops.metrics[metric].astype(np.int64).tolist()
    names = profile.nodes["name"].tolist()
    innermost = origin.end == np.arange(1, len(origin.end) + 1)
    ops = ops_by_row(profile, origin, innermost)
    lines, parents = shown_lines(view), view.frame["parent"].tolist()
    above = set(parents)
    calls: dict[int, tuple[int, ...]] = {}
    samples = []
    for row, parent in enumerate(parents):
        calls[row] = calls.get(parent, ())
        if parent > 0:
            calls[row] = (_call(tables, lines[parent], lines[row]), *calls[row])
        if row and row not in above:
            for op in ops.get(row, ()):
                name = names[origin.node[op]]
                samples.append((name, calls[row], values[op], tables.label(LABEL, name)))
    for _, locations, value, label in sorted(samples, key=lambda sample: sample[0]):
        tables.add_sample(locations, (1, value), label)
    _add_header(tables, metric)
    return tables


def _call(tables: Tables, caller: Line, called: Line) -> int:
    base = called.file.rpartition("/")[2]
    stem = base.rpartition(".")[0] if "." in base else base
    key = (caller.file, called.function, caller.line)
    return tables.location(key, caller.line, called, f"{stem}:{called.function}")


def _add_header(tables: Tables, metric: str) -> None:
    unit, comment = COLUMNS[metric]
    tables.add_sample_type(COUNT, COUNT)
    tables.add_sample_type(metric, unit)
    tables.comments.append(tables.text(comment))

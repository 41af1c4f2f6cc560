"""The pprof profile tfprof itself writes, quirks included.

A location is a call: the caller's line with the function it calls. Only ops of innermost lines are
sampled, at shown rows without children.
"""

import numpy as np

from nbprof.export.pprof.code_rows import CodeRows
from nbprof.export.pprof.pprof_tables import Line, Tables

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
"""tfprof's unit and description of each metric."""


def build(code: CodeRows) -> Tables:
    """Fill the tables; texts are numbered in tfprof's order, that of the shown rows."""
    tables = Tables()
    values = code.values(code.metric).astype(np.int64).tolist()
    names, ops = code.op_names(), _ops_of_leaves(code)
    calls: dict[int, tuple[int, ...]] = {}
    samples = []
    for row, parent in enumerate(code.parents):
        calls[row] = calls.get(parent, ())
        if parent > 0:
            calls[row] = (_call(tables, code.lines[parent], code.lines[row]), *calls[row])
        for op in ops.get(row, ()):
            label = tables.label(LABEL, names[op])
            samples.append((names[op], calls[row], values[op], label))
    for _, locations, value, label in sorted(samples, key=lambda sample: sample[0]):
        tables.add_sample(locations, (1, value), label)
    _add_header(tables, code.metric)
    return tables


def _ops_of_leaves(code: CodeRows) -> dict[int, list[int]]:
    """Return the ops of innermost lines by shown row, for rows without shown children."""
    end = code.origin.end
    ops = code.ops_by_row(end == np.arange(1, len(end) + 1))
    return {row: ops[row] for row in ops.keys() - set(code.parents)}


def _call(tables: Tables, caller: Line, called: Line) -> int:
    base = called.file.rpartition("/")[2]
    stem = base.rpartition(".")[0] if "." in base else base
    return tables.location(caller, called, f"{stem}:{called.function}")


def _add_header(tables: Tables, metric: str) -> None:
    unit, comment = COLUMNS[metric]
    tables.add_sample_type(COUNT, COUNT)
    tables.add_sample_type(metric, unit)
    tables.comments.append(tables.text(comment))

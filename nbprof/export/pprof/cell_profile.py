"""A recorded cell as a plain pprof profile: one sample per op and line."""

from typing import TYPE_CHECKING

import numpy as np

from nbprof.errors import NbprofError
from nbprof.export.pprof.code_rows import CodeRows
from nbprof.export.pprof.pprof_tables import Tables
from nbprof.export.protobuf_writer import number_field

if TYPE_CHECKING:
    from nbprof.arrays import Floats

DURATION = 10
"""Field number of the profile's duration in ns."""
DEFAULT_TYPE = 14
"""Field number of the profile's default sample type."""

TIMES = {"micros": "time", "accelerator_micros": "accelerator_time", "cpu_micros": "cpu_time"}
"""pprof names of the time metrics, written in ns so that short times survive."""


def build(code: CodeRows) -> Tables:
    """Fill the tables; an op counts at the nearest shown line and is left out if it has none."""
    tables = Tables()
    costs = code.values(code.metric)
    known = ~np.isnan(costs)
    if len(known) and not known.any():
        raise NbprofError(f"pprof has nothing to show: {code.metric} was not recorded.")
    values = _whole(costs * (1e3 if code.metric in TIMES else 1))
    runs = _whole(code.values("run_count"))
    names = code.op_names()
    ops = code.ops_by_row(np.ones(len(code.origin.end), dtype=bool))
    stacks: dict[int, tuple[int, ...]] = {0: ()}
    for row, (parent, line) in enumerate(zip(code.parents, code.lines, strict=True)):
        if row:
            stacks[row] = (tables.location(line, line, line.function), *stacks[parent])
        for op in ops.get(row, ()):
            if known[op]:
                label = tables.label("op", names[op])
                tables.add_sample(stacks[row], (runs[op], values[op]), label)
    _add_header(tables, code)
    return tables


def _whole(numbers: "Floats") -> list[int]:
    """Round to integers, unknown values to 0."""
    whole: list[int] = np.nan_to_num(numbers).round().astype(np.int64).tolist()
    return whole


def _add_header(tables: Tables, code: CodeRows) -> None:
    metric = code.metric
    unit = "nanoseconds" if metric in TIMES else "bytes" if "bytes" in metric else "count"
    tables.add_sample_type("runs", "count")
    tables.add_sample_type(TIMES.get(metric, metric), unit)
    default = tables.text(TIMES.get(metric, metric))
    duration = number_field(DURATION, code.profile.recording.wall_ns)
    tables.header = duration + number_field(DEFAULT_TYPE, default)

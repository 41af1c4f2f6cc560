"""A recorded cell as a plain pprof profile: a sample for each op on each of its lines."""

from typing import TYPE_CHECKING

import numpy as np

from nbprof.errors import NbprofError
from nbprof.export.pprof.pprof_tables import Line, Tables
from nbprof.export.pprof.row_ops import ops_by_row, origin_of, shown_lines
from nbprof.export.protobuf import number_field

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.views.view import View

DURATION, DEFAULT_TYPE = 10, 14
TIMES = {"micros": "time", "accelerator_micros": "accelerator_time", "cpu_micros": "cpu_time"}
"""Times are in ns, so that short ones are not lost."""


def build(profile: "Profile", view: "View") -> Tables:
    """Fill the tables; an op is of the nearest shown line, and without one it is left out."""
    tables = Tables()
    origin, of_ops = origin_of(view)
    (metric,) = view.options.select
    known = ~np.isnan(of_ops.metrics[metric])
    if len(known) and not known.any():
        raise NbprofError(f"pprof has nothing to show: {metric} was not recorded.")
    values = _whole(of_ops.metrics[metric] * (1e3 if metric in TIMES else 1))
    runs = _whole(of_ops.metrics["run_count"])
    names = profile.nodes["name"].tolist()
    ops = ops_by_row(profile, origin, np.ones(len(origin.end), dtype=bool))
    stacks: dict[int, tuple[int, ...]] = {0: ()}
    rows = zip(view.frame["parent"].tolist(), shown_lines(view), strict=True)
    for row, (parent, line) in enumerate(rows):
        if row:
            stacks[row] = (_location(tables, line), *stacks[parent])
        for op in ops.get(row, ()):
            if known[op]:
                label = tables.label("op", names[origin.node[op]])
                tables.add_sample(stacks[row], (runs[op], values[op]), label)
    _add_header(tables, metric, profile.recording.wall_ns)
    return tables


def _whole(numbers: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> list[int]:
    whole: list[int] = np.nan_to_num(numbers).round().astype(np.int64).tolist()
    return whole


def _location(tables: Tables, line: Line) -> int:
    key = (line.file, line.function, line.line)
    return tables.location(key, line.line, line, line.function)


def _add_header(tables: Tables, metric: str, wall_ns: int) -> None:
    unit = "nanoseconds" if metric in TIMES else "bytes" if "bytes" in metric else "count"
    tables.add_sample_type("runs", "count")
    tables.add_sample_type(TIMES.get(metric, metric), unit)
    default = tables.text(TIMES.get(metric, metric))
    tables.further = number_field(DURATION, wall_ns) + number_field(DEFAULT_TYPE, default)

"""Read the statistics that cProfile dumps: a marshalled dict of what pstats shows.

Its keys are `(file, line, function)`, its values `(primitive calls, calls, own seconds, cumulative
seconds, callers)`; the callers are a dict with keys of the same form and values `(calls, primitive
calls, own seconds, cumulative seconds)`, or counts alone if the pure Python profiler wrote it.
"""

from collections.abc import Iterator
from math import isfinite, nan
from typing import Any, NamedTuple, TypeGuard

import numpy as np
import numpy.typing as npt
import pandas as pd

from nbprof._profile import Profile
from nbprof.errors import NbprofError
from nbprof.ingest.python.code_names import Place, is_framework, readable
from nbprof.ingest.python.damage import DamageError
from nbprof.ingest.python.marshal_reader import Pairs, read_marshalled
from nbprof.ingest.python.stack_profile import durations, spent_table
from nbprof.ingest.python.without_ops import tables_without_ops
from nbprof.recording import Recording

MOST_CALLS = 1 << 53
"""Counts below this are exact as floats, too."""
MOST_LINES = 1 << 31
COUNTS, TIMES = ("calls", "primitive_calls"), ("self_ns", "total_ns")
SECOND_NS = 1e9

NOT_COUNTED = "the file has times, made of samples, but no counts of calls"
"""Note on a file in which all counts are 0."""


class Cost(NamedTuple):
    """What calls cost, in the order of callers."""

    calls: int
    primitive_calls: int
    own: float
    cumulative: float


def read_pstats(content: bytes, name: str) -> Profile:
    """Read a dump of pstats or cProfile; `name` is that of the file."""
    try:
        return _profile(_entries(read_marshalled(content)), len(content), name)
    except DamageError as damage:
        raise NbprofError(f"{name} cannot be read as pstats of cProfile: {damage}.") from damage


Entries = dict[Place, tuple[Cost, Pairs]]
"""The cost and the callers of each function."""


def _entries(value: Any) -> Entries:
    found: Entries = {}
    for key, entry in _pairs(value):
        if not isinstance(entry, tuple) or len(entry) != 5:
            raise DamageError("a function does not have five values")
        primitive_calls, calls, own, cumulative, callers = entry
        found[_place(key)] = _cost((calls, primitive_calls, own, cumulative)), _pairs(callers)
    return found


def _pairs(value: Any) -> Pairs:
    if not isinstance(value, list):
        raise DamageError("it holds something else where a dict should be")
    return value


def _place(key: Any) -> Place:
    """Check the name of a function."""
    if isinstance(key, tuple) and len(key) == 3:
        file, line, function = key
        named = isinstance(file, str) and isinstance(function, str)
        if named and isinstance(line, int) and -MOST_LINES <= line < MOST_LINES:
            return Place(readable(file), line, readable(function))
    raise DamageError("a function is not named by its file, line and name")


def _cost(values: Any) -> Cost:
    """Check the numbers of a function, or of a caller's calls of it."""
    if _is_count(values):
        return Cost(values, values, nan, nan)
    if isinstance(values, tuple) and len(values) == 4:
        counts, times = values[:2], values[2:]
        if all(map(_is_count, counts)) and all(map(_is_time, times)):
            return Cost(*values)
    raise DamageError("calls are not counted and timed as pstats does it")


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and 0 <= value < MOST_CALLS


def _is_time(value: Any) -> bool:
    return isinstance(value, int | float) and isfinite(value)


def _profile(entries: Entries, size: int, name: str) -> Profile:
    rows = {place: row for row, place in enumerate(entries)}
    edges = list(_edges(entries, rows, size))
    costs = [cost for cost, _ in entries.values()]
    costs += [Cost(0, 0, 0.0, 0.0)] * (len(rows) - len(costs))  # callers that never returned
    is_counted = not costs or any(cost.calls for cost in costs)
    functions = pd.DataFrame(
        {
            "file": pd.Series([place.file for place in rows], dtype=object),
            "line": np.array([place.line for place in rows], dtype=np.int64),
            "function": pd.Series([place.function for place in rows], dtype=object),
            "framework": np.array([is_framework(place.file) for place in rows], dtype=bool),
            **_columns(costs, is_counted),
        }
    )
    own_ns, of_library = functions["self_ns"].to_numpy(), functions["framework"].to_numpy()
    return Profile(
        **tables_without_ops(),
        frames=pd.DataFrame(
            {
                **{column: pd.Series(dtype="int64") for column in ("stack", "line")},
                **{text: pd.Series(dtype=object) for text in ("file", "function", "source")},
                "framework": pd.Series(dtype=bool),
            }
        ),
        threads=pd.DataFrame({"name": [""], "device": [""], "is_cell": [True]}),
        spent=spent_table(own_ns, of_library),
        functions=functions,
        calls=pd.DataFrame(
            {
                "caller": np.array([caller for caller, _, _ in edges], dtype=np.int64),
                "function": np.array([function for _, function, _ in edges], dtype=np.int64),
                **_columns([cost for _, _, cost in edges], is_counted),
            }
        ),
        recording=Recording(
            what=name,
            how="pstats of cProfile",
            wall_ns=max(int(own_ns.sum()), 0),
            cost_ns=0,
            watched=("calls",),
        ),
        notes=() if is_counted else (NOT_COUNTED,),
    )


def _edges(entries: Entries, rows: dict[Place, int], size: int) -> Iterator[tuple[int, int, Cost]]:
    """Yield the rows of the caller and the function, and the cost, of every kind of call."""
    # Functions may refer to one dict of callers, so that a small file has calls without end.
    if sum(len(callers) for _, callers in entries.values()) > size:
        raise DamageError("it has more calls than bytes")
    for function, (_, callers) in enumerate(entries.values()):
        for key, values in callers:
            yield rows.setdefault(_place(key), len(rows)), function, _cost(values)


def _columns(costs: list[Cost], is_counted: bool) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of numbers; what no cost has is NaN."""
    calls, primitive_calls, own, cumulative = zip(*costs, strict=True) if costs else ((),) * 4
    counts = {
        name: np.array(values, dtype=np.int64) if is_counted else np.full(len(costs), np.nan)
        for name, values in zip(COUNTS, (calls, primitive_calls), strict=True)
    }
    return counts | {
        name: _times(np.array(values, dtype=np.float64))
        for name, values in zip(TIMES, (own, cumulative), strict=True)
    }


def _times(seconds: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
    """Return seconds as ns, whole unless some are unknown."""
    known = ~np.isnan(seconds)
    ns = durations(seconds[known], SECOND_NS)
    if known.all():
        return ns
    times = np.full(len(seconds), np.nan)
    times[known] = ns
    return times

"""Write `.prof`: what `cProfile.Profile.dump_stats` writes and `pstats.Stats(path)` reads.

From counted calls the numbers are cProfile's own. From samples the times are theirs, and the counts
of calls, which the format requires, are 0: pstats then leaves its columns per call empty.
"""

import marshal
import warnings
from typing import TYPE_CHECKING, Any, BinaryIO

from nbprof.export.python.call_tables import CallTables, call_tables

if TYPE_CHECKING:
    import pandas as pd

    from nbprof._profile import Profile

VERSION = 4
"""Version of marshal that Python 3.4 and later read."""
NOT_COUNTED = (
    "calls were not counted, only sampled, so all counts in this file are 0: profile the cell with "
    "%%pyprof function to count them"
)
NOT_TIMED = "samples were counted without their times, so 1 µs in this file stands for a sample"
TO_THE_CALLER = 4
"""How many calls lie between the warning and the call of `profile.export`."""

Key = tuple[str, int, str]
Cost = tuple[int, int, float, float]


def write(profile: "Profile", file: BinaryIO) -> None:
    """Write the functions with their callers."""
    tables = call_tables(profile, ".prof")
    if not profile.recording.timed:
        warnings.warn(NOT_TIMED, stacklevel=TO_THE_CALLER)
    if not tables.is_counted:
        warnings.warn(NOT_COUNTED, stacklevel=TO_THE_CALLER)
    marshal.dump(_stats(tables), file, VERSION)


def _stats(tables: CallTables) -> dict[Key, Any]:
    functions, calls = tables.functions, tables.calls
    keys = list(
        zip(functions["file"], map(int, functions["line"]), functions["function"], strict=True)
    )
    costs: dict[Key, Cost] = {}
    for key, cost in zip(keys, _costs(functions), strict=True):
        costs[key] = _added(costs.get(key), cost)
    callers: dict[Key, dict[Key, Cost]] = {key: {} for key in keys}
    for caller, function, cost in zip(
        calls["caller"], calls["function"], _costs(calls), strict=True
    ):
        known = callers[keys[function]]
        known[keys[caller]] = _added(known.get(keys[caller]), cost)
    return {
        key: (primitive_calls, all_calls, own, cumulative, callers[key])
        for key, (all_calls, primitive_calls, own, cumulative) in costs.items()
    }


def _costs(table: "pd.DataFrame") -> list[Cost]:
    """Return calls, primitive calls, own and cumulative seconds; what is not known is 0."""
    counts = (table[name].fillna(0).astype(int).tolist() for name in ("calls", "primitive_calls"))
    seconds = ((table[name].fillna(0) / 1e9).tolist() for name in ("self_ns", "total_ns"))
    return list(zip(*counts, *seconds, strict=True))


def _added(known: Cost | None, cost: Cost) -> Cost:
    """Add the cost of another function of the same name."""
    if known is None:
        return cost
    return known[0] + cost[0], known[1] + cost[1], known[2] + cost[2], known[3] + cost[3]

"""The functions of a profile and who called whom: as counted, else worked out from samples."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from nbprof.arrays import Ints, Positions, distinct_pairs
from nbprof.errors import NbprofError
from nbprof.export.python.distinct_rows import number_rows
from nbprof.export.python.sampled_stacks import SampledStacks, sampled_stacks

if TYPE_CHECKING:
    from nbprof._profile import Profile

NO_PYTHON = (
    "{suffix} holds functions of Python, and this profile has neither calls nor samples of them: "
    "profile the cell with %%pyprof."
)


@dataclass(frozen=True, eq=False, kw_only=True)
class CallTables:
    """Functions and calls in the form of a Profile's tables; counts that are unknown are NaN."""

    functions: pd.DataFrame
    calls: pd.DataFrame
    own_lines: pd.DataFrame
    """What lines cost by themselves: `function`, `line`, `ns`."""
    call_lines: pd.DataFrame
    """What lines cost by calling: the columns of `calls`, and the `line` of the caller."""
    is_counted: bool
    """Whether calls were counted."""


def call_tables(profile: "Profile", suffix: str) -> CallTables:
    """Return the functions and calls of a profile; `suffix` is that of the file they are for."""
    watched = profile.recording.watched
    if "calls" in watched:
        return _counted(profile.functions, profile.calls)
    if "samples" in watched:
        return _sampled(sampled_stacks(profile))
    raise NbprofError(NO_PYTHON.format(suffix=suffix))


def _counted(functions: pd.DataFrame, calls: pd.DataFrame) -> CallTables:
    own = pd.DataFrame(
        {
            "function": np.arange(len(functions)),
            "line": functions["line"].to_numpy(),
            "ns": functions["self_ns"].to_numpy(),
        }
    )
    line = functions["line"].to_numpy()[calls["caller"].to_numpy(np.intp)]
    return CallTables(
        functions=functions,
        calls=calls,
        own_lines=own,
        call_lines=calls.assign(line=line),
        is_counted=not functions["calls"].isna().any(),
    )


def _sampled(stacks: SampledStacks) -> CallTables:
    """Add up samples by function; a sample counts once for a function that it has several times."""
    frames = stacks.frames
    begins = frames.get("function_line", pd.Series(0, frames.index)).to_numpy(np.int64)
    first, of_frame = number_rows(frames["file"].to_numpy(), frames["function"].to_numpy(), begins)
    function, line = of_frame[stacks.frame], frames["line"].to_numpy(np.int64)
    is_last = np.append(stacks.stack[1:] != stacks.stack[:-1], True)[: len(function)]
    size, ns = len(first), stacks.ns[stacks.stack]
    functions = frames[["file", "function"]].iloc[first].reset_index(drop=True)
    functions = functions.assign(
        line=_first_lines(line, of_frame, begins[first]),
        calls=np.nan,
        primitive_calls=np.nan,
        self_ns=_added(function[is_last], ns[is_last], size),
        total_ns=_once_per_stack(stacks, stacks.stack, function, size),
    )
    own = pd.DataFrame(
        {"function": function[is_last], "line": line[stacks.frame[is_last]], "ns": ns[is_last]}
    )
    inner = np.flatnonzero(~np.append(True, is_last[:-1])[: len(function)])
    by_line = _edges(stacks, inner, of_frame, stacks.frame, size)
    by_line = by_line.assign(
        line=line[by_line["caller"].to_numpy()], caller=of_frame[by_line["caller"].to_numpy()]
    )
    return CallTables(
        functions=functions,
        calls=_edges(stacks, inner, of_frame, function, size),
        own_lines=own.groupby(["function", "line"])["ns"].sum().reset_index(),
        call_lines=by_line,
        is_counted=False,
    )


def _first_lines(line: Ints, of_frame: Ints, begins: Positions) -> Ints:
    """Return where each function begins, or the first of its lines that was seen."""
    seen = np.full(len(begins), np.iinfo(np.int64).max)
    np.minimum.at(seen, of_frame, line)
    return np.where(begins > 0, begins, seen)


def _edges(
    stacks: SampledStacks, inner: Positions, of_frame: Positions, caller: Positions, size: int
) -> pd.DataFrame:
    """Add up samples by caller and function; `inner` are the frames that another one called."""
    called = of_frame[stacks.frame[inner]]
    callers, functions, edge = distinct_pairs(caller[inner - 1], called, max(size, 1))
    stack, count = stacks.stack[inner], len(callers)
    is_last = np.append(stack[1:] != stack[:-1], True)[: len(stack)]
    return pd.DataFrame(
        {
            "caller": callers,
            "function": functions,
            "calls": np.full(count, np.nan),
            "primitive_calls": np.full(count, np.nan),
            "self_ns": _added(edge[is_last], stacks.ns[stack][is_last], count),
            "total_ns": _once_per_stack(stacks, stack, edge, count),
        }
    )


def _once_per_stack(stacks: SampledStacks, stack: Positions, what: Positions, size: int) -> Ints:
    """Add up the stacks that each thing is part of."""
    of, found, _ = distinct_pairs(stack, what, max(size, 1))
    return _added(found, stacks.ns[of], size)


def _added(what: Positions, ns: Ints, size: int) -> Ints:
    """Add up whole numbers, which bincount would turn into floats."""
    sums = np.zeros(size, dtype=np.int64)
    np.add.at(sums, what, ns)
    return sums

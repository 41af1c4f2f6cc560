"""CallLog: how often functions were called, by whom, and how long they ran."""

from dataclasses import dataclass

import numpy as np

from nbprof.arrays import Ints
from nbprof.capture.capture import Frame


@dataclass(frozen=True, eq=False, kw_only=True)
class CallCounts:
    """What was counted, a number for each function, or for each caller of each function."""

    calls: Ints
    primitive_calls: Ints
    """The calls that no other call of the same function led to."""
    self_ns: Ints
    total_ns: Ints
    """The time of its primitive calls with all they called."""


@dataclass(frozen=True, eq=False, kw_only=True)
class CallLog:
    """All calls of the recorded code, added up."""

    functions: tuple[Frame, ...]
    """Each with the line where it begins; C functions are in file `~`, as in pstats."""
    counts: CallCounts
    """A number for each of `functions`."""
    caller: Ints
    """Index into `functions`, for each pair of a caller and a function."""
    callee: Ints
    by_caller: CallCounts
    """A number for each pair."""
    notes: tuple[str, ...] = ()


def counts_of(rows: list[list[float]]) -> CallCounts:
    """Turn rows of calls, primitive calls, own and total seconds into columns."""
    table = np.array(rows, dtype=np.float64).reshape(-1, 4)
    whole = table[:, :2].astype(np.int64)
    ns = np.rint(table[:, 2:] * 1e9).astype(np.int64)
    return CallCounts(
        calls=whole[:, 0], primitive_calls=whole[:, 1], self_ns=ns[:, 0], total_ns=ns[:, 1]
    )

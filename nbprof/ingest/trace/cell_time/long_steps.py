"""Bare steps that take longer than those in detail: the trace does not tell what they wait for."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import NONE, Ints, Mask, Rows
from nbprof.ingest.trace.work.covered_time import CoveredTime
from nbprof.units import format_seconds

if TYPE_CHECKING:
    import pandas as pd

    from nbprof.ingest.trace.stages import RecordedTrace
    from nbprof.ingest.trace.work.steps import Steps

LONGER = 1.25
"""How many times as long as the longest in detail a bare step is that differs from it."""
NOTABLE = 0.05
"""Share of the time of a function's bare steps from which on such steps are more than noise."""
EXAMPLES = 10
"""How many steps a note recommends to trace."""

LONGER_NOTE = (
    "{count:,} of {all:,} bare steps of {function} took up to {most}, those in detail {usual} at "
    "most: what they waited for is not known and not watched in the summary; "
    "-steps {first}:{last} traces some"
)
NEVER_WARM = (
    "no warm step of {function} was traced: what its bare ones, {took} in all, waited for is not "
    "known and not watched in the summary; -steps {first}:{last} traces some"
)


@dataclass(frozen=True, eq=False)
class Excess:
    """Bare steps of which the trace explains a part only; times in ns since the cell's start."""

    start: Ints
    end: Ints
    usual: Ints
    """How much of each it explains: the longest warm step in detail of the same function."""

    def within(self, start: Ints, end: Ints) -> int:
        """Return how much of stretches of time, all inside function calls, is not explained."""
        inside = CoveredTime(self.start, self.end).within(start, end).sum()
        return max(0, int(inside - self.usual.sum()))


@dataclass(frozen=True, eq=False, kw_only=True)
class LongSteps:
    """The bare steps of the cell's thread that are not like those in detail."""

    unknown: Excess
    """Those that traced no function, and all of a function of which no warm step is in detail."""
    prepares: Excess
    """The others, which also prepared the graph that they traced."""
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class _Group:
    """Steps of one function."""

    function: str
    rows: Rows
    """Those that differ from the steps in detail."""
    count: int
    """How many bare steps it has, whether they differ or not."""
    usual: float
    """How many µs its longest warm step in detail took, 0 without any."""
    cold: bool
    """Whether they traced the function."""


def find_long_steps(trace: "RecordedTrace", steps: "Steps", table: "pd.DataFrame") -> LongSteps:
    """Compare the bare steps of the cell's thread with those in detail of the same functions."""
    groups = _groups(table, _on_cell(trace, steps))
    unknown = [group for group in groups if not (group.cold and group.usual)]
    return LongSteps(
        unknown=_excess(table, unknown),
        prepares=_excess(table, [group for group in groups if group not in unknown]),
        notes=tuple(_note(table, group) for group in unknown if not group.cold),
    )


def _on_cell(trace: "RecordedTrace", steps: "Steps") -> Mask:
    """Mark the steps that the clock has seen on the cell's thread."""
    capture = trace.capture
    if steps.clock is None or not capture.windows:
        return np.zeros(max(len(steps.event), 1), dtype=bool)
    on_cell: Mask = np.append(capture.steps.thread, NONE)[steps.clock] == capture.thread
    return on_cell


def _groups(table: "pd.DataFrame", on_cell: Mask) -> list[_Group]:
    micros, in_detail = table["micros"].to_numpy(), table["in_detail"].to_numpy(dtype=bool)
    traced = table["traced"].to_numpy(dtype=bool)
    bare = on_cell & ~in_detail & ~np.isnan(micros)
    groups = []
    for function, rows in table.groupby("function", sort=False).indices.items():
        usual = float(micros[rows[in_detail[rows] & ~traced[rows]]].max(initial=0.0))
        for cold in (False, True):
            alike = rows[bare[rows] & (traced[rows] == cold)]
            longer = alike[micros[alike] > LONGER * usual]
            if (micros[longer] - usual).sum() > NOTABLE * micros[alike].sum():
                groups.append(
                    _Group(
                        function=str(function),
                        rows=longer,
                        count=len(alike),
                        usual=usual,
                        cold=cold,
                    )
                )
    return groups


def _excess(table: "pd.DataFrame", groups: list[_Group]) -> Excess:
    none = np.zeros(0, dtype=np.intp)
    rows = np.concatenate([none, *(group.rows for group in groups)])
    usual = np.repeat([group.usual for group in groups], [len(group.rows) for group in groups])
    start = table["start_micros"].to_numpy()[rows]
    start_ns, end_ns = start * 1e3, (start + table["micros"].to_numpy()[rows]) * 1e3
    return Excess(*(ns.astype(np.int64) for ns in (start_ns, end_ns, usual * 1e3)))


def _note(table: "pd.DataFrame", group: _Group) -> str:
    """Say which steps are not explained, and how to trace some of them."""
    micros, first = table["micros"].to_numpy()[group.rows], int(group.rows[0])
    return (LONGER_NOTE if group.usual else NEVER_WARM).format(
        count=len(group.rows),
        all=group.count,
        function=group.function,
        most=format_seconds(micros.max() * 1e3),
        usual=format_seconds(group.usual * 1e3),
        took=format_seconds(micros.sum() * 1e3),
        first=first,
        last=first + EXAMPLES,
    )

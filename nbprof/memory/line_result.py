"""LineMemory: what `%mprun` measured, able to show itself."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbprof.memory.result_base import Shown
from nbprof.memory.watched_code import Target

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Line:
    """One line of a table; amounts are bytes, NaN where nothing was counted."""

    number: int
    source: str
    hits: int
    growth: float = math.nan
    """How much more is held after it, all hits added up, what it calls included."""
    peak: float = math.nan
    """How far memory rose above where it stood before the line, in the hit where it rose most."""
    usage: float = math.nan
    """The most that was held after it."""
    defines: bool = False
    """Whether it only begins a function; its hits are calls, its usage that of the first."""


@dataclass(frozen=True)
class Table:
    """The lines of one function or cell."""

    name: str
    file: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, eq=False, repr=False)
class LineMemory(Shown):
    """Memory line by line; `frame` is the thing itself, the rest shows it."""

    tables: tuple[Table, ...]
    notes: tuple[str, ...] = ()

    @property
    def frame(self) -> "pd.DataFrame":
        """One row a line, amounts in bytes; NaN where a line did not run."""
        import pandas as pd

        rows = [(table, line) for table in self.tables for line in table.lines]
        return pd.DataFrame(
            {
                "line": [line.number for _, line in rows],
                "source": [line.source for _, line in rows],
                "hits": [line.hits for _, line in rows],
                "growth_bytes": [line.growth for _, line in rows],
                "peak_bytes": [line.peak for _, line in rows],
                "usage_bytes": [line.usage for _, line in rows],
                "function": [table.name for table, _ in rows],
                "file": [table.file for table, _ in rows],
            }
        )

    @property
    def text(self) -> str:
        """The tables as memory_profiler prints them, with a column for the peak inside a line."""
        from nbprof.display.memory import line_table

        return line_table.report(self)

    def _repr_html_(self) -> str:
        from nbprof.display.memory import line_table

        return line_table.html_report(self)


def line_memory(targets: list[Target], notes: tuple[str, ...]) -> LineMemory:
    """Make the result of targets whose lines were counted."""
    tables = tuple(Table(target.name, target.file, tuple(_lines(target))) for target in targets)
    unseen = [target.name for target in targets if not _ran(target)]
    if unseen:
        notes += (f"no line of {', '.join(unseen)} ran in this thread.",)
    return LineMemory(tables, notes)


def _ran(target: Target) -> bool:
    return any(tally.hits for tally in target.tallies.values())


def _lines(target: Target) -> Iterator[Line]:
    last = target.first + len(target.source)
    numbers = range(target.first, last) if target.source else sorted(target.tallies)
    for number in numbers:
        source = target.source[number - target.first] if target.source else ""
        tally = target.tallies.get(number)
        if number == target.first and target.is_function and not (tally and tally.hits):
            entered = target.entered or math.nan
            yield Line(number, source, target.calls, usage=entered, defines=True)
        elif tally is None or not tally.hits:
            yield Line(number, source, 0)
        else:
            yield Line(number, source, tally.hits, tally.growth, tally.peak, tally.usage)

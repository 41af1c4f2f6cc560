"""LineMemory: what `%mprun` measured, able to show itself."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbprof.memory.result_base import Result
from nbprof.memory.watched_code import Target

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Line:
    """One line of a table; amounts are bytes, NaN if the line did not run."""

    number: int
    source: str
    hits: int
    growth: float = math.nan
    """How much more was held after the line than before it, summed over its hits."""
    peak: float = math.nan
    """How far memory rose above its level before the line, in the hit where it rose most."""
    usage: float = math.nan
    """The most held when the line ended."""
    defines: bool = False
    """Whether this is a `def` line: `hits` then counts calls, `usage` is from the first call."""


@dataclass(frozen=True)
class Table:
    """The lines of one function or cell."""

    name: str
    file: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, eq=False, repr=False)
class LineMemory(Result):
    """Memory line by line; `frame` holds the numbers."""

    tables: tuple[Table, ...]
    notes: tuple[str, ...] = ()

    @property
    def frame(self) -> "pd.DataFrame":
        """One row per line, amounts in bytes; NaN where a line did not run."""
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
        """The tables as memory_profiler prints them, plus a column for the peak inside a line."""
        from nbprof.display.memory import line_table

        return line_table.text_report(self)

    def _repr_html_(self) -> str:
        from nbprof.display.memory import line_table

        return line_table.html_report(self)


def line_memory(targets: list[Target], notes: tuple[str, ...]) -> LineMemory:
    """Make a LineMemory of targets whose tallies are filled."""
    tables = tuple(Table(target.name, target.file, tuple(_lines(target))) for target in targets)
    idle = [target.name for target in targets if not _ran(target)]
    if idle:
        notes += (f"no line of {', '.join(idle)} ran in this thread.",)
    return LineMemory(tables, notes)


def _ran(target: Target) -> bool:
    return any(tally.hits for tally in target.tallies.values())


def _lines(target: Target) -> Iterator[Line]:
    end = target.first + len(target.source)
    numbers = range(target.first, end) if target.source else sorted(target.tallies)
    for number in numbers:
        source = target.source[number - target.first] if target.source else ""
        tally = target.tallies.get(number)
        if number == target.first and target.is_function and not (tally and tally.hits):
            usage = target.entered or math.nan
            yield Line(number, source, target.calls, usage=usage, defines=True)
        elif tally is None or not tally.hits:
            yield Line(number, source, 0)
        else:
            yield Line(number, source, tally.hits, tally.growth, tally.peak, tally.usage)

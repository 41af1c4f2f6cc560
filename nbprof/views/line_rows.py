"""The rows of the line view: files, their lines in order, and the functions those led to."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import nan
from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import Floats

if TYPE_CHECKING:
    import pandas as pd

NO_LINE = "no Python line known"
"""The row of the ops that TensorFlow made by itself."""
CALL = "(call) "
"""What the name of a row begins with that is a function which the line above led to."""
Place = tuple[str, int]
"""File and line; line 0 is the file itself."""


@dataclass(slots=True)
class Row:
    """What is known of a file, a line or a called function; NaN if it was not counted."""

    name: str
    level: int
    hits: float = nan
    own_ns: float = nan
    total_ns: float = nan
    source: str = ""

    @property
    def hit_micros(self) -> float:
        """The time per hit in µs; NaN for a file, and for a line without hits."""
        return self.total_ns / self.hits / 1e3 if self.level and self.hits > 0 else nan


@dataclass(frozen=True, eq=False)
class LineRows:
    """Rows in visiting order."""

    rows: list[Row] = field(default_factory=list)
    row_of: dict[Place, int] = field(default_factory=dict)
    """The row of each file and line; that of `NO_LINE` is the file "" ."""

    def add(self, row: Row, place: Place | None = None) -> None:
        """Add the next row."""
        if place is not None:
            self.row_of[place] = len(self.rows)
        self.rows.append(row)

    def numbers(self, name: str) -> Floats:
        """Return one number of each row."""
        return np.array([getattr(row, name) for row in self.rows], dtype=np.float64)


def line_rows(lines: "pd.DataFrame", of_ops: Iterable[Place], has_nowhere: bool) -> LineRows:
    """Arrange the lines that were counted and those that ran ops."""
    counted: dict[Place, Row] = {}
    called: dict[Place, dict[str, Row]] = defaultdict(dict)
    columns = ["file", "line", "hits", "self_ns", "called", "calls", "source"]
    for file, line, hits, ns, function, calls, source in lines[columns].itertuples(
        index=False, name=None
    ):
        if function:
            name = f"{CALL}{_short(function)}"
            row = called[file, line].setdefault(name, Row(name, 2, 0.0, 0.0, 0.0))
            row.hits, row.total_ns = row.hits + calls, row.total_ns + ns
        else:
            row = counted.setdefault((file, line), Row("", 1, 0.0, 0.0, 0.0, source))
            row.hits, row.own_ns = row.hits + hits, row.own_ns + ns
    files = dict.fromkeys([*lines["file"], *(file for file, _ in of_ops)])
    files = dict.fromkeys(sorted(files, key=lambda file: not file.startswith("In [")))
    names = _names_of(files)
    found = LineRows()
    for file in files:
        here = sorted({line for other, line in [*counted, *of_ops] if other == file})
        found.add(_of_file(names[file], [counted.get((file, line)) for line in here]), (file, 0))
        for line in here:
            row = counted.get((file, line), Row("", 1))
            below = called.get((file, line), {}).values()
            row.name = f"{names[file]}:{line}"
            row.total_ns = row.own_ns + sum(one.total_ns for one in below)
            found.add(row, (file, line))
            for one in below:
                found.add(one)
    if has_nowhere:
        found.add(Row(NO_LINE, 0), ("", 0))
    return found


def _of_file(name: str, lines: list[Row | None]) -> Row:
    """Return the row of a file: its total is what its lines took themselves."""
    known = [row for row in lines if row is not None]
    if not known:
        return Row(name, 0)
    return Row(
        name, 0, sum(row.hits for row in known), 0.0, float(sum(row.own_ns for row in known))
    )


def _names_of(files: Iterable[str]) -> dict[str, str]:
    """Name files without folders, but with them where two are alike."""
    names = {file: _short(file) for file in files}
    often = list(names.values())
    return {file: name if often.count(name) == 1 else file for file, name in names.items()}


def _short(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]

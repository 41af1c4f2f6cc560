"""Rows of the line view, whose text is pprofile's table: of nbprof's reports."""

import re
from collections.abc import Sequence
from math import isnan, nan
from typing import Any

from nbprof.columns import COLUMNS, ROOT
from nbprof.units import NOT_RECORDED
from nbprof.views.printed.legend import RowError

Row = dict[str, Any]
OF_PYTHON = {"Hits": "hits", "Time": "wall_micros", "Time per hit": "hit_micros"}
"""The columns behind the titles."""
_DURATION = re.compile(r"(?:Total|File) duration: (\S+?)s?(?: \(.*\))?")
_CALLED = re.compile(r"# (.*:\d+) (.*)")


class _Reader:
    """Reads line by line, and adds up what the text does not say."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.titles: list[str] = []

    def take(self, line: str) -> None:
        """Read a line."""
        if line.startswith("Total duration: "):
            self._add(ROOT, 0, {"total_wall_micros": _duration(line)})
        elif line.startswith("File: "):
            self._add(line.removeprefix("File: "), 1, {})
        elif line.startswith("File duration: "):
            self.rows[-1]["total_wall_micros"] = _duration(line)
        elif line.startswith("Line #|"):
            self.titles = [title.strip() for title in line.split("|")[1:-1]]
        elif not line.startswith("------+"):
            self._take_row(line)

    def _take_row(self, line: str) -> None:
        number, *cells = line.split("|", len(self.titles) + 1)
        if not self.titles or len(cells) != len(self.titles) + 1:
            raise RowError(f"expected a line's number and {len(self.titles)} numbers at {line!r}")
        numbers = self._numbers(cells[:-1])
        number, text = number.strip(), cells[-1]
        if number == "-":
            self.rows[-1] |= {name: value for name, value in numbers.items() if name not in TIMED}
        elif number == "(call)":
            found = _CALLED.fullmatch(text)
            if found is None:
                raise RowError(f"expected # and a function at {line!r}")
            self._add(f"(call) {found[1]}({found[2]})", 3, {**numbers, "wall_micros": 0.0})
        else:
            file = next(row["name"] for row in reversed(self.rows) if row["depth"] == 1)
            self._add(f"{file}:{number}", 2, {**numbers, "source": text})

    def _add(self, name: str, depth: int, numbers: Row) -> None:
        places = [place for place, row in enumerate(self.rows) if row["depth"] == depth - 1]
        if depth and not places:
            raise RowError(f"{name} stands below nothing")
        parent = places[-1] if depth else -1
        row = {"name": name, "parent": parent, "depth": depth, "source": "", **numbers}
        self.rows.append({**row, "accounted": depth > 0})

    def _numbers(self, cells: Sequence[str]) -> Row:
        numbers: Row = {}
        for title, cell in zip(self.titles, cells, strict=True):
            name = OF_PYTHON.get(title, title)
            if name == "%":
                continue
            value = _number(cell.strip())
            if name in ("wall_micros", "hit_micros"):
                value = 1e6 * value if name == "hit_micros" else round(1e6 * value, 3)
            numbers |= {name: value, f"total_{name}": value}
        return numbers

    def add_up(self) -> None:
        """Fill in what follows from other rows."""
        metrics = {name for row in self.rows for name in row if name.startswith("total_")}
        names = sorted(name.removeprefix("total_") for name in metrics)
        if "Time" not in self.titles:
            names.remove("wall_micros")  # durations are printed even if it is not selected
        for place in range(len(self.rows) - 1, -1, -1):
            row = self.rows[place]
            below = [other for other in self.rows[place + 1 :] if other["parent"] == place]
            for name in names:
                _fill(row, name, below)


TIMED = {name for title in OF_PYTHON.values() for name in (title, f"total_{title}")}


def _fill(row: Row, name: str, below: list[Row]) -> None:
    """Fill in the own number of a line and the numbers of files and the root."""
    total = f"total_{name}"
    depth = row["depth"]
    if name == "hit_micros" and depth < 2:
        row[name] = row[total] = nan
    elif name == "wall_micros":
        row[name] = _own_time(row, [other[total] for other in below])
    elif depth < 2:
        known = [other[total] for other in below if not isnan(other[total])]
        own = row.get(name, 0.0) if depth else 0.0 if name == "hits" else nan
        row[total] = float(sum(known)) + (0.0 if isnan(own) else own)
        row[name] = own
        if name == "hits" and not known:  # a file of which only ops are known
            row[name] = row[total] = nan
    elif depth == 3 and name != "hits":
        row.setdefault(name, 0.0)


def _own_time(row: Row, inner: list[float]) -> float:
    """Return what is left of a row's time without what is inside; a file has nothing of its own."""
    if row["depth"] == 3 or isnan(row["total_wall_micros"]):
        return 0.0 if row["depth"] == 3 else nan
    if row["depth"] == 1:
        return 0.0
    own = row["total_wall_micros"] - sum(ns for ns in inner if not isnan(ns))
    return float(max(round(own, 3), 0.0))


def read(lines: Sequence[str]) -> tuple[list[str], list[Row]]:
    """Read the table; return the names of its columns, too."""
    reader = _Reader()
    for line in lines:
        reader.take(line)
    reader.add_up()
    names = {OF_PYTHON.get(title, title) for title in reader.titles}
    columns = [
        name for name, column in COLUMNS.items() if column.metrics and {*column.metrics} <= names
    ]
    return columns, reader.rows


def _duration(line: str) -> float:
    found = _DURATION.fullmatch(line)
    if found is None:
        raise RowError(f"expected a duration at {line!r}")
    return round(1e6 * _number(found[1]), 3)


def _number(cell: str) -> float:
    try:
        return nan if cell == NOT_RECORDED else float(cell)
    except ValueError:
        raise RowError(f"{cell!r} is not a number") from None

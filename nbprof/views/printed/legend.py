"""The legend: the columns of a printed report, as any release of tfprof names them."""

from collections.abc import Sequence
from dataclasses import dataclass

from nbprof.columns import COLUMNS, Column
from nbprof.errors import NbprofError
from nbprof.units import BYTES, MICROS, parse_number

BEGINS = "node name |"
"""Beginning of the legend."""


class RowError(Exception):
    """A line is not a row of the table; the message says what was expected."""


@dataclass(frozen=True)
class Heading:
    """One title of a legend."""

    column: Column
    metrics: tuple[str, ...]
    """The numbers in its cells, in order."""
    note: str = ""
    """How an old release's column differs from today's."""


def _heading(name: str) -> Heading:
    return Heading(COLUMNS[name], COLUMNS[name].metrics)


def _headings() -> dict[str, Heading]:
    """Return the headings by title, today's first."""
    titles = {column.title: name for name, column in COLUMNS.items() if column.title}
    titles |= {column.tree_title: name for name, column in COLUMNS.items() if column.tree_title}
    return {title: _heading(name) for title, name in titles.items()} | OLD_HEADINGS


OLD_HEADINGS = {
    "execution time": Heading(
        COLUMNS["micros"],
        ("micros",),
        "the report is from an old tfprof that printed a single time; it is kept as micros",
    ),
    "op occurrence": Heading(
        COLUMNS["occurrence"],
        ("defined_count",),
        "the report is from an old tfprof that counted nodes, not runs; run_count is not known",
    ),
}
"""Titles that only old releases printed."""


def parse_legend(line: str, number: int) -> tuple[Heading, ...]:
    """Read the line `node name | …`; an unknown title is refused."""
    known = _headings()
    titles = [title.strip() for title in line.strip().removeprefix(BEGINS).split(" | ")]
    found: dict[str, Heading] = {}
    for title in filter(None, titles):
        if title not in known:
            raise NbprofError(
                f"line {number}: there is no column {title!r}; expected some of "
                f"{', '.join(map(repr, known))}."
            )
        heading = known[title]
        if heading.column.name in found:
            raise NbprofError(f"line {number}: the column {heading.column.name} comes twice.")
        found[heading.column.name] = heading
    return tuple(found.values())


WORDS_IN_DOC = {"param": "params", "flops": "float_ops", "input shape": "input_shapes"}
"""Columns that tfprof's Doc block calls something other than their title."""


def legend_of_doc(lines: Sequence[str]) -> tuple[Heading, ...]:
    """Read the columns of an op view without nodes from its Doc block, since it has no legend."""
    known = {title: heading.column.name for title, heading in _headings().items()}
    known |= {name: name for name in ("device", "op_types", "occurrence")} | WORDS_IN_DOC
    words = {line.partition(": ")[0] for line in lines}
    names = {known[word] for word in words if word in known}
    return tuple(_heading(name) for name in COLUMNS if name in names)


TIMES = ("micros", "accelerator_micros", "cpu_micros")
"""The order in which tfprof prints its three times."""


def legend_of_cells(cells: list[str], number: int) -> tuple[Heading, ...]:
    """Guess the columns from the root's cells, for old releases that printed no legend."""
    kinds = [_kind(cell) for cell in cells]
    times = kinds.count("time")
    if None in kinds or times == 2 or len(set(kinds)) < len(kinds) - max(0, times - 1):
        raise NbprofError(
            f"line {number}: the report has no legend, and its cells do not show which columns "
            f"they are; add the line '{BEGINS} …' above this one."
        )
    one_time = (OLD_HEADINGS["execution time"],)
    time_columns = iter([_heading(name) for name in TIMES] if times > 1 else one_time)
    return tuple(next(time_columns) if kind == "time" else _heading(str(kind)) for kind in kinds)


def _kind(cell: str) -> str | None:
    """Return the column of a cell, `time` for any of the three times, None if it is unclear."""
    for name, column in COLUMNS.items():
        for suffix in filter(None, (column.tree_suffix, column.suffix)):
            if suffix in cell:
                return name
    total = cell.partition(" ")[0].rpartition("/")[2]
    for kind, unit in (("time", MICROS), ("bytes", BYTES)):
        try:
            parse_number(total, unit)
        except ValueError:
            continue
        return kind if kind == "time" else None  # there are four columns of bytes
    return None

"""The legend: which columns a printed report has, in the words of any release of tfprof."""

from collections.abc import Sequence
from dataclasses import dataclass

from nbprof.columns import COLUMNS, Column
from nbprof.errors import NbprofError
from nbprof.units import format_bytes, format_micros, parse_number

BEGINS = "node name |"


class RowError(Exception):
    """A line is no row of the table; the text says what was expected instead."""


@dataclass(frozen=True)
class Heading:
    """One title of a legend."""

    column: Column
    metrics: tuple[str, ...]
    """The numbers its cells have, in their order."""
    note: str = ""
    """What a reader must know of a column that is not what it is today."""

    @property
    def is_shared(self) -> bool:
        """Tell whether the op view has two shares beside the number."""
        return len(self.column.metrics) == 1


def _heading(name: str) -> Heading:
    return Heading(COLUMNS[name], COLUMNS[name].metrics)


def _today() -> dict[str, Heading]:
    titles = {column.title: name for name, column in COLUMNS.items() if column.title}
    titles |= {column.tree_title: name for name, column in COLUMNS.items() if column.tree_title}
    return {title: _heading(name) for title, name in titles.items()}


HEADINGS = {
    **_today(),
    "execution time": Heading(
        COLUMNS["micros"],
        ("micros",),
        "the report is of an old tfprof with one time only: it is kept as micros",
    ),
    "op occurrence": Heading(
        COLUMNS["occurrence"],
        ("defined_count",),
        "the report is of an old tfprof that counted nodes, not runs: run_count is not known",
    ),
}
"""The title of every column, old ones behind today's."""


def parse_legend(line: str, number: int) -> tuple[Heading, ...]:
    """Read the line `node name | …`; a title that is not known is refused."""
    titles = [title.strip() for title in line.strip().removeprefix(BEGINS).split(" | ")]
    found: dict[str, Heading] = {}
    for title in filter(None, titles):
        if title not in HEADINGS:
            raise NbprofError(
                f"line {number}: there is no column {title!r}; expected some of "
                f"{', '.join(map(repr, HEADINGS))}."
            )
        heading = HEADINGS[title]
        if heading.column.name in found:
            raise NbprofError(f"line {number}: the column {heading.column.name} comes twice.")
        found[heading.column.name] = heading
    return tuple(found.values())


WORDS_OF_DOC = {"param": "params", "flops": "float_ops", "input shape": "input_shapes"}
"""What tfprof's Doc block calls columns that have another title."""


def legend_of_doc(lines: Sequence[str]) -> tuple[Heading, ...]:
    """Tell the columns of an op view of no nodes, which has no legend, from its Doc block."""
    known = {title: heading.column.name for title, heading in HEADINGS.items()}
    known |= {name: name for name in ("device", "op_types", "occurrence")} | WORDS_OF_DOC
    words = {line.partition(": ")[0] for line in lines}
    names = {known[word] for word in words if word in known}
    return tuple(_heading(name) for name in COLUMNS if name in names)


TIMES = ("micros", "accelerator_micros", "cpu_micros")


def legend_of_cells(cells: list[str], number: int) -> tuple[Heading, ...]:
    """Tell the columns from the root's own cells, where old releases printed no legend."""
    kinds = [_kind(cell) for cell in cells]
    times = kinds.count("time")
    if None in kinds or times == 2 or len(set(kinds)) < len(kinds) - max(0, times - 1):
        raise NbprofError(
            f"line {number}: the report has no legend, and its cells do not tell which columns "
            f"they are: expected a line '{BEGINS} …' above this one."
        )
    one_time = (HEADINGS["execution time"],)
    three_times = iter([_heading(name) for name in TIMES] if times > 1 else one_time)
    return tuple(next(three_times) if kind == "time" else _heading(str(kind)) for kind in kinds)


def _kind(cell: str) -> str | None:
    for name, column in COLUMNS.items():
        for unit in filter(None, (column.tree_unit, column.unit)):
            if unit in cell:
                return name
    total = cell.partition(" ")[0].rpartition("/")[2]
    for kind, written_by in (("time", format_micros), ("bytes", format_bytes)):
        try:
            parse_number(total, written_by)
        except ValueError:
            continue
        return kind if kind == "time" else None  # there are four columns of bytes
    return None

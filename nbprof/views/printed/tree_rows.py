"""Rows of tree views: two spaces per level, a name, and cells in the last parentheses."""

from math import nan
from typing import TYPE_CHECKING, Any

from nbprof.columns import ROOT
from nbprof.units import NOT_RECORDED, parse_number
from nbprof.views.printed.input_shapes import parse_shapes
from nbprof.views.printed.legend import RowError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbprof.views.printed.legend import Heading

NO_SELF = "--"
"""What tfprof prints as the own number of a row that does not count for itself."""
NOT_IN_CODE = " N/A in code view"
"""What tfprof prints after the name of a column that its code view does not have."""
IN_VALUES = ("[", "]")
"""Beginnings of the lines of a variable's value, which are printed below its row."""


class TreeRows:
    """The rows of a printed tree, read one by one."""

    needed_blanks = 1
    """The fewest empty lines between the table and other text."""
    blank_ends = False
    """Whether an empty line always ends the table."""

    def __init__(self, headings: "Sequence[Heading]") -> None:
        self._headings = list(headings)
        self.rows: list[dict[str, Any]] = []
        self._open: list[int] = []
        """The last row read and those above it, outermost first."""

    @property
    def rows_are_distinct(self) -> bool:
        """Whether a row can be told from other text: by its numbers."""
        return any(heading.metrics for heading in self._headings)

    def ends(self, line: str) -> bool:
        """Return whether this line cannot belong to the table, whose rows are indented."""
        return bool(self.rows) and not line.startswith((" ", *IN_VALUES))

    def take(self, line: str) -> None:
        """Read a line of the table and keep its row."""
        if line.startswith(IN_VALUES) and self.rows:
            self.rows[-1].setdefault("tensor_value", []).append(line)
            return
        row = self.parse(line)
        depth = row["depth"]
        if not self.rows and (depth or row["name"] != ROOT):
            raise RowError(f"expected the first row to be {ROOT}")
        if depth > len(self._open) or (self.rows and not depth):
            raise RowError(
                f"expected 2 to {2 * len(self._open)} spaces before the name, not {2 * depth}"
            )
        del self._open[depth:]
        row["parent"] = self._open[-1] if self._open else -1
        self._open.append(len(self.rows))
        self.rows.append(row)

    def parse(self, line: str) -> dict[str, Any]:
        """Read a row."""
        name, cells = split_row(line)
        indent = len(name) - len(name.lstrip(" "))
        if indent % 2:
            raise RowError(f"expected two spaces per level, not {indent}")
        row: dict[str, Any] = {"name": name[indent:], "depth": indent // 2, "accounted": True}
        for heading in self._headings:
            self._take_cells(row, heading, cells)
        if cells and (self._headings or cells != [""]):
            titles = ", ".join(heading.column.title for heading in self._headings)
            raise RowError(f"expected no more cells than {titles or 'none'}")
        row["accounted"] &= indent > 0
        return row

    def _take_cells(self, row: dict[str, Any], heading: "Heading", cells: list[str]) -> None:
        """Take the cells of a column off the list; an optional one or a label may be missing."""
        column = heading.column
        name = column.name
        if column.optional:
            expected = len(self._headings) - self._headings.index(heading)
            row[name] = cells.pop(0) if len(cells) == expected else None
            return
        if column.label:
            has_label = len(cells) > 1 and not cells[0].endswith(column.tree_suffix)
            row[column.label] = cells.pop(0) if has_label else ""
        if not cells:
            raise RowError(f"expected a cell for {column.title}")
        cell = cells.pop(0)
        if cell == name + NOT_IN_CODE:
            row |= {"counted": False, **_nothing(heading)}
        elif column.shows == "shapes":
            row[name] = parse_shapes(cell)
        elif not heading.metrics:
            row[name] = cell
        else:
            _take_numbers(row, heading, cell)


def split_row(line: str) -> tuple[str, list[str]]:
    """Split a row into its name, with the spaces before it, and its cells."""
    name, opened, rest = line.rstrip().rpartition(" (")
    if not opened or not rest.endswith(")"):
        raise RowError("expected a name and its cells in parentheses")
    return name, [cell.strip() for cell in rest[:-1].split(",")]


def _nothing(heading: "Heading") -> dict[str, Any]:
    if not heading.column.metrics:
        return {heading.column.name: []}
    metrics = heading.column.metrics
    return dict.fromkeys((*metrics, *(f"total_{metric}" for metric in metrics)), nan)


def _take_numbers(row: dict[str, Any], heading: "Heading", cell: str) -> None:
    """Read `self/total`, or for counts two such pairs separated by a bar."""
    column = heading.column
    suffix = column.tree_suffix
    pairs = cell.removesuffix(suffix).split("|")
    if not cell.endswith(suffix) or len(pairs) != len(heading.metrics):
        raise RowError(f"expected {column.title} as self/total{suffix} at {cell[:40]!r}")
    row |= _nothing(heading)
    for metric, pair in zip(heading.metrics, pairs, strict=True):
        own, _, total = pair.rpartition("/")
        if total == "a":  # of `n/a`
            own, total = own.removesuffix("n").removesuffix("/"), NOT_RECORDED
        row["accounted"] &= own != NO_SELF
        try:
            row[f"total_{metric}"] = parse_number(total, column.unit)
            row[metric] = nan if own == NO_SELF else parse_number(own, column.unit)
        except ValueError as error:
            raise RowError(f"expected {column.title} as self/total, but {error}") from None

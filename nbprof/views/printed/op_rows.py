"""Rows of the op view: a name padded to 25 bytes, then cells separated by commas."""

import re
from functools import cache
from math import nan
from typing import TYPE_CHECKING, Any

from nbprof.columns import COLUMNS, ROOT
from nbprof.units import COUNT, NOT_RECORDED, parse_number
from nbprof.views.printed.input_shapes import DETAIL, parse_detail
from nbprof.views.printed.legend import RowError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbprof.views.printed.legend import Heading

NAME_WIDTH = 25
"""Width in bytes to which tfprof pads a name."""

# Repetitions in these patterns are bounded, so that no text takes long.
_SHARE = r"(-?[0-9]{1,25}\.[0-9]{1,2})%"
_BETWEEN_CELLS = re.compile(r",(?! ?-?[0-9.]{1,28}%\))")
_COUNTS_AT_END = re.compile(r"[0-9]{1,18}\|[0-9]{1,18}$")
_DEVICE = re.compile(r"\|?/(?:job|device):|$")


@cache
def _shared_number(suffixes: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of a number with its two shares, or of one that was not recorded."""
    suffix = "|".join(map(re.escape, suffixes))
    return re.compile(
        rf"(-?[0-9]{{1,19}}(?:\.[0-9]{{1,6}})?)([A-Za-z]{{0,3}}(?:{suffix})?)"
        rf" \({_SHARE}, {_SHARE}\)"
        rf"|(?<![^ ,])n/a(?:{suffix})?(?=,|$)"
    )


class OpRows:
    """The rows of a printed op view, read one by one."""

    def __init__(self, headings: "Sequence[Heading]") -> None:
        self._cells = [h for h in headings if h.column.shows != "shapes"]
        self._shared = sum(heading.column.has_shares for heading in self._cells)
        self._has_shapes = len(self._cells) < len(headings)
        suffixes = (column.suffix for column in COLUMNS.values() if column.suffix)
        self._shared_number = _shared_number(tuple(suffixes))
        self.rows: list[dict[str, Any]] = []
        self.needed_blanks = 2 if self._has_shapes else 1
        """The fewest empty lines between the table and other text."""

    @property
    def rows_are_distinct(self) -> bool:
        """Whether a row can be told from other text: by its numbers."""
        return self._shared > 0

    @property
    def blank_ends(self) -> bool:
        """Whether an empty line always ends the table."""
        return not self._shared and not self._has_shapes

    def ends(self, line: str) -> bool:
        """Return whether this line cannot belong to the table."""
        return bool(self.rows) and self.rows[0]["name"] == ROOT and not line.startswith(DETAIL)

    def take(self, line: str) -> None:
        """Read a line of the table and keep its row."""
        if not line.startswith(DETAIL):
            self.rows.append(self.parse(line))
        elif self._has_shapes and self.rows:
            self.rows[-1]["input_shapes"].append(parse_detail(line))
        else:
            raise RowError("expected a row above, and 'input shapes' in the legend")

    def parse(self, line: str) -> dict[str, Any]:
        """Read a row."""
        name, rest = self._split(line.rstrip())
        cells = [cell.strip() for cell in _BETWEEN_CELLS.split(rest)] if self._cells else []
        if len(cells) != len(self._cells):
            titles = ", ".join(heading.column.title for heading in self._cells)
            raise RowError(f"expected {len(self._cells)} cells: {titles}")
        row: dict[str, Any] = {"name": name}
        for heading, cell in zip(self._cells, cells, strict=True):
            row.update(_parse_cell(heading, cell, self._shared_number))
        return {**row, "input_shapes": []} if self._has_shapes else row

    def _split(self, line: str) -> tuple[str, str]:
        """Split a line where its name ends."""
        if not self._cells:
            return line, ""
        if not self._cells[0].column.has_shares:
            return _cut_at_width(line, self._cells[0])
        found = list(self._shared_number.finditer(line))
        if len(found) < self._shared:
            raise RowError(
                f"expected {self._shared} numbers, each with two shares, as '5us (…%, …%)'"
            )
        start = found[-self._shared].start()
        if start and line[start - 1] != " ":
            start += _digits_of_name(line[:start], found[-self._shared][1] or "", line[start:])
        return line[:start].rstrip(" "), line[start:]


def _digits_of_name(name: str, number: str, rest: str) -> int:
    """Return how many digits belong to a name that runs into its first number.

    tfprof pads names to 25 bytes and cells to 30; if both are longer, no space is left between
    them. Names of ops often end in V2; a number never begins with 0 and is below 1000 before a k.
    """
    taken = 0
    if number.startswith("-"):
        taken = 1
    whole = number.partition(".")[0]
    if name.endswith("V") and len(whole) > 1:
        taken = 1
    unit = rest[len(number) : len(number) + 1]
    while taken < len(whole) - 1 and (
        whole[taken] == "0" or (unit in ("k", "m", "K", " ") and int(whole[taken:]) > 1000)
    ):
        taken += 1
    return taken


def _cut_at_width(line: str, first: "Heading") -> tuple[str, str]:
    """Split a line whose first cell is not a number with shares."""
    encoded = line.encode(errors="surrogateescape")
    if len(encoded) <= NAME_WIDTH or encoded[NAME_WIDTH - 1 : NAME_WIDTH] == b" ":
        end = len(encoded[:NAME_WIDTH].decode(errors="surrogateescape"))
    elif first.column.name == "occurrence":
        counts = _COUNTS_AT_END.search(line)
        end = counts.start() if counts else 0
    elif first.column.name == "device":
        device = _DEVICE.search(line, NAME_WIDTH // 4)
        end = device.start() if device else 0
    else:
        end = _length_of_type(line.partition(",")[0])
    if not end and line:
        raise RowError("expected a name padded to 25 bytes, then its cells")
    return line[:end].rstrip(" "), line[end:]


def _length_of_type(line: str) -> int:
    """Return the length of a name that is followed by its op types, one of which is the name."""
    first, *types = line.split("|")
    half = first[: len(first) // 2]
    types += [half] * (first == half + half)
    return max((len(name) for name in types if line.startswith(name)), default=0)


def _parse_cell(heading: "Heading", cell: str, shared_number: re.Pattern[str]) -> dict[str, Any]:
    if not heading.metrics:
        return {heading.column.name: cell}
    if heading.column.has_shares:
        return _parse_shared(heading, cell, shared_number)
    return _parse_counts(heading, cell)


def _parse_shared(heading: "Heading", cell: str, shared_number: re.Pattern[str]) -> dict[str, Any]:
    """Read `5us (100.00%, 3.50%)`: the share from this row down, then its own."""
    found = shared_number.fullmatch(cell)
    number = found[1] + found[2] if found and found[1] else cell
    if not found or not number.endswith(heading.column.suffix):
        raise RowError(f"expected {heading.column.title} at {cell[:40]!r}")
    metric = heading.column.metrics[0]
    try:
        value = parse_number(number.removesuffix(heading.column.suffix), heading.column.unit)
    except ValueError as error:
        raise RowError(f"expected {heading.column.title}, but {error}") from None
    own, below = (float(found[4]), float(found[3])) if found[1] else (nan, nan)
    return {metric: value, f"{metric}_percent": own, f"{metric}_accumulated_percent": below}


def _parse_counts(heading: "Heading", cell: str) -> dict[str, Any]:
    """Read `12|15`: runs, then nodes; old releases printed only the nodes."""
    texts = cell.split("|")
    row: dict[str, Any] = dict.fromkeys(heading.column.metrics, nan)
    if len(texts) == len(heading.metrics):
        try:
            numbers = [parse_number(text, COUNT) for text in texts]
        except ValueError:
            numbers = []
        if numbers:
            return row | dict(zip(heading.metrics, numbers, strict=True))
    expected = "|".join(heading.metrics)
    raise RowError(f"expected {expected} at {cell[:40]!r}, as in {NOT_RECORDED} or 12|15")

"""`parse_text`: find the table in a report's text, read its rows, make a View of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nbprof.columns import ROOT
from nbprof.errors import NbprofError
from nbprof.view_kinds import VIEWS
from nbprof.views.printed.frame import make_view
from nbprof.views.printed.legend import (
    BEGINS,
    Heading,
    RowError,
    legend_of_cells,
    legend_of_doc,
    parse_legend,
)
from nbprof.views.printed.op_rows import OpRows
from nbprof.views.printed.own_tables import CUT, notes_above, read_own_table
from nbprof.views.printed.tree_rows import TreeRows, split_row
from nbprof.views.printed.view_guess import PROMPT, guess_tree_view, is_graph, named_above
from nbprof.views.view import View

ENDS = ("=====", "```", PROMPT)
"""Beginnings of lines that end any table."""
LEFT_OUT = ("...", "…")
"""Lines that stand for rows someone left out."""
WIDEST_QUOTE = 60
"""Longest line that an error quotes in full, in characters."""

NO_REPORT = (
    "this is not a tfprof report: expected a line 'node name | …' with the names of its columns, "
    "or a row '_TFProfRoot (…)'."
)
GUESSED = "the report does not say which view it is; its rows look like the {} view"


def parse_text(report: str) -> View:
    """Read a printed report back into a View; see `nbprof.parse_text`."""
    if not isinstance(report, str):
        raise NbprofError(f"parse_text takes the text of a report, not {type(report).__name__}.")
    lines = [line.rstrip("\r") for line in report.split("\n")]
    _refuse_surrogates(lines)
    own = read_own_table(lines)
    if own is not None:
        return own
    table = _find(lines)
    named = named_above(lines[: table.first])
    rows = _read(table, named)
    notes = notes_above(lines[: table.first])
    notes += [heading.note for heading in table.headings if heading.note]
    notes += rows.notes
    name = named or "op"
    if isinstance(rows.reader, TreeRows) and named is None:
        name = guess_tree_view(table.headings, rows.reader.rows, table.legend)
        notes.append(GUESSED.format(name))
    elif name == "scope" and is_graph(rows.reader.rows):
        name = "graph"
    return make_view(name, table.headings, rows.reader.rows, tuple(notes))


def _refuse_surrogates(lines: Sequence[str]) -> None:
    """Refuse lone surrogates, since names are measured in bytes."""
    for number, line in enumerate(lines, 1):
        try:
            line.encode(errors="surrogateescape")
        except UnicodeEncodeError:
            raise NbprofError(
                f"line {number} has half a character (a lone surrogate): pass the text as printed."
            ) from None


@dataclass(frozen=True)
class _Table:
    """The place of the table in the report, and its columns."""

    lines: Sequence[str]
    """All lines of the report, without the table's indentation."""
    first: int
    """The line of the legend, or of the root if there is no legend."""
    legend: str
    headings: tuple[Heading, ...]


def _find(lines: Sequence[str]) -> _Table:
    """Find the legend, or the root of a tree without one."""
    first = _first(lines, BEGINS)
    if first is None:
        first = _first(lines, ROOT)
    if first is None:
        raise NbprofError(NO_REPORT)
    margin = lines[first][: len(lines[first]) - len(lines[first].lstrip(" "))]
    lines = [line.removeprefix(margin) for line in lines]
    line = lines[first]
    if line.startswith(BEGINS):
        return _Table(lines, first, line, parse_legend(line, first + 1))
    if not line.startswith(f"{ROOT} (") and _is_flat(named_above(lines[:first])):
        return _Table(lines, first, "", legend_of_doc(lines[:first]))
    return _Table(lines, first, "", legend_of_cells(_cells_of_root(line, first + 1), first + 1))


def _is_flat(view: str | None) -> bool:
    return view is not None and not VIEWS[view].is_tree


def _first(lines: Sequence[str], beginning: str) -> int | None:
    found = (place for place, line in enumerate(lines) if line.lstrip(" ").startswith(beginning))
    return next(found, None)


def _cells_of_root(line: str, number: int) -> list[str]:
    if line.rstrip() == ROOT:  # the op view without nodes and columns
        return []
    try:
        name, cells = split_row(line)
    except RowError as why:
        raise _refused(number, line, f"{why}") from None
    if name != ROOT:
        raise _refused(number, line, "expected the root of a tree, or a legend above it")
    return [cell for cell in cells if cell]


@dataclass
class _Read:
    """The rows of a table, and notes about them."""

    reader: OpRows | TreeRows
    notes: list[str]


def _read(table: _Table, named: str | None) -> _Read:
    """Read the rows up to the table's end; a damaged row is an error, not the end."""
    begin = table.first + bool(table.legend)
    rest = [(begin + 1 + place, line) for place, line in enumerate(table.lines[begin:])]
    is_tree = _is_tree(rest, named)
    reader = TreeRows(table.headings) if is_tree else OpRows(table.headings)
    notes: list[str] = []
    blanks = 0
    end = len(rest)
    for place, (number, line) in enumerate(rest):
        if not line.strip():
            blanks += 1
        elif line.strip() in LEFT_OUT:
            notes.append(f"rows were left out of the report at its line {number}")
        elif _is_over(reader, line, blanks) or not _taken(reader, line, number, blanks):
            end = place
            break
        else:
            blanks = 0
    if is_tree and not reader.rows:
        raise NbprofError(f"line {begin + 1}: expected the row '{ROOT} (…)' of a tree.")
    notes += [line for _, line in rest[end : end + 1] if line.startswith(CUT)]
    _check_rest(reader, rest[end:])
    return _Read(reader, notes)


def _is_tree(rest: Iterable[tuple[int, str]], named: str | None) -> bool:
    if named:
        return VIEWS[named].is_tree
    first = next((line for _, line in rest if line.strip()), "")
    return first.startswith(f"{ROOT} (")


def _is_over(reader: OpRows | TreeRows, line: str, blanks: int) -> bool:
    if line.startswith((*ENDS, CUT, BEGINS)):
        return True
    return reader.ends(line) or bool(reader.rows and blanks and reader.blank_ends)


def _taken(reader: OpRows | TreeRows, line: str, number: int, blanks: int) -> bool:
    """Read a row; return False if the line is not a row and empty lines ended the table."""
    try:
        reader.take(line)
    except RowError as why:
        if blanks >= reader.needed_blanks and reader.rows:
            return False
        raise _refused(number, line, f"{why}") from None
    return True


def _check_rest(reader: OpRows | TreeRows, rest: Sequence[tuple[int, str]]) -> None:
    """Refuse a second report, and rows after the apparent end, so that none get lost."""
    for number, line in rest:
        if line.lstrip(" ").startswith((BEGINS, ROOT)):
            raise NbprofError(f"line {number} begins a second report; parse one at a time.")
        if reader.rows_are_distinct and _is_row(reader, line):
            raise _refused(
                number, line, f"expected no row after line {rest[0][0]}, which is not one"
            )


def _is_row(reader: OpRows | TreeRows, line: str) -> bool:
    try:
        reader.parse(line)
    except RowError:
        return False
    return True


def _refused(number: int, line: str, expected: str) -> NbprofError:
    shown = line if len(line) <= WIDEST_QUOTE else line[: WIDEST_QUOTE - 1] + "…"
    return NbprofError(f"line {number} is not a row of this report: {expected}; it is {shown!r}.")

"""Reports of views whose text has a table of its own, such as that of pstats."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nbprof.columns import COLUMNS
from nbprof.errors import NbprofError
from nbprof.view_kinds import VIEWS, PrintedTable, imported
from nbprof.views.printed.frame import make_view
from nbprof.views.printed.legend import Heading, RowError

if TYPE_CHECKING:
    from nbprof.views.view import View

CUT = "… and "
"""Beginning of the line that nbprof writes below a report it had to cut."""


def notes_above(lines: Sequence[str]) -> list[str]:
    """Return the notes of a report."""
    return [line.removeprefix("note: ") for line in lines if line.startswith("note: ")]


def read_own_table(lines: Sequence[str]) -> "View | None":
    """Read the first table that is a view's own; None if there is none."""
    for first, line in enumerate(lines):
        for name, kind in VIEWS.items():
            if kind.printed is not None and kind.printed.legend in line:
                return _read(lines, first, name, kind.printed)
    return None


def _read(lines: Sequence[str], first: int, name: str, printed: PrintedTable) -> "View":
    rest = lines[first:]
    end = next(
        (place for place, line in enumerate(rest) if not line or line.startswith(CUT)), len(rest)
    )
    notes = notes_above(lines[:first])
    notes += [line for line in rest[end : end + 1] if line]
    try:
        columns, rows = imported(printed.reader)(rest[:end])
    except RowError as why:
        raise NbprofError(
            f"the table of the {name} view on line {first + 1} cannot be read: {why}."
        ) from None
    if not rows:
        raise NbprofError(f"the table of the {name} view on line {first + 1} has no rows.")
    headings = [Heading(COLUMNS[column], COLUMNS[column].metrics) for column in columns]
    return make_view(name, headings, rows, tuple(notes))

"""A View as tfprof printed it: header, notes, `Profile:`, legend, rows, and nothing after."""

from collections.abc import Iterator
from dataclasses import replace
from math import isnan
from typing import TYPE_CHECKING, Any

from nbprof.columns import ROOT, title_in
from nbprof.protos.texts import to_utf8
from nbprof.units import NOT_RECORDED, format_micros
from nbprof.view_kinds import VIEWS, imported

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbprof.columns import Column
    from nbprof.views.view import Lead, View

Row = dict[Any, Any]

MAX_ROWS = 500
"""Most rows shown in a notebook or a terminal."""
NAME_WIDTH = 25
"""Width in bytes to which the op view pads a name."""
CELL_WIDTH = 30
"""Width in characters to which the op view pads a number with its shares."""
COUNTS_WIDTH = 10
"""Width in characters to which the op view pads a pair of counts."""
ACCOUNTED = "accounted"
"""The key under which `tree_records` adds to a row whether it counts for itself."""


def excerpt(view: "View") -> str:
    """Write the report for a display, cutting one that is very long and noting the cut."""
    hidden = len(view.frame) - MAX_ROWS
    if hidden <= 0:
        return report(view)
    kept = report(replace(view, frame=view.frame.head(MAX_ROWS)))
    return f"{kept}… and {hidden:,} more rows: -o NAME keeps the View and all its text\n"


def report(view: "View") -> str:
    """Write the whole report."""
    lines = [view.headline, *(() if view.lead is None else lead_lines(view.lead))]
    lines += [f"note: {note}" for note in view.notes]
    lines += ["", "Doc:", f"{view.name}: {VIEWS[view.name].doc}"]
    lines += [f"{heading(view, column)}: {column.help}" for column in view.columns]
    return "\n".join([*lines, "", "Profile:", *_table(view)]) + "\n"


def _table(view: "View") -> Iterator[str]:
    """Write the legend and the rows, as tfprof does unless the view has a table of its own."""
    printed = VIEWS[view.name].printed
    if printed is not None:
        yield from imported(printed.writer)(view)
        return
    titles = " | ".join(filter(None, (title(view, column) for column in view.columns)))
    if not is_empty_op(view):
        yield f"node name | {titles}"
    yield from _tree_rows(view) if view.is_tree else _op_rows(view)


def lead_lines(lead: "Lead") -> Iterator[str]:
    """Write what comes before the notes, with its table in columns."""
    yield lead.title
    for sentence in lead.sentences:
        yield f"  {sentence}"
    table = [row for row in (lead.heading, *lead.rows) if lead.rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for first, *rest in table:
        padded = [cell.ljust(width) for cell, width in zip(rest, widths[1:], strict=True)]
        yield "    " + "  ".join([first.rjust(widths[0]), *padded]).rstrip()


def is_empty_op(view: "View") -> bool:
    """Return whether this is tfprof's op view without nodes: the root alone, with no legend."""
    return view.exact and not view.is_tree and list(view.frame["name"]) == [ROOT]


def title(view: "View", column: "Column") -> str:
    """Return the legend text of a column in this view."""
    return title_in(view.name, column)


def heading(view: "View", column: "Column") -> str:
    """Return the legend text of a column, or its name where tfprof has no title for it."""
    return title(view, column) or column.name


def _op_rows(view: "View") -> Iterator[str]:
    cells = [column for column in view.columns if column.metrics or column.shows == "words"]
    shapes = [column.name for column in view.columns if column.shows == "shapes"]
    for row in view.frame.to_dict("records"):
        # tfprof pads by bytes, so names that are not ASCII get less.
        name = row["name"] + " " * (NAME_WIDTH - len(to_utf8(row["name"])))
        yield name + ", ".join(_op_cell(column, row) for column in cells)
        for column_name in shapes if row["name"] != ROOT else ():
            yield from ("", *map(_shapes_line, row[column_name]), "")


def _shapes_line(entry: dict[str, Any]) -> str:
    shapes = ",\t".join(_numbered(entry["shapes"]))
    counts = f"(run*{entry['run_count']}|defined*{entry['defined_count']})"
    return f"input_type: {shapes}\t{counts}\texec_time: {format_micros(entry['micros'])}"


def _op_cell(column: "Column", row: Row) -> str:
    if not column.metrics:
        return str(row[column.name])
    if not column.has_shares:
        return "|".join(plain_count(row[metric]) for metric in column.metrics).rjust(COUNTS_WIDTH)
    (metric,) = column.metrics
    own, below = row[f"{metric}_percent"], row[f"{metric}_accumulated_percent"]
    number = column.format(row[metric]) + column.suffix
    if isnan(own):
        return number.rjust(CELL_WIDTH)
    if column.no_share_of_zero and not row[metric]:
        below = 0.0
    return f"{number} ({below:.2f}%, {own:.2f}%)".rjust(CELL_WIDTH)


def plain_count(count: float) -> str:
    """Write a count in full; an average keeps two decimals."""
    if isnan(count):
        return NOT_RECORDED
    return f"{count:.0f}" if count == int(count) else f"{count:.2f}"


def tree_records(view: "View", count: int | None = None) -> Iterator[Row]:
    """Yield the first `count` rows of a view, or all, each with whether it counts for itself."""
    frame = view.frame if count is None else view.frame.head(count)
    accounted = [True] * len(frame) if view.accounted is None else view.accounted.tolist()
    for row, counts in zip(frame.to_dict("records"), accounted, strict=False):
        yield {**row, ACCOUNTED: counts}


def _tree_rows(view: "View") -> Iterator[str]:
    writers = list(filter(None, (_tree_writer(view, column) for column in view.columns)))
    below = [column.name for column in view.columns if column.shows == "lines"]
    for row in tree_records(view):
        cells = ", ".join([cell for write in writers for cell in write(row)])
        yield f"{'  ' * row['depth']}{row['name']} ({cells})"
        yield from filter(None, (row[name] for name in below))


def _tree_writer(view: "View", column: "Column") -> "Callable[[Row], list[str]] | None":
    """Return the function that writes a column's cells, None for a column printed below rows."""
    name, label = column.name, column.label
    of_lines = VIEWS[view.name].rows_are_lines
    if of_lines and view.exact and column.not_for_lines:
        return lambda _: [f"{name} N/A in code view"]
    if column.metrics:
        if label and not of_lines:
            return lambda row: [*filter(None, (row[label],)), _tree_numbers(column, row)]
        return lambda row: [_tree_numbers(column, row)]
    if column.shows == "shapes":
        return lambda row: [_first_shapes(row[name])]
    if column.shows == "lines":
        return None
    if column.optional:
        # In tfprof's code view a row whose ops have no device prints an empty cell.
        missing = (None,) if of_lines else (None, "")
        return lambda row: [] if row[name] in missing else [row[name]]
    return lambda row: [row[name] or ""]


def _tree_numbers(column: "Column", row: Row) -> str:
    pairs = [tree_cell(column, metric, row) for metric in column.metrics]
    return "|".join(pairs) + column.tree_suffix


def _first_shapes(entries: list[dict[str, Any]]) -> str:
    return "|".join(_numbered(entries[0]["shapes"])) if entries else ""


def _numbered(shapes: list[str]) -> Iterator[str]:
    return (f"{place}:{shape}" for place, shape in enumerate(shapes))


def tree_cell(column: "Column", metric: str, row: Row) -> str:
    """Write `self/total`."""
    return f"{own_number(column, metric, row)}/{column.format(row[f'total_{metric}'])}"


def own_number(column: "Column", metric: str, row: Row) -> str:
    """Write a row's own number; the root and rows that do not count for themselves have `--`."""
    if isnan(row[metric]) and (row["parent"] < 0 or not row.get(ACCOUNTED, True)):
        return "--"
    return column.format(row[metric])

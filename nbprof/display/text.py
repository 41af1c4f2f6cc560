"""A View as tfprof printed it: header, `Profile:`, legend, rows, and nothing after."""

from collections.abc import Iterator
from dataclasses import replace
from math import isnan
from typing import TYPE_CHECKING, Any

from nbprof.columns import ROOT
from nbprof.protos.letters import letters
from nbprof.units import NOT_RECORDED, format_micros

if TYPE_CHECKING:
    from nbprof.columns import Column
    from nbprof.views.view import View

MAX_ROWS = 500
"""So many rows go into a notebook or a terminal."""

BELOW_ROWS = ("input_shapes", "tensor_value")
"""The columns that the op view prints below a row, or not at all."""

DOC = {
    "op": "nodes of the same op type are added up; each number is followed by the share of this "
    "row and all rows below it, and by the row's own share",
    "code": "ops are placed under the line of Python that made or ran them; each number is the "
    "line's own, then the total with the lines it called",
    "layer": "ops are placed in the Keras layer that they are a part of, forward and backward "
    "apart; each number is the row's own, then the total with everything below it",
    "graph": "nodes are placed under the first node that uses them; each number is the row's own, "
    "then the total with everything it is made of",
    "scope": "nodes are placed by the parts of their names; each number is the row's own, "
    "then the total with everything below it",
}


def excerpt(view: "View") -> str:
    """Write the report for a display: a very long one is cut, and says so."""
    hidden = len(view.frame) - MAX_ROWS
    if hidden <= 0:
        return report(view)
    kept = report(replace(view, frame=view.frame.head(MAX_ROWS)))
    return f"{kept}… and {hidden:,} more rows: -o NAME keeps the View and all its text\n"


def report(view: "View") -> str:
    """Write the whole report."""
    lines = [view.headline]
    lines += [f"note: {note}" for note in view.notes]
    lines += ["", "Doc:", f"{view.name}: {DOC[view.name]}"]
    lines += [f"{heading(view, column)}: {column.help}" for column in view.columns]
    lines += ["", "Profile:"]
    titles = " | ".join(filter(None, (title(view, column) for column in view.columns)))
    if not is_empty_op(view):
        lines.append(f"node name | {titles}")
    rows = _tree_rows(view) if view.is_tree else _op_rows(view)
    return "\n".join([*lines, *rows]) + "\n"


def is_empty_op(view: "View") -> bool:
    """Tell whether this is tfprof's op view of no nodes: the root alone, without a legend."""
    return view.exact and not view.is_tree and list(view.frame["name"]) == [ROOT]


def title(view: "View", column: "Column") -> str:
    """Give the legend text of a column in this view."""
    return (view.name not in ("op", "code") and column.tree_title) or column.title


def heading(view: "View", column: "Column") -> str:
    """Give what a column is called, also one for which tfprof has no title."""
    return title(view, column) or column.name


def _op_rows(view: "View") -> Iterator[str]:
    shown = [column for column in view.columns if column.name not in BELOW_ROWS]
    for row in view.frame.to_dict("records"):
        # C pads letters of more than one byte less.
        name = row["name"] + " " * (25 - len(letters(row["name"])))
        yield name + ", ".join(_op_cell(column, row) for column in shown)
        if "input_shapes" in row and row["name"] != ROOT:
            yield from ("", *map(_shapes_line, row["input_shapes"]), "")


def _shapes_line(entry: dict[str, Any]) -> str:
    shapes = ",\t".join(_placed(entry["shapes"]))
    counts = f"(run*{entry['run_count']}|defined*{entry['defined_count']})"
    return f"input_type: {shapes}\t{counts}\texec_time: {format_micros(entry['micros'])}"


def _op_cell(column: "Column", row: dict[Any, Any]) -> str:
    if not column.metrics:
        return str(row[column.name])
    if len(column.metrics) == 2:
        return "|".join(plain_count(row[metric]) for metric in column.metrics).rjust(10)
    (metric,) = column.metrics
    own, below = row[f"{metric}_percent"], row[f"{metric}_accumulated_percent"]
    number = column.format(row[metric]) + column.unit
    if isnan(own):
        return number.rjust(30)
    if column.no_share_of_zero and not row[metric]:
        below = 0.0
    return f"{number} ({below:.2f}%, {own:.2f}%)".rjust(30)


def plain_count(count: float) -> str:
    """Write a count in full; an average keeps two decimals."""
    if isnan(count):
        return NOT_RECORDED
    return f"{count:.0f}" if count == int(count) else f"{count:.2f}"


ACCOUNTED = "accounted"


def tree_records(view: "View", count: int | None = None) -> Iterator[dict[Any, Any]]:
    """Give the rows of a tree, each with whether it is accounted."""
    frame = view.frame if count is None else view.frame.head(count)
    accounted = [True] * len(frame) if view.accounted is None else view.accounted.tolist()
    for row, counts in zip(frame.to_dict("records"), accounted, strict=False):
        yield {**row, ACCOUNTED: counts}


def _tree_rows(view: "View") -> Iterator[str]:
    for row in tree_records(view):
        cells = ", ".join(
            cell for column in view.columns for cell in _tree_cells(view, column, row)
        )
        yield f"{'  ' * row['depth']}{row['name']} ({cells})"
        if row.get("tensor_value"):
            yield row["tensor_value"]


def _tree_cells(view: "View", column: "Column", row: dict[Any, Any]) -> Iterator[str]:
    """Write the cells of a column: a variable's shape comes before its params."""
    if not column.title:
        return
    if view.exact and view.name == "code" and column.name in ("occurrence", "input_shapes"):
        yield f"{column.name} N/A in code view"
    elif column.name == "input_shapes":
        yield "|".join(_placed(row["input_shapes"][0]["shapes"])) if row["input_shapes"] else ""
    elif column.name == "device":
        if row["device"] or (view.name == "code" and row["device"] is not None):
            yield row["device"]
    elif not column.metrics:
        yield row[column.name] or ""
    else:
        if column.name == "params" and row["shape"] and view.name != "code":
            yield row["shape"]
        pairs = "|".join(tree_cell(column, metric, row) for metric in column.metrics)
        yield pairs + column.tree_unit


def _placed(shapes: list[str]) -> Iterator[str]:
    return (f"{place}:{shape}" for place, shape in enumerate(shapes))


def tree_cell(column: "Column", metric: str, row: dict[Any, Any]) -> str:
    """Write `self/total`; a row that is not accounted has no self, nor has the root."""
    return f"{own_number(column, metric, row)}/{column.format(row[f'total_{metric}'])}"


def own_number(column: "Column", metric: str, row: dict[Any, Any]) -> str:
    """Write a row's own number, `--` where it does not count for itself."""
    if row["parent"] < 0 or (isnan(row[metric]) and not row.get(ACCOUNTED, True)):
        return "--"
    return column.format(row[metric])

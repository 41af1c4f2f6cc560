"""Lines of Python and calls of functions as script-free HTML tables.

The tints are inline; without them the numbers are still there.
"""

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from nbprof.display.call_tables import Frame, find_calls
from nbprof.units import format_micros

if TYPE_CHECKING:
    import numpy.typing as npt

    from nbprof.columns import Column
    from nbprof.views.view import View

MOST_LINES = 40
"""Most lines of a table: the costliest."""
MOST_FUNCTIONS = 10
"""Most functions whose callers and callees are listed: the heaviest."""
MOST_CALLS = 3
"""Most callers or callees of a function: the heaviest."""
HOTTEST = 0.55
"""Opacity of the tint of the line that cost the most."""

Line = tuple[str, int]
"""A file and the number of a line in it."""


def source(view: "View", column: "Column | None") -> Iterator[str]:
    """Write the costliest lines of a view whose rows are lines, tinted by a column."""
    if view.row_lines is None or column is None or not column.metrics:
        return
    costs = line_costs(view, column.metrics[0])
    most = max(costs.values(), default=0.0)
    if not most > 0:
        return
    shown = sorted(sorted(costs, key=lambda line: -costs[line])[:MOST_LINES])
    texts = _texts(view)
    yield f"<details><summary>lines by {escape(column.title)}</summary><table><tbody>"
    for before, (file, line) in zip([("", 0), *shown], shown, strict=False):
        if file != before[0]:
            yield f'<tr><th scope="rowgroup" colspan="3">{escape(file)}</th></tr>'
        cost = costs[file, line]
        tint = f"background:rgba(244,110,50,{HOTTEST * cost / most:.2f})"
        yield (
            f'<tr><td style="{tint}">{line}</td><td>{column.format(cost)}</td>'
            f"<td><code>{escape(texts.get((file, line), ''))}</code></td></tr>"
        )
    yield "</tbody></table>"
    if len(costs) > len(shown):
        yield f"<p>… and {len(costs) - len(shown):,} lighter lines</p>"
    yield "</details>"


def line_costs(view: "View", metric: str) -> dict[Line, float]:
    """Add up what each line cost, including what it called; recursion counts once."""
    lines = view.row_lines
    if lines is None:
        return {}
    frame = view.frame
    numbers = frame[f"total_{metric}" if view.is_tree else metric].to_numpy(np.float64)
    parents: npt.NDArray[Any] = (
        frame["parent"].to_numpy() if view.is_tree else np.full(len(frame), -1)
    )
    rows = zip(lines.file.tolist(), lines.line.tolist(), parents.tolist(), strict=True)
    above: list[frozenset[Line]] = []
    costs: dict[Line, float] = {}
    for row, (file, line, parent) in enumerate(rows):
        met = above[parent] if parent >= 0 else frozenset()
        if line and (file, line) not in met and not np.isnan(numbers[row]):
            costs[file, line] = costs.get((file, line), 0.0) + float(numbers[row])
        above.append(met | {(file, line)} if line and (file, line) not in met else met)
    return costs


def _texts(view: "View") -> dict[Line, str]:
    """Return the text of each line, as far as it is known."""
    lines = view.row_lines
    known: dict[Line, str] = {}
    if lines is not None and "source" in view.frame:
        keys = zip(lines.file.tolist(), lines.line.tolist(), strict=True)
        known = dict(zip(keys, view.frame["source"], strict=True))
    if view.profile is not None:
        columns = (view.profile.cells[name].tolist() for name in ("file", "line", "text"))
        known |= {(file, line): text for file, line, text in zip(*columns, strict=True)}
    return known


def calls(view: "View") -> Iterator[str]:
    """Write the callers and callees of the heaviest functions, if rows are functions."""
    tables = find_calls([view])
    if tables is None or view.row_functions is None:
        return
    edges, names = tables.calls, tables.names
    shown = [number for number in view.row_functions.tolist() if number >= 0][:MOST_FUNCTIONS]
    heading = "".join(f'<th scope="col">{text}</th>' for text in ("function", "called by", "calls"))
    yield "<details><summary>callers and callees</summary>"
    yield f"<table><thead><tr>{heading}</tr></thead><tbody>"
    for number in shown:
        callers = _parties(edges[edges["function"] == number], "caller", names)
        callees = _parties(edges[edges["caller"] == number], "function", names)
        name = escape(names[number])
        yield f"<tr><td>{name}</td><td>{callers}</td><td>{callees}</td></tr>"
    yield "</tbody></table></details>"


def _parties(edges: Frame, end: str, names: list[str]) -> str:
    """Write one end of the heaviest of these calls, with how often and how long they ran."""
    heaviest = edges.head(MOST_CALLS)
    columns = (heaviest[name].tolist() for name in (end, "calls", "total_ns"))
    parties = [
        f"{escape(names[number])} <small>{_times(count)}, {format_micros(ns / 1e3)}</small>"
        for number, count, ns in zip(*columns, strict=True)
    ]
    if len(edges) > len(heaviest):
        parties.append(f"<small>… and {len(edges) - len(heaviest):,} more</small>")
    return "<br>".join(parties)


def _times(count: int) -> str:
    return f"{count:,} call{'' if count == 1 else 's'}"

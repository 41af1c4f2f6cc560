"""A View as a script-free HTML table that reads well with and without its style sheet.

GitHub and untrusted notebooks strip styles and run no scripts, so the structure alone must carry
the numbers: a plain table, names indented with non-breaking spaces. Colours are transparent tints
of the host's own, for light and dark themes alike.
"""

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any

from nbprof.display.text import heading, own_number, plain_count, title, tree_records
from nbprof.units import format_micros

if TYPE_CHECKING:
    from nbprof.columns import Column
    from nbprof.views.view import View

FULL_NAMES = ("code", "graph")
"""Below a scope its name goes without saying; below a line, or a node's user, nothing does."""
MAX_ROWS = 100
MAX_SHAPES = 8

STYLE = """<style>
.nbprof{font-size:90%}
.nbprof p{margin:.2em 0}
.nbprof-rows{max-height:30em;overflow:auto;margin:.5em 0}
.nbprof table{table-layout:auto;border-collapse:separate;border-spacing:0;margin:0}
.nbprof th,.nbprof td{padding:.15em .7em;text-align:right;
 border-bottom:1px solid rgba(128,128,128,.25)}
.nbprof td{white-space:nowrap;font-variant-numeric:tabular-nums;
 background:linear-gradient(to right,rgba(66,133,244,.28) var(--p,0),transparent 0)}
.nbprof th{position:sticky;top:0;z-index:1;vertical-align:bottom;white-space:normal;max-width:9em;
 color:var(--jp-content-font-color1,var(--vscode-editor-foreground,CanvasText));
 background:var(--jp-layout-color0,var(--vscode-editor-background,Canvas))}
.nbprof th:first-child,.nbprof td:first-child{text-align:left;min-width:16em}
.nbprof small{opacity:.65}
.nbprof details details{margin-left:1.2em}
.nbprof details p{margin-left:2.2em}
.nbprof summary{cursor:pointer}
.nbprof td code{display:inline-block;max-width:24em;overflow:hidden;text-overflow:ellipsis;
 white-space:nowrap!important;vertical-align:bottom}
</style>"""


def report(view: "View", most: int = MAX_ROWS) -> str:
    """Write the report as one HTML fragment, with the first rows."""
    rows = list(tree_records(view, most))
    lines = [
        f'<div class="nbprof">{STYLE}',
        f"<p><b>{escape(view.name)}</b>, {len(view.frame):,} rows{_behind(view.headline)}</p>",
        *(f"<p><small>note: {escape(note)}</small></p>" for note in view.notes),
        f'<div class="nbprof-rows" role="region" tabindex="0" aria-label="{view.name} view">',
        "<table><thead><tr>",
        *_header(view),
        "</tr></thead><tbody>",
        *(_row(view, row, rows[0]) for row in rows),
        "</tbody></table></div>",
        *_tree(view, rows),
    ]
    hidden = len(view.frame) - len(rows)
    if hidden:
        lines.append(
            f"<p>… and {hidden:,} more rows: <code>-o NAME</code> keeps the View, its "
            "<code>frame</code> has them all, <code>explore()</code> shows them.</p>"
        )
    return "\n".join([*lines, "</div>"])


def _behind(headline: str) -> str:
    return f" · {escape(headline)}" if headline else ""


def _tree(view: "View", rows: list[dict[Any, Any]]) -> Iterator[str]:
    """Write the same rows as nested `<details>`, which fold without a script."""
    column = _leading(view)
    if not view.is_tree or column is None or len(rows) < 2:
        return
    yield f"<details><summary>the same as a tree, by {escape(title(view, column))}</summary>"
    depths = [row["depth"] for row in rows]
    for row, below in zip(rows, [*depths[1:], 0], strict=True):
        number = column.format(row[f"total_{column.metrics[0]}"])
        text = f"{escape(_short(view, row))} <small>{number}</small>"
        if below > row["depth"]:
            yield f"<details{'' if row['depth'] else ' open'}><summary>{text}</summary>"
        else:
            yield f"<p>{text}</p>{'</details>' * (row['depth'] - below)}"
    yield "</details>"


def _leading(view: "View") -> "Column | None":
    """Find the column by which the rows are ordered, or the first that has numbers."""
    numbers = [column for column in view.columns if column.metrics]
    ordering = [column for column in numbers if column.name == view.options.order_by]
    return next(iter(ordering + numbers), None)


def _short(view: "View", row: dict[Any, Any]) -> str:
    name: str = row["name"]
    return name if view.name in FULL_NAMES else name.rpartition("/")[2]


def _header(view: "View") -> Iterator[str]:
    yield '<th scope="col">node name</th>'
    for column in view.columns:
        pair = "<br><small>self / total</small>" if view.is_tree and column.metrics else ""
        name = escape(heading(view, column))
        yield f'<th scope="col" title="{escape(column.help)}">{name}{pair}</th>'


def _row(view: "View", row: dict[Any, Any], tops: dict[Any, Any]) -> str:
    if not view.is_tree:
        cells = (_op_cell(column, row) for column in view.columns)
        return f"<tr><td>{escape(row['name'])}</td>{''.join(cells)}</tr>"
    cells = (_tree_cell(column, row, tops) for column in view.columns)
    indent = "&nbsp;" * 4 * row["depth"]
    beside = f" <small><code>{escape(row['source'])}</code></small>" if row.get("source") else ""
    beside += f" <small>{escape(row['kind'])}</small>" if row.get("kind") else ""
    name = f"{indent}{escape(_short(view, row))}{beside}"
    return f'<tr><td title="{escape(row["name"])}">{name}</td>{"".join(cells)}</tr>'


def _label(column: "Column", row: dict[Any, Any]) -> str:
    if column.name == "input_shapes":
        return f"<td>{'<br>'.join(map(_shapes, row['input_shapes'][:MAX_SHAPES]))}</td>"
    return f"<td>{escape(row[column.name] or '')}</td>"


def _op_cell(column: "Column", row: dict[Any, Any]) -> str:
    if not column.metrics:
        return _label(column, row)
    if len(column.metrics) == 2:
        return f"<td>{'|'.join(plain_count(row[metric]) for metric in column.metrics)}</td>"
    (metric,) = column.metrics
    return _bar(column.format(row[metric]), row[f"{metric}_percent"])


def _shapes(entry: dict[str, Any]) -> str:
    shapes = escape(", ".join(entry["shapes"]) or "no inputs")
    return f"{shapes} <small>{entry['run_count']} runs, {format_micros(entry['micros'])}</small>"


def _tree_cell(column: "Column", row: dict[Any, Any], root: dict[Any, Any]) -> str:
    if not column.metrics:
        return _label(column, row)
    pairs = (_self_and_total(column, metric, row) for metric in column.metrics)
    if len(column.metrics) == 2:
        return f"<td>{' | '.join(pairs)}</td>"
    whole = root[f"total_{column.metrics[0]}"]
    share = 100 * row[f"total_{column.metrics[0]}"] / whole if whole else 0.0
    shape = f"<small>{escape(row['shape'])}</small> " if row.get("shape") else ""
    return _bar(f"{shape if column.name == 'params' else ''}{next(pairs)}", share)


def _self_and_total(column: "Column", metric: str, row: dict[Any, Any]) -> str:
    own = own_number(column, metric, row)
    return f"<small>{own} /</small> {column.format(row[f'total_{metric}'])}"


def _bar(number: str, percent: float) -> str:
    """Put a number into a cell with a bar behind it; nothing is drawn for next to nothing."""
    if not percent >= 0.05:
        return f"<td>{number}</td>"
    return f'<td style="--p:{percent:.1f}%">{number} <small>({percent:.1f}%)</small></td>'

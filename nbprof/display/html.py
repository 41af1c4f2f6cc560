"""A View as a script-free HTML table that reads well with and without its style sheet.

GitHub and untrusted notebooks strip styles and run no scripts, so the structure alone must carry
the numbers: a plain table with names indented by non-breaking spaces. Colours are transparent
tints, which suit light and dark themes.
"""

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any

from nbprof.display import source_html
from nbprof.display.text import heading, own_number, plain_count, title, tree_records
from nbprof.units import format_micros
from nbprof.view_kinds import VIEWS

if TYPE_CHECKING:
    from nbprof.columns import Column
    from nbprof.views.view import Lead, View

MAX_ROWS = 100
"""The most rows of a script-free table."""
MAX_SHAPES = 8
"""The most input shapes in one cell."""
LEAST_PERCENT = 0.05
"""Smallest share that gets a bar."""

STYLE = """<style>
.nbprof{font-size:90%}
.nbprof p{margin:.2em 0}
.nbprof-lead{border-left:3px solid #d93025;padding-left:.7em;margin:.5em 0}
.nbprof .nbprof-lead :is(td,th){text-align:left;min-width:0}
.nbprof .nbprof-lead :is(td,th):first-child{text-align:right;min-width:0}
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
    """Write the report with its first `most` rows as one HTML fragment."""
    rows = list(tree_records(view, most))
    lines = [
        f'<div class="nbprof">{STYLE}',
        f"<p><b>{escape(view.name)}</b>, {len(view.frame):,} rows{_after_dot(view.headline)}</p>",
        *(() if view.lead is None else _lead(view.lead)),
        *(f"<p><small>note: {escape(note)}</small></p>" for note in view.notes),
        f'<div class="nbprof-rows" role="region" tabindex="0" aria-label="{view.name} view">',
        "<table><thead><tr>",
        *_header(view),
        "</tr></thead><tbody>",
        *(_row(view, row, rows[0]) for row in rows),
        "</tbody></table></div>",
        *_tree(view, rows),
        *source_html.source(view, _leading(view)),
        *source_html.calls(view),
    ]
    hidden = len(view.frame) - len(rows)
    if hidden:
        lines.append(
            f"<p>… and {hidden:,} more rows: <code>-o NAME</code> keeps the View, its "
            "<code>frame</code> has them all, <code>explore()</code> shows them.</p>"
        )
    return "\n".join([*lines, "</div>"])


def _lead(lead: "Lead") -> Iterator[str]:
    """Write what comes before the notes, with its table."""
    yield f'<div class="nbprof-lead"><p><b>{escape(lead.title)}</b></p>'
    yield from (f"<p>{escape(sentence)}</p>" for sentence in lead.sentences)
    if lead.rows:
        heading = "".join(f'<th scope="col">{escape(text)}</th>' for text in lead.heading)
        yield f"<table><thead><tr>{heading}</tr></thead><tbody>"
        for row in lead.rows:
            yield f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
        yield "</tbody></table>"
    yield "</div>"


def _after_dot(headline: str) -> str:
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
    """Return the column that rows are sorted by, or else the first that has numbers."""
    numbers = [column for column in view.columns if column.metrics]
    ordering = [column for column in numbers if column.name == view.options.order_by]
    return next(iter(ordering + numbers), None)


def _short(view: "View", row: dict[Any, Any]) -> str:
    name: str = row["name"]
    return name if VIEWS[view.name].full_names else name.rpartition("/")[2]


def _header(view: "View") -> Iterator[str]:
    yield '<th scope="col">node name</th>'
    for column in view.columns:
        pair = "<br><small>self / total</small>" if view.is_tree and column.metrics else ""
        name = escape(heading(view, column))
        yield f'<th scope="col" title="{escape(column.help)}">{name}{pair}</th>'


def _row(view: "View", row: dict[Any, Any], root: dict[Any, Any]) -> str:
    if not view.is_tree:
        cells = (_op_cell(column, row) for column in view.columns)
        return f"<tr><td>{escape(row['name'])}</td>{''.join(cells)}</tr>"
    cells = (_tree_cell(column, row, root) for column in view.columns)
    indent = "&nbsp;" * 4 * row["depth"]
    texts = "".join(_beside(view, row[name]) for name in VIEWS[view.name].texts if row[name])
    name = f"{indent}{escape(_short(view, row))}{texts}"
    return f'<tr><td title="{escape(row["name"])}">{name}</td>{"".join(cells)}</tr>'


def _beside(view: "View", text: str) -> str:
    code = f"<code>{escape(text)}</code>" if VIEWS[view.name].rows_are_lines else escape(text)
    return f" <small>{code}</small>"


def _label(column: "Column", row: dict[Any, Any]) -> str:
    if column.shows == "shapes":
        return f"<td>{'<br>'.join(map(_shapes, row[column.name][:MAX_SHAPES]))}</td>"
    return f"<td>{escape(row[column.name] or '')}</td>"


def _op_cell(column: "Column", row: dict[Any, Any]) -> str:
    if not column.metrics:
        return _label(column, row)
    if not column.has_shares:
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
    if not column.has_shares:
        return f"<td>{' | '.join(pairs)}</td>"
    whole = root[f"total_{column.metrics[0]}"]
    share = 100 * row[f"total_{column.metrics[0]}"] / whole if whole else 0.0
    label = row[column.label] if column.label else ""
    before = f"<small>{escape(label)}</small> " if label else ""
    return _bar(f"{before}{next(pairs)}", share)


def _self_and_total(column: "Column", metric: str, row: dict[Any, Any]) -> str:
    own = own_number(column, metric, row)
    return f"<small>{own} /</small> {column.format(row[f'total_{metric}'])}"


def _bar(number: str, percent: float) -> str:
    """Put a number into a cell, with a bar behind it that shows its share."""
    if not percent >= LEAST_PERCENT:
        return f"<td>{number}</td>"
    return f'<td style="--p:{percent:.1f}%">{number} <small>({percent:.1f}%)</small></td>'

"""A View as a script-free HTML table that reads well with and without its style sheet.

GitHub and untrusted notebooks strip styles and run no scripts, so the structure alone must carry
the numbers: a plain table, names indented with non-breaking spaces. Colours are transparent tints
of the host's own, for light and dark themes alike.
"""

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any

from nbprof.display.text import title, tree_cell

if TYPE_CHECKING:
    from nbprof.columns import Column
    from nbprof.views.view import View

MAX_ROWS = 100

STYLE = """<style>
.nbprof{font-size:90%;overflow-x:auto}
.nbprof table{border-collapse:collapse;margin:.4em 0}
.nbprof th,.nbprof td{padding:.15em .8em;text-align:right;white-space:nowrap;
 font-variant-numeric:tabular-nums;border-bottom:1px solid rgba(128,128,128,.25)}
.nbprof th:first-child,.nbprof td:first-child{text-align:left}
.nbprof .nbprof-share{opacity:.7;font-size:88%}
.nbprof p{margin:.2em 0}.nbprof-note{opacity:.85}
</style>"""


def report(view: "View") -> str:
    """Write the report as one HTML fragment."""
    rows = view.frame.head(MAX_ROWS).to_dict("records")
    lines = [
        f'<div class="nbprof">{STYLE}',
        f"<p><b>{escape(view.name)}</b> · {escape(view.headline)}</p>",
        *(f'<p class="nbprof-note">note: {escape(note)}</p>' for note in view.notes),
        "<table><thead><tr>",
        *_header(view),
        "</tr></thead><tbody>",
        *(_row(view, row) for row in rows),
        "</tbody></table>",
    ]
    hidden = len(view.frame) - len(rows)
    if hidden:
        lines.append(f"<p>… and {hidden:,} more rows: <code>view.frame</code> has all of them.</p>")
    return "\n".join([*lines, "</div>"])


def _header(view: "View") -> Iterator[str]:
    yield "<th>node name</th>"
    for column in view.columns:
        yield f'<th title="{escape(column.help)}">{escape(title(view, column))}</th>'


def _row(view: "View", row: dict[Any, Any]) -> str:
    cell = _tree_cell if view.is_tree else _op_cell
    cells = "".join(cell(column, row) for column in view.columns)
    return f"<tr>{_name_cell(view, row)}{cells}</tr>"


def _name_cell(view: "View", row: dict[Any, Any]) -> str:
    full = escape(row["name"])
    if not view.is_tree:
        return f"<td>{full}</td>"
    indent = "&nbsp;" * 4 * row["depth"]
    return f'<td title="{full}">{indent}{full.rpartition("/")[2]}</td>'


def _op_cell(column: "Column", row: dict[Any, Any]) -> str:
    if len(column.metrics) == 2:
        return f"<td>{row['run_count']:,}|{row['defined_count']:,}</td>"
    (metric,) = column.metrics
    share = row[f"{metric}_percent"]
    return _bar(share, f"{column.format(row[metric])} {_share(share)}")


def _tree_cell(column: "Column", row: dict[Any, Any]) -> str:
    text = "|".join(tree_cell(column, metric, row) for metric in column.metrics)
    return f"<td>{text}</td>"


def _share(percent: float) -> str:
    return f'<span class="nbprof-share">({percent:.1f}%)</span>'


def _bar(percent: float, content: str) -> str:
    tint = f"linear-gradient(to right,rgba(66,133,244,.28) {percent:.1f}%,transparent 0)"
    return f'<td style="background:{tint}">{content}</td>'

"""Advice as text and as a script-free HTML table."""

import textwrap
from html import escape
from typing import Any

from nbprof.display.html import STYLE

Frame = Any
"""What `profile.advise()` returns; this room does not import pandas."""

NOTHING = "no advice: nothing stands out in this profile"
"""Shown if there is no advice."""
WIDTH = 100
"""Longest line of text, in characters."""
INDENT = "    "
"""Indentation of the lines below a heading."""


def report(advice: Frame) -> str:
    """Write the advice as text, one paragraph each."""
    if not len(advice):
        return f"{NOTHING}\n"
    return "\n".join(_paragraph(row) for row in advice.to_dict("records"))


def _paragraph(row: dict[Any, Any]) -> str:
    lines = [f"{row['severity']}: {row['check']}", *_wrapped(row["message"])]
    if row["rows"]:
        lines += _wrapped(f"rows: {', '.join(row['rows'])}")
    return "\n".join(lines) + "\n"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=INDENT,
        subsequent_indent=INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )


def html_report(advice: Frame) -> str:
    """Write the advice as one HTML fragment without scripts."""
    if not len(advice):
        return f'<div class="nbprof">{STYLE}<p>{escape(NOTHING)}</p></div>'
    lines = [
        f'<div class="nbprof">{STYLE}',
        '<div class="nbprof-rows" role="region" tabindex="0" aria-label="advice">',
        "<table><thead><tr>",
        *map(_heading, ("severity", "check", "message", "rows")),
        "</tr></thead><tbody>",
        *(_table_row(row) for row in advice.to_dict("records")),
        "</tbody></table></div></div>",
    ]
    return "\n".join(lines)


def _heading(name: str) -> str:
    return f'<th scope="col" style="text-align:left;max-width:none">{name}</th>'


def _table_row(row: dict[Any, Any]) -> str:
    names = "<br>".join(f"<code>{escape(name)}</code>" for name in row["rows"])
    cells = (
        f"<td><b>{escape(row['severity'])}</b></td>",
        f'<td style="text-align:left">{escape(row["check"])}</td>',
        f'<td style="text-align:left;white-space:normal">{escape(row["message"])}</td>',
        f'<td style="text-align:left">{names}</td>',
    )
    return f"<tr>{''.join(cells)}</tr>"

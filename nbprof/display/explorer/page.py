"""The explorer in HTML: inside a notebook's output, and as a file of its own."""

from dataclasses import replace
from hashlib import sha256
from html import escape
from typing import TYPE_CHECKING, BinaryIO

from nbprof.display import html
from nbprof.display.explorer.fit_output import payload_within
from nbprof.display.explorer.payload import whole_payload, without_headline
from nbprof.display.explorer.script import LOADER, packed_explorer, script

if TYPE_CHECKING:
    from nbprof.views.report import Report

PLAIN_ROWS = 40
"""Most rows that a file shows where scripts do not run."""
FILE_STYLE = """
:root{color-scheme:light dark}
h1{font-size:14px;margin:0 0 .4em;font-weight:400}
body{background:Canvas;color:CanvasText}
body{margin:0 auto;padding:12px 16px;max-width:1600px;font-family:system-ui,sans-serif;
 --nbx-height:calc(100vh - 14em)}
"""


def output(report: "Report", size: int) -> str:
    """Write a plain table that becomes the explorer where scripts run, in at most `size` bytes.

    If there is no room for both, only the plain table is written.
    """
    plain = html.report(report.view)
    without_data = len(_explorer(plain, "").encode("utf-8", "replace"))
    payload = payload_within(report, size - without_data)
    return plain if payload is None else _explorer(plain, payload.page_data)


def write(report: "Report", file: BinaryIO) -> None:
    """Write a page with all rows of all views of a report."""
    payload = without_headline(whole_payload(report))
    plain = html.report(replace(report.view, headline=""), PLAIN_ROWS)
    text = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(report.headline)}</title><style>{FILE_STYLE}</style></head>\n"
        f"<body><main><h1>{_heading(report.headline)}</h1>\n"
        f"{_explorer(plain, payload.page_data)}\n</main></body></html>\n"
    )
    file.write(text.encode("utf-8", "replace"))


def _explorer(plain: str, data: str) -> str:
    """Write a plain table with the script that replaces it by an explorer of `data`."""
    name = f"nbprof-{sha256(data.encode()).hexdigest()[:12]}"
    return (
        f'<div data-nbprof="{name}">{plain}</div>\n'
        f'<script type="module">\n{script(LOADER)}load("{name}","{data}","{packed_explorer()}");\n'
        "</script>"
    )


def _heading(headline: str) -> str:
    """Write the headline with what was profiled in bold."""
    what, dot, rest = headline.partition(" · ")
    return f"<b>{escape(what)}</b>{dot}{escape(rest)}"

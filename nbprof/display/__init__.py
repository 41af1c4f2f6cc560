"""Display: a report as text, as HTML and in the explorer."""

from typing import TYPE_CHECKING, Any

from nbprof.display import text
from nbprof.display.explorer import page

if TYPE_CHECKING:
    from nbprof.views.report import Report

OUTPUT_BYTES = 300_000
"""Largest output a report adds to a notebook, in bytes; 0 shows plain tables only."""


def bundle(report: "Report") -> dict[str, Any]:
    """Return a report in every form a front end may choose from."""
    return {
        "text/plain": text.excerpt(report.view),
        "text/html": page.output(report, OUTPUT_BYTES),
    }

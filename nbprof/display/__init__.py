"""Displays: a View for eyes, as text, as HTML and in the explorer."""

from typing import TYPE_CHECKING, Any

from nbprof.display import text
from nbprof.display.explorer import page

if TYPE_CHECKING:
    from nbprof.views.view import View

OUTPUT_BYTES = 300_000
"""So much may a report add to a notebook; set it to have more rows in it, or 0 for plain tables."""


def bundle(view: "View") -> dict[str, Any]:
    """Offer every face a front end may choose from."""
    return {"text/plain": text.excerpt(view), "text/html": page.output(view, OUTPUT_BYTES)}

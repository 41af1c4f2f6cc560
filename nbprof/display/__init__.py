"""Displays: a View for eyes, as text and as HTML."""

from typing import TYPE_CHECKING, Any

from nbprof.display import html, text

if TYPE_CHECKING:
    from nbprof.views.view import View


def bundle(view: "View") -> dict[str, Any]:
    """Offer every face a front end may choose from."""
    return {"text/plain": text.excerpt(view), "text/html": html.report(view)}

"""`nbprof.parse_text`: a View of a report that was printed once."""

from typing import TYPE_CHECKING

from nbprof.errors import NbprofError

if TYPE_CHECKING:
    from nbprof.views.view import View


def parse_text(report: str) -> "View":
    """Read a report of tfprof, of any release, or of nbprof back into a View.

    The whole report or its table alone, with other text before and behind it. Numbers are as exact
    as they were printed: `1.25ms` is 1250 µs.
    """
    from nbprof.views.printed.report import parse_report

    if not isinstance(report, str):
        raise NbprofError(f"parse_text takes the text of a report, not {type(report).__name__}.")
    return parse_report(report)

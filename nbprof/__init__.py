"""Profile TensorFlow code where it is written: in a notebook cell.

`%load_ext nbprof`, then `%%tfprof` as the first line of a cell.
"""

from typing import TYPE_CHECKING

from nbprof.capture.python.marks import count, span
from nbprof.errors import NbprofError
from nbprof.files import load
from nbprof.run import ProfiledRun as profile  # noqa: N813 the public name reads as a verb
from nbprof.run import last
from nbprof.tfprof_inputs import load_tfprof

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from nbprof.views.view import View

__version__ = "0.2.0"
__all__ = [
    "NbprofError",
    "__version__",
    "count",
    "last",
    "load",
    "load_tfprof",
    "parse_text",
    "profile",
    "span",
]


def parse_text(report: str) -> "View":
    """Read a printed report of nbprof or of any tfprof back into a View.

    Pass the whole report or its table alone; other text around it does no harm. Numbers are as
    exact as they were printed: `1.25ms` is 1250 µs.
    """
    from nbprof.views.printed import parse_report

    return parse_report.parse_text(report)


def load_ipython_extension(shell: "InteractiveShell") -> None:
    """Register the magics (`%load_ext nbprof`)."""
    from nbprof.magics.registration import load

    load(shell)


def unload_ipython_extension(shell: "InteractiveShell") -> None:
    """Restore what the magics replaced (`%unload_ext nbprof`)."""
    from nbprof.magics.registration import unload

    unload(shell)

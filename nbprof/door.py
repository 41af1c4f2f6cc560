"""What the magics have in common: how a mistake in a line is told, and where -T puts a report."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

from nbprof.errors import NbprofError

if TYPE_CHECKING:
    from pathlib import Path


def or_usage_error(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function; what nbprof refuses is a sentence to the user, without a traceback."""
    __tracebackhide__ = True
    try:
        return function(*arguments)
    except NbprofError as error:
        raise UsageError(str(error)) from None


def write_text(file: "Path", text: str) -> bool:
    """Write a report to the file of -T; where that fails say so, and give False."""
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        sys.stderr.write(f"-T could not write {file}: {error.strerror}.\n")
        return False
    return True

"""What all magics share: refuse bad lines, survive failures of nbprof, write the file of -T."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from IPython.core.error import UsageError

from nbprof.errors import NbprofError


def or_usage_error(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function; turn an NbprofError into a UsageError, which shows without a traceback."""
    __tracebackhide__ = True
    try:
        return function(*arguments)
    except NbprofError as error:
        raise UsageError(str(error)) from None


def report_or_explain(magic: str, report: Callable[[], Any], hint: str = "") -> Any:
    """Report on code that has run; if that fails, the user loses the report, never a result.

    `hint` follows the explanation of an NbprofError.
    """
    try:
        return report()
    except KeyboardInterrupt:
        sys.stderr.write(f"%{magic}'s report was interrupted; the code itself had ended.\n")
    except NbprofError as error:
        sys.stderr.write(f"{error} The code itself ran as usual{hint}.\n")
    except Exception as error:  # noqa: BLE001 our failure must not become the user's
        sys.stderr.write(
            f"%{magic} could not report ({type(error).__name__}: {error}); the code itself ran as "
            "usual.\n"
        )
    return None


def write_text(file: Path, text: str) -> bool:
    """Write a report to the file of -T and return whether that worked; print why if it did not."""
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        sys.stderr.write(f"-T could not write {file}: {error.strerror}.\n")
        return False
    return True

"""What the magics have in common: how a mistake in a line is told, and where -T puts a report."""

import dis
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from IPython.core.displayhook import DisplayHook
from IPython.core.error import UsageError

from nbprof.errors import NbprofError

if TYPE_CHECKING:
    from pathlib import Path
    from types import FrameType

RUNNING = ("run_line_magic", "run_cell_magic")
"""The shell's methods that a line with a magic becomes a call of."""
DISPLAYING = (("PRINT_EXPR", None), ("CALL_INTRINSIC_1", 1))
"""What comes behind the call of an expression that the shell displays: until Python 3.11, after."""


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


def will_be_displayed(code: str) -> bool:
    """Tell whether the shell displays what the running magic returns, rather than binding it.

    `code` is what the magic runs: a semicolon at its end silences it.
    """
    if DisplayHook.semicolon_at_end_of_expression(code):
        return False
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code.co_name not in RUNNING:
        frame = frame.f_back
    caller = frame.f_back if frame is not None else None
    if caller is None:
        return False
    following = (one for one in dis.get_instructions(caller.f_code) if one.offset > caller.f_lasti)
    then = next(following, None)
    return then is not None and (then.opname, then.arg) in DISPLAYING

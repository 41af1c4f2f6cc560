"""The exception that ended a cell, in words: a Profile keeps no object of the user's."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import PurePath
from traceback import walk_tb

from nbprof._profile import Profile
from nbprof.ingest.trace.program.python_stacks import RUNNERS, in_cells
from nbprof.recording import MEMORY_ERRORS
from nbprof.user_files import is_users

LONGEST_MESSAGE = 20_000
"""Longest message that is kept whole, in characters."""


def with_error(profile: Profile, error: BaseException | None, cells: Mapping[str, str]) -> Profile:
    """Add the exception that ended the cell, if one did; `cells` maps files of cells to names."""
    if error is None:
        return profile
    about_memory = next((each for each in _chain(error) if _memory_error(each)), None)
    told = about_memory or error
    recording = replace(
        profile.recording,
        error=_public_name(error),
        memory_error=_memory_error(told),
        error_message=_message(told),
        error_line=_line(told, cells) or _line(error, cells),
    )
    return profile.with_values(recording=recording)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and those that Python names as its cause in a traceback."""
    met: set[int] = set()
    while error is not None and id(error) not in met:
        yield error
        met.add(id(error))
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _memory_error(error: BaseException) -> str:
    """Return the exception for lack of memory that it is or derives from; empty if none."""
    names = (kind.__name__ for kind in type(error).__mro__)
    return next((name for name in names if name in MEMORY_ERRORS), "")


def _public_name(error: BaseException) -> str:
    """Return the name of its class, or of the nearest class above that is not private."""
    names = (kind.__name__ for kind in type(error).__mro__)
    return next(name for name in names if not name.startswith("_"))


def _message(error: BaseException) -> str:
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 anybody's exception may fail to describe itself
        return ""
    half = LONGEST_MESSAGE // 2
    whole = len(message) <= LONGEST_MESSAGE
    # What ran out of memory stands at the end of TensorFlow's longest messages.
    return message if whole else f"{message[:half]} … {message[-half:]}"


def _line(error: BaseException, cells: Mapping[str, str]) -> str:
    """Name the innermost line of the user's in the traceback; empty if there is none."""
    users = [
        (frame.f_code.co_filename, line, frame.f_code.co_name)
        for frame, line in walk_tb(error.__traceback__)
        if _is_users(frame.f_code.co_filename)
    ]
    if not users:
        return ""
    ((file, line, function),) = in_cells((users[-1],), cells)
    return f"{PurePath(file).name}:{line}:{function}"


def _is_users(file: str) -> bool:
    """Return whether a file is the user's, and not one that runs or watches the user's code."""
    return is_users(file) and not any(part in file for part in RUNNERS)

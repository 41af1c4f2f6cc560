"""What flags take that several magics have: a number of seconds, a file to write."""

from pathlib import Path

from nbprof.errors import NbprofError


def check_seconds(name: str, value: str) -> float:
    """Read a number of seconds."""
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise NbprofError(f"-{name} takes a number of seconds above 0, not {value!r}.")
    return seconds


def check_file(name: str, value: str) -> Path:
    """Read the name of a file that can be written, as far as one can tell before the code ran."""
    path = Path(value).expanduser().absolute()  # the cell may change the working folder
    if path.is_dir() or not path.parent.is_dir():
        raise NbprofError(f"-{name} cannot write {value!r}: there is no such folder, or it is one.")
    return path

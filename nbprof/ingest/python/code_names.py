"""Names of functions and files as profilers write them."""

from typing import NamedTuple

from nbprof.protos.texts import to_utf8
from nbprof.user_files import is_users

IN_C = ("~", "<built-in>")
"""The files that cProfile and pyinstrument give to functions in C."""
MOST_DIGITS = 9
"""Most digits of a line number."""
FILES = (".py", ".pyx", ">", *IN_C)
"""Ends of the names of files that are known to be some: of Python, `<string>` and the like."""


class Place(NamedTuple):
    """A function, or a line of it."""

    file: str
    """Empty: not known."""
    line: int
    """0: not known."""
    function: str


def readable(text: str) -> str:
    """Replace what cannot be written as UTF-8."""
    return to_utf8(text).decode(errors="replace")


def is_framework(file: str) -> bool:
    """Return whether a function in this file is not the user's."""
    return file in IN_C or not is_users(file)


def place_of(text: str) -> Place:
    """Split `function (file:line)` as py-spy writes it; any other text is a function."""
    if text.endswith(")"):
        function, _, place = text[:-1].partition(" (")
        file, _, line = place.rpartition(":")
        if file and function and line.isascii() and line.isdigit() and len(line) <= MOST_DIGITS:
            return Place(file, int(line), function)
        if function and place.endswith(FILES):
            return Place(place, 0, function)
    return Place("", 0, text)

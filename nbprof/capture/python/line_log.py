"""LineLog: how often lines ran, and how long they and the functions they called took."""

from dataclasses import dataclass

from nbprof.arrays import Ints
from nbprof.capture.capture import Frame


@dataclass(frozen=True, eq=False, kw_only=True)
class LineLog:
    """The lines of all watched code, also those that never ran."""

    lines: tuple[Frame, ...]
    """File, line, and the name of the function it is in."""
    sources: tuple[str, ...]
    """The text of each line, empty where it is not known."""
    hits: Ints
    self_ns: Ints
    """The time of each line without the watched functions it called."""
    caller: Ints
    """Index into `lines`, for each pair of a line and a watched function that it led to."""
    called: tuple[Frame, ...]
    """The function of each pair, with the line where it begins."""
    calls: Ints
    called_ns: Ints
    """The time of the calls of each pair with all they did; those inside of each other once."""
    notes: tuple[str, ...] = ()

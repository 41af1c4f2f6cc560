"""Plots: a View or a Profile as a matplotlib figure, for papers and for dark notebooks.

Each plot takes an Axes or makes one, and returns it. Nothing here shows a figure, changes rcParams
or touches pyplot if it was given an Axes. Data stay raw, in µs and bytes; only the axes' labels are
scaled. Only the files of this folder import matplotlib, and they are imported only when something
is plotted.
"""

from typing import TYPE_CHECKING

from nbprof.units import BYTES

if TYPE_CHECKING:
    from nbprof.columns import Column

NOTHING_RAN = ("op ran", "op run is", "nothing ran", "no rows", "unprofiled", "no trace")
"""Words that mark the notes on why a cell or a view has no rows at all."""
MEMORY = ("memory", "allocat")
"""Words that mark the notes about memory."""


def because(what: str, notes: tuple[str, ...], about: tuple[str, ...] = ()) -> str:
    """Return the message that something is missing, with any related notes."""
    words = (*NOTHING_RAN, *about)
    found = [note.rstrip(".") for note in notes if any(word in note for word in words)]
    return f"{what}: {'; '.join(found)}." if found else f"{what}."


def words_about(column: "Column") -> tuple[str, ...]:
    """Return the words by which a note about a column is found."""
    return MEMORY if column.unit is BYTES else (column.title.removeprefix("# "),)

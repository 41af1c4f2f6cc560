"""`Note`: a sentence on a profile that knows which columns it is about."""

from collections.abc import Iterable


class Note(str):
    """A sentence that matters only where one of `columns` is shown.

    It is a plain text to everyone who does not ask. A text that is no Note matters everywhere.
    """

    columns: tuple[str, ...]

    def __new__(cls, text: str, columns: tuple[str, ...] = ()) -> "Note":
        """Make a note about these columns."""
        note = super().__new__(cls, text)
        note.columns = columns
        return note


def columns_of(note: str) -> tuple[str, ...]:
    """Return the columns that a note is about; empty: all."""
    return note.columns if isinstance(note, Note) else ()


def reworded(note: str, text: str) -> str:
    """Return another text about the same columns."""
    return Note(text, columns_of(note)) if columns_of(note) else text


def joined(notes: Iterable[str]) -> tuple[str, ...]:
    """Return each text once, about all columns that one of its notes is about."""
    found: dict[str, str] = {}
    for note in notes:
        known = found.setdefault(note, note)
        if columns_of(known) and columns_of(note):
            both = sorted({*columns_of(known), *columns_of(note)})
            found[note] = Note(note, tuple(both))
        else:
            found[note] = str(note)
    return tuple(found.values())

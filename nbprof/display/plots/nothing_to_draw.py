"""Reasons: why there is nothing to draw, in a sentence."""

NOTHING = ("op ran", "op run is", "nothing ran", "no rows", "unprofiled", "no trace")
"""What the notes on a cell or a view without any rows say, which is the reason for all else."""
MEMORY = ("memory", "allocat")
SAID_OF = {"params": ("parameters",), "float_ops": ("float_ops",)}
"""What a note that concerns a column says."""


def because(what: str, notes: tuple[str, ...], about: tuple[str, ...] = ()) -> str:
    """Say what is missing, and behind it what those notes say that have a word about it."""
    words = (*NOTHING, *about)
    found = [note.rstrip(".") for note in notes if any(word in note for word in words)]
    return f"{what}: {'; '.join(found)}." if found else f"{what}."


def about_column(name: str) -> tuple[str, ...]:
    """Give the words by which a note is known that concerns a column of numbers."""
    return MEMORY if name.endswith("bytes") else SAID_OF.get(name, ())

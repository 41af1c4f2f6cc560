"""Reasons: why there is nothing to draw, in a sentence."""


def because(what: str, notes: tuple[str, ...]) -> str:
    """Say what is missing, and behind it what the profile's notes say."""
    reasons = "; ".join(note.rstrip(".") for note in notes if note)
    return f"{what}: {reasons}." if reasons else f"{what}."

"""The names of the threads whose Python stacks were sampled."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbprof._profile import Profile

CELL = "the cell's thread"


def thread_names(profile: "Profile") -> dict[int, str]:
    """Return the name of each sampled thread by its number, the cell's own first."""
    numbers = sorted({0, *profile.samples_of_python["thread"].unique().tolist()})
    # A profile of ops lists the threads of ops, whose numbers are others.
    known = [] if "ops" in profile.recording.watched else profile.threads["name"].tolist()
    names = {number: known[number] if number < len(known) else "" for number in numbers}
    return {
        number: name or (f"thread {number}" if number else CELL) for number, name in names.items()
    }

"""What the call view has to say about what samples could not see."""

from typing import TYPE_CHECKING

import pandas as pd

from nbprof.units import format_seconds
from nbprof.views.stack_rows import place_of

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.options import ViewOptions

NOTABLE_SHARE = 0.01
"""Lowest share of the wall time in which the interpreter was held that is noted."""
LISTED = 3
"""List at most this many lines and count the rest."""

HELD = (
    "{took} in {calls} that held the interpreter ({lines}): what happened inside {it} cannot be "
    "sampled"
)
"""Note on time without samples."""
NO_THREADS = (
    "only the cell's own thread was sampled, so thread_micros is not known: %%pyprof call -threads "
    "samples the others, too"
)
"""Note if other threads are asked for and were not sampled."""


def call_notes(profile: "Profile", options: "ViewOptions") -> tuple[str, ...]:
    """Return the notes on what the samples do not tell."""
    notes = _held(profile)
    if "thread_micros" in options.columns and "threads" not in profile.recording.watched:
        notes += (NO_THREADS,)
    return notes


def _held(profile: "Profile") -> tuple[str, ...]:
    samples = profile.samples_of_python
    if "held_ns" not in samples:
        return ()
    held = samples[samples["held_ns"] > 0]
    total = int(held["held_ns"].sum())
    if total < max(NOTABLE_SHARE * profile.recording.wall_ns, 1):
        return ()
    by_line = held.groupby(_lines(profile.frames, held["stack"]))["held_ns"].sum()
    named = by_line.sort_values(ascending=False).index.tolist()
    lines = ", ".join(named[:LISTED])
    if len(named) > LISTED:
        lines += f" and {len(named) - LISTED} more"
    count = len(held)
    return (
        HELD.format(
            took=format_seconds(total),
            calls=f"{count:,} C call{'' if count == 1 else 's'}",
            lines=lines,
            it="it" if count == 1 else "them",
        ),
    )


def _lines(frames: pd.DataFrame, stacks: "pd.Series[int]") -> list[str]:
    """Return the innermost line of the user's in each stack."""
    own = frames[~frames["framework"] & (frames["file"] != "")]
    last = own.drop_duplicates("stack", keep="last").set_index("stack")
    places = {
        stack: place_of(file, line)
        for stack, file, line in zip(last.index.tolist(), last["file"], last["line"], strict=True)
    }
    return [places.get(stack, "outside the cell's statements") for stack in stacks.tolist()]

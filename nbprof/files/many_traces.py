"""Several traces at once: each is of a host, and the hosts become one Profile."""

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from nbprof.errors import NbprofError
from nbprof.files.file_kinds import TRACE, Source, kind_of, not_readable, read_trace
from nbprof.files.locations import as_text
from nbprof.files.logdir import host_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from nbprof._profile import Profile
    from nbprof.files.locations import Place
    from nbprof.files.logdir import Run

Job = tuple["Place", str]
"""A trace to read, and the host it is of."""

APART_NS = 60_000_000_000
MOST_NAMED = 4
NOT_ONE_RUN = (
    "{} has traces that were recorded at different times ({}), which are not the hosts of one run: "
    "give one of them, or a list or pattern of those that belong together."
)
NO_CLOCKS = "not all traces say when they began: the times of each host count from its own start"


def read_many(
    found: "list[Place]",
    run: "Callable[[list[Job]], Iterable[Profile]]",
    folders: "Iterable[Run]" = (),
) -> "Profile":
    """Read traces by `run`, which gives the Profile of each job, and merge them.

    Those of one of the folders must be of one run.
    """
    from nbprof.ingest.trace.merge_hosts import merge

    if not found:
        raise NbprofError("nbprof.load was given nothing to read.")
    profiles = list(run(list(zip(found, _hosts(found), strict=True))))
    for folder in folders:
        known = (place.identity for place in found)
        _check_one_run(folder, dict(zip(known, profiles, strict=True)))
    return profiles[0] if len(profiles) == 1 else merge(_of_notes(_of_clocks(profiles)))


def _check_one_run(folder: "Run", profiles: "dict[str, Profile]") -> None:
    """Refuse traces that lie in one folder, but were recorded one long after the other.

    Hosts of one run are traced at the same time, as far as their clocks agree.
    """
    if folder.by_profiler or len(folder.traces) == 1:
        return
    machines = [profiles[place.identity].machines.iloc[0] for place in folder.traces]
    times = sorted((int(one["start_ns"]), int(one["wall_ns"])) for one in machines)
    end = times[0][0] + times[0][1]
    for start, wall in times if times[0][0] else ():
        if start > end + APART_NS:
            raise NbprofError(NOT_ONE_RUN.format(folder.folder, _listed(folder.traces)))
        end = max(end, start + wall)


def _listed(traces: "list[Place]") -> str:
    names = ", ".join(place.name for place in traces[:MOST_NAMED])
    return names if len(traces) <= MOST_NAMED else f"{names} …"


def read_one(job: Job) -> "Profile":
    """Read the trace of one host; anything but a trace is refused."""
    place, host = job
    source = Source(place)
    kind = kind_of(source)
    if kind is None:
        raise not_readable(source)
    if kind is not TRACE:
        raise NbprofError(f"only traces can be loaded together, and {place} is one of {kind.what}.")
    return read_trace(source, host)


def _hosts(found: "list[Place]") -> list[str]:
    """Name the host of each trace; of two traces of one host, the run too."""
    names = [host_of(place) for place in found]
    longer = [f"{as_text(place.parent).rpartition('/')[2]}/{host_of(place)}" for place in found]
    for further in (longer, [as_text(place.path) for place in found]):
        count = Counter(names)
        names = [
            one if count[one] == 1 else other for one, other in zip(names, further, strict=True)
        ]
    return names


def _of_clocks(profiles: "list[Profile]") -> "list[Profile]":
    """Leave all clocks away if one is not known."""
    known = [(profile.machines["start_ns"] > 0).all() for profile in profiles]
    if all(known):
        return profiles
    return [
        replace(
            profile,
            machines=profile.machines.assign(start_ns=0),
            notes=(*profile.notes, NO_CLOCKS),
        )
        for profile in profiles
    ]


def _of_notes(profiles: "list[Profile]") -> "list[Profile]":
    """Name the host in the notes that are not true of all."""
    common = set.intersection(*(set(profile.notes) for profile in profiles))
    return [
        replace(
            profile,
            notes=tuple(
                note if note in common else f"{profile.machines['host'].iloc[0]}: {note}"
                for note in profile.notes
            ),
        )
        for profile in profiles
    ]

"""Read several traces, one per host, into one Profile."""

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from nbprof.errors import NbprofError
from nbprof.files.file_kinds import TRACE, Source, kind_of, read_trace
from nbprof.files.locations import as_text
from nbprof.files.logdir import host_of
from nbprof.note import reworded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from nbprof._profile import Profile
    from nbprof.files.locations import Place
    from nbprof.files.logdir import Run

Job = tuple["Place", str]
"""A trace to read, and its host."""

APART_NS = 60_000_000_000
"""Longest pause in ns between traces of one run."""
MOST_NAMED = 4
"""Number of traces that an error names."""
NOT_ONE_RUN = (
    "{} has traces that were recorded at different times ({}), so they are not hosts of one run: "
    "pass one of them, or a list or pattern of those that belong together."
)
"""Error for a folder of several runs."""
NO_CLOCKS = "not all traces say when they began, so each host's times count from its own start"
"""Note on hosts without a common clock."""


def read_many(
    found: "list[Place]",
    read_all: "Callable[[list[Job]], Iterable[Profile]]",
    folders: "Iterable[Run]" = (),
) -> "Profile":
    """Read traces with `read_all`, which returns the Profile of each job, and merge them.

    The traces of each folder must belong to one run.
    """
    from nbprof.ingest.trace.merge_hosts import merge

    if not found:
        raise NbprofError("nbprof.load needs at least one path.")
    profiles = list(read_all(list(zip(found, _hosts(found), strict=True))))
    for folder in folders:
        known = (place.identity for place in found)
        _check_one_run(folder, dict(zip(known, profiles, strict=True)))
    return profiles[0] if len(profiles) == 1 else merge(_name_notes(_align_clocks(profiles)))


def _check_one_run(folder: "Run", profiles: "dict[str, Profile]") -> None:
    """Raise NbprofError if traces of one folder were recorded long after one another.

    Hosts of one run are traced at the same time, as far as their clocks agree.
    """
    if folder.by_profiler or len(folder.traces) == 1:
        return
    machines = [profiles[place.identity].machines.iloc[0] for place in folder.traces]
    times = sorted((int(machine["start_ns"]), int(machine["wall_ns"])) for machine in machines)
    end = times[0][0] + times[0][1]
    for start, wall in times if times[0][0] else ():
        if start > end + APART_NS:
            raise NbprofError(NOT_ONE_RUN.format(folder.folder, _listed(folder.traces)))
        end = max(end, start + wall)


def _listed(traces: "list[Place]") -> str:
    names = ", ".join(place.name for place in traces[:MOST_NAMED])
    return names if len(traces) <= MOST_NAMED else f"{names} …"


def read_one(job: Job) -> "Profile":
    """Read the trace of one host; raise NbprofError for any other kind of file."""
    place, host = job
    source = Source(place)
    kind = kind_of(source)
    if kind is not TRACE:
        raise NbprofError(f"only traces can be loaded together, but {place} is one of {kind.what}.")
    return read_trace(source, host)


def _hosts(found: "list[Place]") -> list[str]:
    """Return the host of each trace, with its run or path if several have the same host."""
    names = [host_of(place) for place in found]
    with_run = [f"{as_text(place.parent).rpartition('/')[2]}/{host_of(place)}" for place in found]
    for longer_names in (with_run, [as_text(place.path) for place in found]):
        count = Counter(names)
        names = [
            name if count[name] == 1 else longer
            for name, longer in zip(names, longer_names, strict=True)
        ]
    return names


def _align_clocks(profiles: "list[Profile]") -> "list[Profile]":
    """Drop the start times of all hosts if one of them is unknown."""
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


def _name_notes(profiles: "list[Profile]") -> "list[Profile]":
    """Prefix notes that do not apply to all hosts with their host."""
    common = set.intersection(*(set(profile.notes) for profile in profiles))
    return [
        replace(
            profile,
            notes=tuple(
                note
                if note in common
                else reworded(note, f"{profile.machines['host'].iloc[0]}: {note}")
                for note in profile.notes
            ),
        )
        for profile in profiles
    ]

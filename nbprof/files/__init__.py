"""Load profiles from files, recognised by their content, not by their names."""

from dataclasses import replace
from typing import TYPE_CHECKING

from nbprof.errors import NbprofError
from nbprof.files.cluster import READING, read_on_cluster
from nbprof.files.file_kinds import Source, kind_of
from nbprof.files.locations import Place, each_once, places
from nbprof.files.logdir import Run, find_traces
from nbprof.files.many_traces import Job, read_many, read_one
from nbprof.progress import progress

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    from nbprof._profile import Profile


DASK = "dask"
"""The engine that reads traces on a Dask cluster."""


def load(
    path_or_paths: "str | os.PathLike[str] | Iterable[str | os.PathLike[str]]",
    engine: str | None = None,
) -> "Profile":
    """Read a profile from a file, recognised by its content; nothing in it is executed.

    A folder stands for the traces of the newest run in it, one per host. Several traces, given as a
    list, a pattern or a folder, become one Profile of many hosts. With `engine="dask"` the workers
    of a Dask cluster read them and send back only sums; the views are the same.
    """
    if engine not in (None, DASK):
        raise NbprofError(f"unknown engine {engine!r}: leave it out, or use {DASK!r}.")
    found, folders = _files(places(path_or_paths))
    if engine == DASK:
        profile = read_many(found, read_on_cluster, folders)
    elif len(found) == 1:
        source = Source(found[0])
        profile = kind_of(source).read(source)
    else:
        profile = read_many(found, _read_in_turn, folders)
    notes = tuple(note for folder in folders for note in folder.notes)
    return replace(profile, notes=notes + profile.notes) if notes else profile


def _files(given: list[Place]) -> tuple[list[Place], list[Run]]:
    """Return the files to read, each once, and the runs found in folders."""
    found: list[Place] = []
    folders: list[Run] = []
    for place in given:
        if place.is_folder:
            folders.append(find_traces(place))
            found += folders[-1].traces
        else:
            found.append(place)
    return each_once(found), folders


def _read_in_turn(jobs: list[Job]) -> "Iterator[Profile]":
    with progress(READING, len(jobs), "file") as done:
        for job in jobs:
            yield read_one(job)
            done(1)

"""Find traces in folders: those of a run, or of the newest run of a TensorBoard logdir.

The profiler writes `<logdir>/plugins/profile/<run>/<host>.xplane.pb`, and its tools write other
files beside it, which are never taken for traces.
"""

import re
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from nbprof.errors import NbprofError
from nbprof.files.locations import as_text, each_once

if TYPE_CHECKING:
    from nbprof.files.locations import Place

SUFFIXES = (".xplane.pb", ".xplane.pb.gz")
_WHEN = re.compile(r"\d{4}(_\d\d){5}(\.\d+)?")
"""The name that the profiler gives a run: when it was recorded."""
_OF_PROFILER = re.compile(r"(^|/)plugins/profile/[^/]+$")


class Run(NamedTuple):
    """The traces of a folder that was given."""

    folder: str
    traces: "list[Place]"
    by_profiler: bool
    """Whether the profiler itself put them together, by what the folder is called."""
    notes: tuple[str, ...]


def find_traces(folder: "Place") -> Run:
    """Find the traces of the newest run below a folder, and a note on what was not taken."""
    unread: list[OSError] = []
    written = dict(folder.files(SUFFIXES, unread.append))
    runs: dict[str, list[tuple[Place, float]]] = defaultdict(list)
    for place in each_once(written):
        runs[place.parent].append((place, written[place]))
    if not runs:
        found = _unread(unread) or ("there is no trace (*.xplane.pb) in this folder or below it",)
        raise NbprofError(
            f"{folder} cannot be read: {found[0]}. "
            "nbprof.load reads files, run folders and TensorBoard logdirs."
        )
    newest = max(runs, key=lambda run: _age(run, runs))
    traces = sorted((place for place, _ in runs[newest]), key=lambda place: place.path)
    path = newest.replace("\\", "/")
    by_profiler = bool(_OF_PROFILER.search(path) or _WHEN.fullmatch(_last_part(path)))
    notes = _note(folder, newest, len(runs) - 1, by_profiler)
    return Run(newest, traces, by_profiler, notes + _unread(unread))


def _unread(errors: list[OSError]) -> tuple[str, ...]:
    """Say which folders could not be looked into."""
    if not errors:
        return ()
    more = f" and {len(errors) - 1} more folders" if len(errors) > 1 else ""
    return (f"{errors[0].filename}{more} could not be looked into ({errors[0].strerror})",)


def _age(run: str, runs: "dict[str, list[tuple[Place, float]]]") -> tuple[object, ...]:
    """Give what sorts runs by time: their names, if all are times, or else their files' times."""
    names = {one: _last_part(one) for one in runs}
    if all(_WHEN.fullmatch(name) for name in names.values()):
        return (names[run], run)
    return (max(written for _, written in runs[run]), run)


def _last_part(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


def _note(folder: "Place", newest: str, others: int, by_profiler: bool) -> tuple[str, ...]:
    name = _last_part(newest) if by_profiler else newest
    if not others:
        return () if by_profiler or newest == folder.absolute else (f"these traces are of {name}",)
    more = "1 other run is" if others == 1 else f"{others} other runs are"
    return (
        f"this is the newest run, {name}; {more} in {folder}: "
        "nbprof.load takes a run's folder, or a list or pattern of them",
    )


def host_of(place: "Place") -> str:
    """Give the host that a trace is of, by the name of its file."""
    name = place.name
    for suffix in SUFFIXES[::-1]:
        name = name.removesuffix(suffix)
    return as_text(name)

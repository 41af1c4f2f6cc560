"""Find traces in folders: those of a run, or of the newest run of a TensorBoard logdir.

The profiler writes `<logdir>/plugins/profile/<run>/<host>.xplane.pb`. Files that its tools leave
beside these are ignored.
"""

import re
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from nbprof.errors import NbprofError
from nbprof.files.locations import as_text, each_once

if TYPE_CHECKING:
    from nbprof.files.locations import Place

SUFFIXES = (".xplane.pb", ".xplane.pb.gz")
"""Endings of traces."""
_RUN_NAME = re.compile(r"\d{4}(_\d\d){5}(\.\d+)?")
"""The name that the profiler gives to a run: the time it was recorded."""
_RUN_FOLDER = re.compile(r"(^|/)plugins/profile/[^/]+$")
"""The path of the folder that the profiler makes for a run."""


class Run(NamedTuple):
    """The traces found in a folder."""

    folder: str
    traces: "list[Place]"
    by_profiler: bool
    """Whether the folder is named as the profiler names them, so that it holds one run."""
    notes: tuple[str, ...]


def find_traces(folder: "Place") -> Run:
    """Find the traces of the newest run in a folder, and note what was left out."""
    unread: list[OSError] = []
    written = dict(folder.files(SUFFIXES, unread.append))
    runs: dict[str, list[tuple[Place, float]]] = defaultdict(list)
    for place in each_once(written):
        runs[place.parent].append((place, written[place]))
    if not runs:
        found = _unread(unread) or ("there is no trace (*.xplane.pb) in it or its subfolders",)
        raise NbprofError(
            f"{folder} cannot be read: {found[0]}. "
            "nbprof.load reads files, run folders and TensorBoard logdirs."
        )
    newest = max(runs, key=lambda run: _time_key(run, runs))
    traces = sorted((place for place, _ in runs[newest]), key=lambda place: place.path)
    path = newest.replace("\\", "/")
    by_profiler = bool(_RUN_FOLDER.search(path) or _RUN_NAME.fullmatch(_last_part(path)))
    notes = _note(folder, newest, len(runs) - 1, by_profiler)
    return Run(newest, traces, by_profiler, notes + _unread(unread))


def _unread(errors: list[OSError]) -> tuple[str, ...]:
    """Return a note on the folders that could not be read."""
    if not errors:
        return ()
    more = f" and {len(errors) - 1} more folders" if len(errors) > 1 else ""
    return (f"{errors[0].filename}{more} could not be read ({errors[0].strerror})",)


def _time_key(run: str, runs: "dict[str, list[tuple[Place, float]]]") -> tuple[object, ...]:
    """Return a key that sorts runs, oldest first: by name if all are times, else by file time."""
    names = {path: _last_part(path) for path in runs}
    if all(_RUN_NAME.fullmatch(name) for name in names.values()):
        return (names[run], run)
    return (max(written for _, written in runs[run]), run)


def _last_part(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


def _note(folder: "Place", newest: str, others: int, by_profiler: bool) -> tuple[str, ...]:
    name = _last_part(newest) if by_profiler else newest
    if not others:
        is_expected = by_profiler or newest == folder.absolute
        return () if is_expected else (f"these traces come from {name}",)
    more = "1 other run is" if others == 1 else f"{others} other runs are"
    return (
        f"this is the newest run, {name}; {more} in {folder}: "
        "nbprof.load takes a run's folder, or a list or pattern of them",
    )


def host_of(place: "Place") -> str:
    """Return the host that a trace's file is named after."""
    name = place.name
    for suffix in SUFFIXES[::-1]:
        name = name.removesuffix(suffix)
    return as_text(name)

"""Load a file: its content says what it is, not its name."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nbprof import file_format
from nbprof.errors import NbprofError

if TYPE_CHECKING:
    from nbprof._profile import Profile

HEAD = 4096
"""How many of a file's first bytes are looked at."""


class Kind(NamedTuple):
    """A kind of file."""

    what: str
    recognise: Callable[[Path, bytes], bool]
    """Tells by the first bytes; of a folder there are none."""
    read: "Callable[[Path], Profile]"


def _is_own_file(_: Path, head: bytes) -> bool:
    return head.startswith(file_format.ZIP)


def _read_own_file(path: Path) -> "Profile":
    from nbprof.ingest.own_file import read_own_file

    return read_own_file(path)


def _is_saved_profile(_: Path, head: bytes) -> bool:
    from nbprof.ingest.tfprof.recognise import looks_like_saved_profile

    return looks_like_saved_profile(head)


def _read_saved_profile(path: Path) -> "Profile":
    from nbprof.ingest.tfprof.profile import make_profile
    from nbprof.ingest.tfprof.profile_proto import read_profile_proto
    from nbprof.ingest.tfprof.saved_inputs import SavedInputs

    return make_profile(SavedInputs(read_profile_proto(_read(path), str(path))), path.name)


def _is_trace(_: Path, head: bytes) -> bool:
    return head[:1] == b"\x0a"


def _read_trace(path: Path) -> "Profile":
    from nbprof.ingest.trace import read_trace_file

    return read_trace_file(path, _read(path))


KINDS = (
    Kind("nbprof's own files (made by profile.save)", _is_own_file, _read_own_file),
    Kind("tfprof's saved profiles", _is_saved_profile, _read_saved_profile),
    Kind("traces of TensorFlow's profiler (*.xplane.pb)", _is_trace, _read_trace),
)
"""The first that recognises a file reads it."""


def load(
    path_or_paths: "str | os.PathLike[str] | Iterable[str | os.PathLike[str]]",
    engine: str | None = None,
) -> "Profile":
    """Read a profile from a file, whatever its name; nothing in a file is ever run."""
    if isinstance(path_or_paths, str | os.PathLike):
        path_or_paths = [path_or_paths]
    paths = [Path(path) for path in path_or_paths]
    if engine is not None:
        raise NbprofError(f"there is no engine {engine!r}: leave engine out.")
    if len(paths) != 1:
        raise NbprofError(f"nbprof.load reads one file, and was given {len(paths)}.")
    path = paths[0]
    head = _read_head(path)
    for kind in KINDS:
        if kind.recognise(path, head):
            return kind.read(path)
    found = "a folder" if path.is_dir() else "something else" if head else "empty"
    readable = ", ".join(kind.what for kind in KINDS)
    raise NbprofError(f"{path} cannot be read: it is {found}. nbprof.load reads {readable}.")


def _read_head(path: Path) -> bytes:
    return b"" if path.is_dir() else _read(path, HEAD)


def _read(path: Path, size: int = -1) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(size)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise NbprofError(f"{path} cannot be read: {reason}.") from error

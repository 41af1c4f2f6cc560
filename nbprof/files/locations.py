"""Find files and folders by path, pattern, or URL opened by fsspec."""

import glob
import os
import re
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any, TypeVar

from nbprof.errors import NbprofError
from nbprof.progress import Done, progress

T = TypeVar("T")

NO_FSSPEC = "{} is a URL, and reading one needs the package fsspec: pip install 'nbprof[dask]'."
"""Error if fsspec is not installed."""
NO_PATH = "nbprof.load takes the path of a file or folder, or a list of paths, not {}."
"""Error for an argument that is not a path."""
MOST_LETTERS = 60
"""Number of characters of a wrong argument that an error quotes."""
PACKED = ".gz"
"""Suffix of a packed copy of a file."""
_URL = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_WILDCARD = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class Place:
    """A file or folder, local or at a URL."""

    path: str

    def __str__(self) -> str:
        return self.path

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.rstrip("/\\").replace(os.sep, "/").rpartition("/")[2] or self.path

    @property
    def parent(self) -> str:
        """The path of the folder it is in."""
        if is_url(self.path):
            return self.path.rstrip("/").rpartition("/")[0]
        return str(Path(self.path).absolute().parent)

    @property
    def absolute(self) -> str:
        """The absolute path, spelled like `parent`."""
        return self.path.rstrip("/") if is_url(self.path) else str(Path(self.path).absolute())

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        if is_url(self.path):
            return bool(_access(self.path, lambda system, path: system.isdir(path)))
        return _access(self.path, lambda _, path: Path(path).is_dir())

    @property
    def identity(self) -> str:
        """A text that is the same for all paths to one file."""
        path = self.path.removeprefix("file://")
        return self.path.rstrip("/") if is_url(path) else os.path.realpath(path)

    @property
    def is_pipe(self) -> bool:
        """Whether it can be read only once, like a shell's `<(…)`."""
        if is_url(self.path):
            return False
        mode = _access(self.path, lambda _, path: Path(path).stat().st_mode)
        return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)

    @property
    def size(self) -> int:
        """The size in bytes of a local file, 0 for URLs and pipes."""
        if is_url(self.path):
            return 0
        return _access(self.path, lambda _, path: Path(path).stat().st_size)

    def open(self) -> FileIO:
        """Open a local file."""
        return _access(self.path, lambda _, path: Path(path).open("rb", buffering=0))

    def read(self, size: int = -1) -> bytes:
        """Read the whole file, or its first `size` bytes."""

        def read(system: Any, path: str) -> bytes:
            with system.open(path, "rb") if system else Path(path).open("rb") as file:
                content: bytes = file.read(size)
                return content

        return _access(self.path, read)

    def files(
        self, endings: tuple[str, ...], unread: Callable[[OSError], None]
    ) -> "list[tuple[Place, float]]":
        """List the files below a folder with these endings, and when each was written, in seconds.

        Calls `unread` with the error of each folder that cannot be read. Large trees get a
        progress bar.
        """
        with progress(f"looking for traces in {self.path}", None, " folders") as done:
            if is_url(self.path):
                return _access(self.path, lambda system, path: _remote_files(system, path, endings))
            return _access(self.path, lambda _, path: _local_files(path, endings, done, unread))


Found = list[tuple[Place, float]]
"""Files, and when each was written, in seconds since 1970."""


def places(given: "str | os.PathLike[str] | Iterable[str | os.PathLike[str]]") -> list[Place]:
    """Return the places given, each once; a pattern such as `runs/*` stands for its matches."""
    if isinstance(given, bytes | bytearray) or not isinstance(given, str | os.PathLike | Iterable):
        raise NbprofError(NO_PATH.format(_short(given)))
    paths = [given] if isinstance(given, str | os.PathLike) else given
    return each_once(place for path in paths for place in _expand(_path(path)))


def each_once(given: Iterable[Place]) -> list[Place]:
    """Drop files already given by another path, and packed copies of other files given."""
    found: dict[str, Place] = {}
    for place in given:
        found.setdefault(place.identity, place)
    return [
        place
        for known, place in found.items()
        if not known.endswith(PACKED) or known.removesuffix(PACKED) not in found
    ]


def _path(given: object) -> str:
    path = os.fspath(given) if isinstance(given, str | os.PathLike) else None
    if not isinstance(path, str):
        raise NbprofError(NO_PATH.format(_short(given)))
    if not path:
        raise NbprofError(NO_PATH.format("an empty string"))
    return path


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]}…"


def as_text(path: str) -> str:
    """Return a path as valid Unicode; a file name may contain bytes that are not."""
    return os.fsencode(path).decode(errors="replace")


def is_url(path: str) -> bool:
    """Return whether this is a URL such as `memory://x`, not a local path."""
    return _URL.match(path) is not None


def _expand(path: str) -> list[Place]:
    if not _WILDCARD.search(path) or (not is_url(path) and _access(path, _exists)):
        return [Place(path)]
    matched = _access(path, _remote_matches if is_url(path) else _local_matches)
    found = [Place(str(match)) for match in sorted(matched)]
    if not found:
        raise NbprofError(f"nothing matches {path}: pass a file, a folder or another pattern.")
    return found


def _exists(_: None, path: str) -> bool:
    return Path(path).exists()


def _local_matches(_: None, pattern: str) -> list[str]:
    return glob.glob(pattern, recursive=True)  # noqa: PTH207 the pattern may be absolute


def _remote_matches(system: Any, pattern: str) -> list[str]:
    return [system.unstrip_protocol(path) for path in system.glob(pattern)]


def _local_files(
    path: str, endings: tuple[str, ...], done: Done, unread: Callable[[OSError], None]
) -> Found:
    """Find files, following each link to a folder only once, because links may form cycles."""
    found: Found = []
    followed: set[str] = set()
    for folder, folders, names in os.walk(path, onerror=unread, followlinks=True):
        done(1)
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        for name in links:
            target = os.path.realpath(Path(folder) / name)
            if target in followed:
                folders.remove(name)
            followed.add(target)
        for name in names:
            file = Path(folder) / name if name.endswith(endings) else None
            if file is not None and file.is_file():
                found.append((Place(str(file)), file.stat().st_mtime))
    return found


def _remote_files(system: Any, path: str, endings: tuple[str, ...]) -> Found:
    return [
        (Place(system.unstrip_protocol(name)), _seconds(about))
        for name, about in system.find(path, detail=True).items()
        if name.endswith(endings)
    ]


def _seconds(about: dict[str, Any]) -> float:
    """Return when a file was written, under whichever key its storage uses, else 0."""
    for key in ("mtime", "LastModified", "last_modified", "updated", "created"):
        when: Any = about.get(key)
        if hasattr(when, "timestamp"):
            return float(when.timestamp())
        if isinstance(when, int | float):
            return float(when)
    return 0.0


def _access(path: str, work: Callable[[Any, str], T]) -> T:
    """Call `work` with the path's file system (None if local) and the path.

    Failures become an NbprofError.
    """
    try:
        if not is_url(path):
            return work(None, path)
        return work(*_fsspec(path).core.url_to_fs(path))
    except (OSError, ValueError, ImportError) as error:
        reason = getattr(error, "strerror", None) or error
        raise NbprofError(f"{path} cannot be read: {reason}.") from error


def _fsspec(path: str) -> Any:
    try:
        import fsspec
    except ImportError:
        raise NbprofError(NO_FSSPEC.format(path)) from None
    return fsspec

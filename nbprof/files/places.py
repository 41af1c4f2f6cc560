"""Where profiles are kept: files, folders, globs, and URLs that fsspec opens."""

import glob
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any, TypeVar

from nbprof.errors import NbprofError
from nbprof.progress import Done, progress

T = TypeVar("T")

NO_FSSPEC = (
    "{} is a URL, and reading one needs the package fsspec: pip install 'nbprof[dask]' brings it."
)
NO_PATH = "nbprof.load takes the path of a file or folder, or a list of paths, not {}."
MOST_LETTERS = 60
_URL = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_MAGIC = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class Place:
    """A file or folder, here or behind a URL."""

    path: str

    def __str__(self) -> str:
        return self.path

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.rstrip("/\\").replace(os.sep, "/").rpartition("/")[2] or self.path

    @property
    def parent(self) -> str:
        """The folder it is in, as a text."""
        if is_url(self.path):
            return self.path.rstrip("/").rpartition("/")[0]
        return str(Path(self.path).absolute().parent)

    @property
    def absolute(self) -> str:
        """The whole path, as `parent` writes it."""
        return self.path.rstrip("/") if is_url(self.path) else str(Path(self.path).absolute())

    @property
    def is_folder(self) -> bool:
        """Tell whether it is a folder."""
        if is_url(self.path):
            return bool(_told(self.path, lambda system, path: system.isdir(path)))
        return Path(self.path).is_dir()

    @property
    def size(self) -> int:
        """How many bytes a file of this machine has, 0 for what is elsewhere or cannot tell."""
        if is_url(self.path):
            return 0
        return _told(self.path, lambda _, path: Path(path).stat().st_size)

    def open(self) -> FileIO:
        """Open a file of this machine."""
        return _told(self.path, lambda _, path: Path(path).open("rb", buffering=0))

    def read(self, size: int = -1) -> bytes:
        """Read the whole file, or its first bytes."""

        def read(system: Any, path: str) -> bytes:
            with system.open(path, "rb") if system else Path(path).open("rb") as file:
                content: bytes = file.read(size)
                return content

        return _told(self.path, read)

    def files(self, endings: tuple[str, ...]) -> "list[tuple[Place, float]]":
        """List the files below a folder whose names end so, and when each was written, in seconds.

        A big tree takes long, so a bar shows that something goes on.
        """
        find = _remote_files if is_url(self.path) else _local_files
        with progress(f"looking for traces in {self.path}", None, " folders") as done:
            return _told(self.path, lambda system, path: list(find(system, path, endings, done)))


Found = Iterator[tuple[Place, float]]


def places(given: "str | os.PathLike[str] | Iterable[str | os.PathLike[str]]") -> list[Place]:
    """Give the places meant, each once; a pattern such as `runs/*` stands for what it matches."""
    if isinstance(given, bytes | bytearray) or not isinstance(given, str | os.PathLike | Iterable):
        raise NbprofError(NO_PATH.format(_short(given)))
    paths = [given] if isinstance(given, str | os.PathLike) else given
    found = [place for one in paths for place in _expand(_path(one))]
    return list(dict.fromkeys(found))


def _path(given: object) -> str:
    path = os.fspath(given) if isinstance(given, str | os.PathLike) else None
    if not isinstance(path, str):
        raise NbprofError(NO_PATH.format(_short(given)))
    if not path:
        raise NbprofError(NO_PATH.format("an empty text"))
    return path


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]}…"


def is_url(path: str) -> bool:
    """Tell a URL such as `memory://x` from a path of this machine."""
    return _URL.match(path) is not None


def _expand(path: str) -> list[Place]:
    if not _MAGIC.search(path) or (not is_url(path) and Path(path).exists()):
        return [Place(path)]
    matched = _told(path, _remote_matches if is_url(path) else _local_matches)
    found = [Place(str(one)) for one in sorted(matched)]
    if not found:
        raise NbprofError(f"nothing matches {path}: give a file, a folder or another pattern.")
    return found


def _local_matches(_: None, pattern: str) -> list[str]:
    return glob.glob(pattern, recursive=True)  # noqa: PTH207 the pattern may be absolute


def _remote_matches(system: Any, pattern: str) -> list[str]:
    return [system.unstrip_protocol(path) for path in system.glob(pattern)]


def _local_files(_: None, path: str, endings: tuple[str, ...], done: Done) -> Found:
    for folder, _folders, names in os.walk(path):
        done(1)
        for name in names:
            file = Path(folder) / name if name.endswith(endings) else None
            if file is not None and file.is_file():
                yield Place(str(file)), file.stat().st_mtime


def _remote_files(system: Any, path: str, endings: tuple[str, ...], _: Done) -> Found:
    for name, about in system.find(path, detail=True).items():
        if name.endswith(endings):
            yield Place(system.unstrip_protocol(name)), _seconds(about)


def _seconds(about: dict[str, Any]) -> float:
    """Find when a file was written, as its kind of storage says it; 0 where it does not."""
    for key in ("mtime", "LastModified", "last_modified", "updated", "created"):
        when: Any = about.get(key)
        if hasattr(when, "timestamp"):
            return float(when.timestamp())
        if isinstance(when, int | float):
            return float(when)
    return 0.0


def _told(path: str, work: Callable[[Any, str], T]) -> T:
    """Do something with a path, on the file system it is of; what fails is told in a sentence."""
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

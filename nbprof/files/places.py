"""Where profiles are kept: files, folders, globs, and URLs that fsspec opens."""

import glob
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from nbprof.errors import NbprofError

T = TypeVar("T")

NO_FSSPEC = (
    "{} is a URL, and reading one needs the package fsspec: pip install 'nbprof[dask]' brings it."
)
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
    def is_folder(self) -> bool:
        """Tell whether it is a folder."""
        if is_url(self.path):
            return bool(_told(self.path, lambda system, path: system.isdir(path)))
        return Path(self.path).is_dir()

    def read(self, size: int = -1) -> bytes:
        """Read the whole file, or its first bytes."""

        def read(system: Any, path: str) -> bytes:
            with system.open(path, "rb") if system else Path(path).open("rb") as file:
                content: bytes = file.read(size)
                return content

        return _told(self.path, read)

    def files(self) -> "list[tuple[Place, float]]":
        """List all files below a folder, each with when it was written, in seconds."""
        if is_url(self.path):
            return _told(self.path, _remote_files)
        return _told(self.path, _local_files)


def places(given: "str | os.PathLike[str] | Iterable[str | os.PathLike[str]]") -> list[Place]:
    """Give the places meant, each once; a pattern such as `runs/*` stands for what it matches."""
    if isinstance(given, str | os.PathLike):
        given = [given]
    found = [place for one in given for place in _expand(os.fspath(one))]
    return list(dict.fromkeys(found))


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


def _local_files(_: None, path: str) -> list[tuple[Place, float]]:
    found = (Path(folder) / name for folder, _, names in os.walk(path) for name in names)
    return [(Place(str(file)), file.stat().st_mtime) for file in found if file.is_file()]


def _remote_files(system: Any, path: str) -> list[tuple[Place, float]]:
    return [
        (Place(system.unstrip_protocol(name)), _seconds(about))
        for name, about in system.find(path, detail=True).items()
    ]


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

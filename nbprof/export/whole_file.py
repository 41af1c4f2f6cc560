"""Write a file completely or not at all."""

import os
import shutil
import stat
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from nbprof.errors import NbprofError


def check_path(given: object) -> None:
    """Refuse anything that is not a path."""
    if not isinstance(given, str | os.PathLike) or not os.fspath(given):
        raise NbprofError(f"writing a file needs a path, not {given!r}.")


@contextmanager
def whole_file(path: "str | os.PathLike[str]") -> Iterator[BinaryIO]:
    """Open a temporary file that replaces `path` if the block ends without an exception.

    A pipe or device such as `/dev/stdout` is written to, never replaced.
    """
    check_path(path)
    try:
        with _copied_to(path) if _is_device(path) else _moved_to(path) as file:
            yield file
    except OSError as error:
        # Not chained: the original error names the temporary file, which means nothing to users.
        raise NbprofError(f"{path} cannot be written: {error.strerror or error}.") from None


def _is_device(path: "str | os.PathLike[str]") -> bool:
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


@contextmanager
def _copied_to(path: "str | os.PathLike[str]") -> Iterator[BinaryIO]:
    """Collect the content and copy it at the end, because a pipe is not seekable."""
    with tempfile.TemporaryFile() as file:
        yield file
        file.seek(0)
        with Path(path).open("wb") as target:
            shutil.copyfileobj(file, target)


@contextmanager
def _moved_to(path: "str | os.PathLike[str]") -> Iterator[BinaryIO]:
    target = Path(os.path.realpath(path))
    part = target.with_name(f".{uuid.uuid4().hex}.part")
    try:
        with part.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)

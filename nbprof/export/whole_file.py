"""A file that is there whole or not at all."""

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
    """Refuse what is no path."""
    if not isinstance(given, str | os.PathLike) or not os.fspath(given):
        raise NbprofError(f"a file to be written needs a path, not {given!r}.")


@contextmanager
def whole_file(path: "str | os.PathLike[str]") -> Iterator[BinaryIO]:
    """Open a file beside `path` that takes its place when the block ends without an exception.

    What is no ordinary file, such as a pipe or `/dev/stdout`, is written to, never replaced.
    """
    check_path(path)
    try:
        with _handed_on(path) if _is_device(path) else _put_in_place(path) as file:
            yield file
    except OSError as error:
        # Without the error itself, which tells of the part, of which nobody has heard.
        raise NbprofError(f"{path} cannot be written: {error.strerror or error}.") from None


def _is_device(path: "str | os.PathLike[str]") -> bool:
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


@contextmanager
def _handed_on(path: "str | os.PathLike[str]") -> Iterator[BinaryIO]:
    """Gather all that is written, and hand it on in the end: a pipe cannot go back."""
    with tempfile.TemporaryFile() as file:
        yield file
        file.seek(0)
        with Path(path).open("wb") as target:
            shutil.copyfileobj(file, target)


@contextmanager
def _put_in_place(path: "str | os.PathLike[str]") -> Iterator[BinaryIO]:
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

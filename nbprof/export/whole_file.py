"""A file that is there whole or not at all."""

import os
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
    """Open a file beside `path` that takes its place when the block ends without an exception."""
    check_path(path)
    target = Path(os.path.realpath(path))
    part = target.with_name(f".{uuid.uuid4().hex}.part")
    try:
        with part.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    except OSError as error:
        # Without the error itself, which tells of the part, of which nobody has heard.
        raise NbprofError(f"{path} cannot be written: {error.strerror or error}.") from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)

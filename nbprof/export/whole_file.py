"""A file that is there whole or not at all."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from nbprof.errors import NbprofError


@contextmanager
def whole_file(path: "str | os.PathLike[str]") -> Iterator[BinaryIO]:
    """Open a file beside `path` that takes its place when the block ends without an exception."""
    target = Path(os.path.realpath(path))
    part = target.with_name(f".{uuid.uuid4().hex}.part")
    try:
        with part.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    except OSError as error:
        raise NbprofError(f"{path} cannot be written: {error.strerror or error}.") from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)

"""Exports: a View or a Profile as a file that another program reads."""

from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from nbprof.errors import NbprofError
from nbprof.export import chrome_trace, pprof, saved_profile, whole_file

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from nbprof._profile import Profile

EXPORTERS: "dict[str, Callable[[Profile, BinaryIO], None]]" = {
    ".trace.json": chrome_trace.write,
    ".trace.json.gz": chrome_trace.write_gzip,
    ".pb.gz": pprof.write_micros,
    ".tfprof": saved_profile.write,
}
"""What a Profile can be exported to, by the end of the file's name."""


def write_file(profile: "Profile", path: "str | os.PathLike[str]") -> None:
    """Write the profile as the file's suffix says; the file is there whole or not at all."""
    whole_file.check_path(path)
    name = Path(path).name
    suffix = next((suffix for suffix in EXPORTERS if name.endswith(suffix)), None)
    if suffix is None:
        raise NbprofError(
            f"{name!r} does not say what to export: its name must end in {' or '.join(EXPORTERS)}."
        )
    with whole_file.whole_file(path) as file:
        EXPORTERS[suffix](profile, file)

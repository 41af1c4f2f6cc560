"""Exports: a View or a Profile as a file that another program reads."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from nbprof.errors import NbprofError
from nbprof.export import chrome_trace, pprof, saved_profile, whole_file
from nbprof.export.python import callgrind, collapsed, dot, pstats_file, speedscope
from nbprof.options import Output, ViewOptions

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from nbprof._profile import Profile
    from nbprof.views.view import View


@dataclass(frozen=True)
class Format:
    """A file format that a Profile can be exported to."""

    write: "Callable[[Any, BinaryIO], None]"
    """Writes the Profile or, where `view` names one, that view of it."""
    view: tuple[str, ViewOptions] | None = None
    """Name and options of the view to write, None for the Profile itself."""


FORMATS = {
    ".trace.json": Format(chrome_trace.write),
    ".trace.json.gz": Format(chrome_trace.write_gzip),
    ".pb.gz": Format(
        pprof.write, ("code", ViewOptions.parse({"select": "micros", "output": Output("pprof")}))
    ),
    ".tfprof": Format(saved_profile.write),
    ".prof": Format(pstats_file.write),
    ".callgrind": Format(callgrind.write),
    ".speedscope.json": Format(speedscope.write),
    ".collapsed": Format(collapsed.write),
    ".dot": Format(dot.write),
}
"""Export formats by the end of the file's name."""


def find_format(path: "str | os.PathLike[str]") -> Format:
    """Return the format that the end of the file's name stands for."""
    whole_file.check_path(path)
    name = Path(path).name
    suffix = next((suffix for suffix in FORMATS if name.endswith(suffix)), None)
    if suffix is None:
        raise NbprofError(
            f"{name!r} does not say what to export: its name must end in {' or '.join(FORMATS)}."
        )
    return FORMATS[suffix]


def write_file(
    source: "Profile | View", file_format: Format, path: "str | os.PathLike[str]"
) -> None:
    """Write what the format takes, a Profile or a View; a failure leaves no file behind."""
    with whole_file.whole_file(path) as file:
        file_format.write(source, file)

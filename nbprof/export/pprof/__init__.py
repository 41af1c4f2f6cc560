"""The code view as a gzipped pprof profile: `go tool pprof -http=: FILE` shows it.

For tfprof's inputs it is the profile that tfprof itself writes. For a recorded cell it is a plain
one, with a location for each line of Python and nothing lost.
"""

import gzip
from typing import TYPE_CHECKING, BinaryIO

from nbprof.export.pprof import cell_profile, tfprof_profile
from nbprof.export.pprof.code_rows import CodeRows

if TYPE_CHECKING:
    from nbprof.views.view import View


def write(view: "View", file: BinaryIO) -> None:
    """Write the one selected metric of a code view; equal views produce equal bytes."""
    build = tfprof_profile.build if view.exact else cell_profile.build
    content = build(CodeRows.of(view)).message()
    with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as compressed:
        compressed.write(content)

"""The code view as a gzipped pprof profile: `go tool pprof -http=: FILE` shows it.

Of tfprof's inputs the profile is tfprof's own; of a recorded cell it is a plain one, with a
location for each line of Python and nothing lost.
"""

import gzip
from typing import TYPE_CHECKING, BinaryIO

from nbprof.export.pprof import cell_profile, tfprof_profile
from nbprof.options import Output

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.views.view import View


def write(profile: "Profile", view: "View", file: BinaryIO) -> None:
    """Write the one selected metric of a code view; equal views give equal bytes."""
    build = tfprof_profile.build if view.exact else cell_profile.build
    content = build(profile, view).message()
    with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as compressed:
        compressed.write(content)


def write_micros(profile: "Profile", file: BinaryIO) -> None:
    """Write where the time of a whole profile went."""
    write(profile, profile.code(select="micros", output=Output("pprof")), file)

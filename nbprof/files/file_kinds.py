"""The kinds of files that can be loaded, told by their first bytes."""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nbprof import file_format
from nbprof.errors import NbprofError
from nbprof.files.gunzip import GZIP, unpack, unpack_head
from nbprof.files.locations import is_url
from nbprof.files.logdir import host_of
from nbprof.progress import progress

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.files.locations import Place
    from nbprof.ingest.protobuf.wire import Buffer

SMALL = 1 << 20
"""Files of so many bytes are read at once."""

HEAD = 4096
"""How many of a file's first bytes are looked at."""


class Source:
    """A file to be read; of one that is gzip, what is in it."""

    def __init__(self, place: "Place") -> None:
        self.place = place

    @cached_property
    def _piped(self) -> bytes | None:
        """All of what can be read only once."""
        return self.place.read() if self.place.is_pipe else None

    @cached_property
    def raw_head(self) -> bytes:
        """The first bytes as they are."""
        return self.place.read(HEAD) if self._piped is None else self._piped[:HEAD]

    @property
    def is_packed(self) -> bool:
        """Tell whether it is gzip."""
        return self.raw_head.startswith(GZIP)

    @cached_property
    def head(self) -> bytes:
        """The first bytes of what is in it."""
        return unpack_head(self.raw_head, HEAD) if self.is_packed else self.raw_head

    def content(self) -> bytes:
        """Read it all."""
        data = self.place.read() if self._piped is None else self._piped
        return unpack(self.place, data) if self.is_packed else data

    def trace(self) -> "Buffer":
        """Give it as a trace; a long one stays in its file as far as it can."""
        from nbprof.ingest.protobuf.long_file import LongFile
        from nbprof.ingest.protobuf.wire import Buffer

        if not self.is_packed and self._piped is None and self.place.size > SMALL:
            return LongFile(self.place.open(), str(self.place))
        return Buffer(self.content(), str(self.place))


class Kind(NamedTuple):
    """A kind of file."""

    what: str
    recognise: Callable[[bytes], bool]
    """Tells by the first bytes."""
    read: "Callable[[Source], Profile]"


def _is_own_file(head: bytes) -> bool:
    return head.startswith(file_format.ZIP)


def _read_own_file(source: Source) -> "Profile":
    from nbprof.ingest.saved.read_profile import read_own_file

    if source.is_packed or is_url(source.place.path) or source.place.is_pipe:
        raise NbprofError(
            f"{source.place} cannot be read: nbprof's own file must be a file of this machine, "
            "not packed again; copy or unpack it first."
        )
    return read_own_file(Path(source.place.path))


def _is_saved_profile(head: bytes) -> bool:
    from nbprof.ingest.tfprof.saved_signature import looks_like_saved_profile

    return looks_like_saved_profile(head)


def _read_saved_profile(source: Source) -> "Profile":
    from nbprof.ingest.tfprof.make_profile import make_profile
    from nbprof.ingest.tfprof.profile_reader import read_profile_proto
    from nbprof.ingest.tfprof.saved_source import SavedInputs

    saved = read_profile_proto(source.content(), str(source.place))
    return make_profile(SavedInputs(saved), source.place.name)


def _is_trace(head: bytes) -> bool:
    from nbprof.ingest.xspace.trace_signature import looks_like_trace

    return looks_like_trace(head)


def read_trace(source: Source, host: str = "") -> "Profile":
    """Read a trace; `host` is what its machine is called, if not as the file.

    Alone it shows how far it is; of many, which come with their host, the one who reads them does.
    """
    from nbprof.ingest.trace.trace_file import read_trace_file

    if host:
        return read_trace_file(source.trace(), host)
    trace = source.trace()
    with progress(f"reading {source.place.name}", len(trace.data), "B") as done:
        return read_trace_file(trace, host_of(source.place), done)


TRACE = Kind("traces of TensorFlow's or JAX' profiler (*.xplane.pb)", _is_trace, read_trace)
KINDS = (
    Kind("nbprof's own files (made by profile.save)", _is_own_file, _read_own_file),
    Kind("tfprof's saved profiles", _is_saved_profile, _read_saved_profile),
    TRACE,
)
"""The first that recognises a file reads it."""


def kind_of(source: Source) -> Kind | None:
    """Tell what a file is, None if it is nothing that can be read."""
    return next((kind for kind in KINDS if kind.recognise(source.head)), None)


def not_readable(source: Source) -> NbprofError:
    """Make the sentence on a file that is none of the kinds."""
    found = "something else" if source.raw_head else "empty"
    readable = ", ".join(kind.what for kind in KINDS)
    what = f"{source.place} cannot be read: it is {found}."
    return NbprofError(f"{what} nbprof.load reads {readable}.")

"""The kinds of files that can be loaded, recognised by their first bytes."""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nbprof import file_format
from nbprof.errors import NbprofError
from nbprof.files.gunzip import GZIP, unpack, unpack_head
from nbprof.files.locations import as_text, is_url
from nbprof.files.logdir import host_of
from nbprof.progress import progress

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.files.locations import Place
    from nbprof.ingest.protobuf.wire import Buffer

SMALL = 1 << 20
"""A trace of at most this many bytes is read in one go."""

HEAD = 4096
"""Number of leading bytes by which a file is recognised."""


class Source:
    """A file to read, unpacked if it is gzip."""

    def __init__(self, place: "Place") -> None:
        self.place = place

    @cached_property
    def _piped(self) -> bytes | None:
        """The whole content of a pipe, which can be read only once; None for other files."""
        return self.place.read() if self.place.is_pipe else None

    @cached_property
    def raw_head(self) -> bytes:
        """The first bytes as stored."""
        return self.place.read(HEAD) if self._piped is None else self._piped[:HEAD]

    @property
    def is_packed(self) -> bool:
        """Whether it is gzip."""
        return self.raw_head.startswith(GZIP)

    @cached_property
    def head(self) -> bytes:
        """The first bytes, unpacked."""
        return unpack_head(self.raw_head, HEAD) if self.is_packed else self.raw_head

    def content(self) -> bytes:
        """Read the whole file, unpacked."""
        data = self.place.read() if self._piped is None else self._piped
        return unpack(self.place, data) if self.is_packed else data

    def trace(self) -> "Buffer":
        """Return the buffer of a trace; a long one is read from its file part by part."""
        from nbprof.ingest.protobuf.long_file import LongFile
        from nbprof.ingest.protobuf.wire import Buffer

        if not self.is_packed and self._piped is None and self.place.size > SMALL:
            return LongFile(self.place.open(), str(self.place))
        return Buffer(self.content(), str(self.place))


class Kind(NamedTuple):
    """A kind of file."""

    what: str
    """What errors call files of this kind."""
    recognise: Callable[[bytes], bool]
    """Returns whether a file that begins with these bytes is of this kind."""
    read: "Callable[[Source], Profile]"


def _is_own_file(head: bytes) -> bool:
    return head.startswith(file_format.ZIP)


def _read_own_file(source: Source) -> "Profile":
    from nbprof.ingest.saved.read_profile import read_own_file

    if source.is_packed or is_url(source.place.path) or source.place.is_pipe:
        raise NbprofError(
            f"{source.place} cannot be read: nbprof's own file must be local and not "
            "gzipped; copy or unpack it first."
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
    """Read a trace and show the progress; its host is named after the file.

    If the caller reads several traces, it passes the `host` and shows the progress itself.
    """
    from nbprof.ingest.trace.trace_file import read_trace_file

    if host:
        return read_trace_file(source.trace(), host)
    trace = source.trace()
    with progress(f"reading {source.place.name}", len(trace.data), "B") as done:
        return read_trace_file(trace, host_of(source.place), done)


def _is_pstats(head: bytes) -> bool:
    from nbprof.ingest.python.signatures import looks_like_pstats

    return looks_like_pstats(head)


def _read_pstats(source: Source) -> "Profile":
    from nbprof.ingest.python.pstats_file import read_pstats

    return read_pstats(source.content(), as_text(source.place.name))


def _is_speedscope(head: bytes) -> bool:
    from nbprof.ingest.python.signatures import looks_like_speedscope

    return looks_like_speedscope(head)


def _read_speedscope(source: Source) -> "Profile":
    from nbprof.ingest.python.speedscope_file import read_speedscope

    return read_speedscope(source.content(), as_text(source.place.name))


def _is_collapsed(head: bytes) -> bool:
    from nbprof.ingest.python.signatures import looks_like_collapsed

    return looks_like_collapsed(head)


def _read_collapsed(source: Source) -> "Profile":
    from nbprof.ingest.python.collapsed_file import read_collapsed

    return read_collapsed(source.content(), as_text(source.place.name))


TRACE = Kind("traces of TensorFlow's or JAX's profiler (*.xplane.pb)", _is_trace, read_trace)
KINDS = (
    Kind("nbprof's own files (made by profile.save)", _is_own_file, _read_own_file),
    Kind("tfprof's saved profiles", _is_saved_profile, _read_saved_profile),
    TRACE,
    Kind("pstats of cProfile (*.prof)", _is_pstats, _read_pstats),
    Kind("speedscope files (*.speedscope.json)", _is_speedscope, _read_speedscope),
    Kind("collapsed stacks (*.collapsed)", _is_collapsed, _read_collapsed),
)
"""All kinds; the first that recognises a file reads it."""


def kind_of(source: Source) -> Kind:
    """Return the kind of a file; raise NbprofError if it is unknown."""
    for kind in KINDS:
        if kind.recognise(source.head):
            return kind
    problem = "its format is unknown" if source.raw_head else "it is empty"
    readable = ", ".join(kind.what for kind in KINDS)
    raise NbprofError(f"{source.place} cannot be read: {problem}. nbprof.load reads {readable}.")

"""Tell a trace (an XSpace) from other files by its first bytes.

Any protobuf message with a message in field 1 begins alike. So the first plane is looked at field
by field: other kinds (a GraphDef, a SavedModel, an OpStats, an HloProto, a pprof profile) have
fields of other types there, or no readable name.
"""

from collections.abc import Iterator, Mapping

from nbprof.ingest.protobuf.varints import first_varint
from nbprof.ingest.protobuf.wire import FIXED32, FIXED64, LENGTH, VARINT

PLANE, PLANE_NAME, PLANE_LINE = 1, 2, 3
SPACE = {1: LENGTH, 2: LENGTH, 3: LENGTH, 4: LENGTH}
"""The fields of an XSpace and their types: planes, errors, warnings, names of hosts."""
IN_PLANE = {1: VARINT, 2: LENGTH, 3: LENGTH, 4: LENGTH, 5: LENGTH, 6: LENGTH}
IN_LINE = {1: VARINT, 2: LENGTH, 3: VARINT, 4: LENGTH, 9: VARINT, 10: VARINT, 11: LENGTH}
FIXED = {FIXED64: 8, FIXED32: 4}
MOST_NUMBERS = 1 << 29

Field = tuple[int, int, int]
"""Its number, and where its content begins and ends; the end may lie beyond the bytes at hand."""


def looks_like_trace(head: bytes) -> bool:
    """Tell whether a file that begins like this is an XSpace with at least one plane."""
    try:
        for number, begin, end in _fields(head, 0, len(head), SPACE):
            if number == PLANE:
                return _is_plane(head, begin, end)
    except ValueError:
        pass
    return False


def _is_plane(head: bytes, begin: int, end: int) -> bool:
    """Tell whether these bytes, as far as they are there, are a plane with a name or a line."""
    known = end == begin  # a plane without anything
    for number, at, stop in _fields(head, begin, end, IN_PLANE):
        if number == PLANE_NAME:
            known = True
            if stop <= len(head) and not _is_name(head[at:stop]):
                return False
        elif number == PLANE_LINE:
            known = True
            for _ in _fields(head, at, stop, IN_LINE):
                pass
    return known


def _is_name(text: bytes) -> bool:
    return text.decode(errors="replace").isprintable()


def _fields(head: bytes, at: int, end: int, types: Mapping[int, int]) -> Iterator[Field]:
    """Yield the fields of a message as far as it is there; ValueError where it is no such message.

    A field that the format does not have is passed over: a later release may have added it.
    """
    while at < min(end, len(head)):
        try:
            tag, at = first_varint(head, at)
            number, kind = tag >> 3, tag & 7
            if not 0 < number < MOST_NUMBERS or types.get(number, kind) != kind:
                raise ValueError(f"field {number} of type {kind}")
            begin = at
            if kind == VARINT:
                _, at = first_varint(head, at)
            elif kind == LENGTH:
                size, begin = first_varint(head, at)
                at = begin + size
            elif kind in FIXED:
                at += FIXED[kind]
            else:
                raise ValueError(f"type {kind}")
        except IndexError:
            return
        if at > end and end < len(head):
            raise ValueError("a field that ends after its message")
        yield number, begin, at

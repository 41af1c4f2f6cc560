"""Recognise a trace (an XSpace) by its first bytes.

Every protobuf message with a message in field 1 begins the same way. So the first plane is checked
field by field: other files (a GraphDef, a SavedModel, an OpStats, an HloProto, a pprof profile)
have fields of other types there, or no readable name.
"""

from collections.abc import Iterator, Mapping

from nbprof.ingest.protobuf.varints import first_varint
from nbprof.ingest.protobuf.wire import FIXED32, FIXED64, LENGTH, VARINT

PLANE, PLANE_NAME, PLANE_LINE = 1, 2, 3
"""Numbers of the fields that identify a trace: planes of the space, name and lines of a plane."""
IN_SPACE = {1: LENGTH, 2: LENGTH, 3: LENGTH, 4: LENGTH}
"""Wire types of the fields of an XSpace: planes, errors, warnings, host names."""
IN_PLANE = {1: VARINT, 2: LENGTH, 3: LENGTH, 4: LENGTH, 5: LENGTH, 6: LENGTH}
"""Wire types of the fields of a plane."""
IN_LINE = {1: VARINT, 2: LENGTH, 3: VARINT, 4: LENGTH, 9: VARINT, 10: VARINT, 11: LENGTH}
"""Wire types of the fields of a line."""
FIXED = {FIXED64: 8, FIXED32: 4}
"""Sizes in bytes of the fixed-width wire types."""
FIELD_NUMBERS = range(1, 1 << 29)
"""The field numbers that protobuf allows."""

Field = tuple[int, int, int]
"""A field's number, and where its content begins and ends, which may be beyond the data."""


def looks_like_trace(head: bytes) -> bool:
    """Return whether a file that begins like this is an XSpace with at least one plane."""
    try:
        for number, begin, end in _fields(head, 0, len(head), IN_SPACE):
            if number == PLANE:
                return _is_plane(head, begin, end)
    except ValueError:
        pass
    return False


def _is_plane(head: bytes, begin: int, end: int) -> bool:
    """Return whether these bytes, as far as present, are a plane with a name or a line."""
    known = end == begin  # an empty plane
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
    """Yield the fields of a message as far as present; raise ValueError if it is another message.

    Unknown fields are fine: a later release may have added them.
    """
    while at < min(end, len(head)):
        try:
            tag, at = first_varint(head, at)
            number, kind = tag >> 3, tag & 7
            if number not in FIELD_NUMBERS or types.get(number, kind) != kind:
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

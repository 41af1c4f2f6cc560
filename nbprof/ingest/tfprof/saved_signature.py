"""Recognise a saved profile by its first bytes.

An XSpace begins the same way: with a message that holds a number and then a text, the name of a
plane. So the first node is checked field by field: no such name parses as the fields of a node.
"""

from nbprof.ingest.protobuf.varints import LONGEST, first_varint
from nbprof.ingest.protobuf.wire import LENGTH, VARINT
from nbprof.protos import profile_fields as fields

ENTRY = fields.PROFILE_NODES << 3 | LENGTH
KEY, VALUE = fields.KEY << 3 | VARINT, fields.VALUE << 3 | LENGTH
NODE = {
    *(number << 3 | VARINT for number in (fields.NODE_FLOAT_OPS, fields.NODE_ID)),
    *(
        number << 3 | LENGTH
        for number in range(fields.NODE_NAME, fields.NODE_OUTPUT_SHAPES + 1)
        if number not in (fields.NODE_FLOAT_OPS, fields.NODE_ID)
    ),
}
"""Tags of a node's fields."""


def looks_like_saved_profile(head: bytes) -> bool:
    """Return whether a file that begins like this is a ProfileProto with at least one node."""
    try:
        tag, at = first_varint(head, 0)
        size, at = first_varint(head, at)
        end = at + size
        if tag != ENTRY:
            return False
        tag, at = first_varint(head, at)
        if tag == KEY:
            _, at = first_varint(head, at)
            tag, at = first_varint(head, at)
        size, at = first_varint(head, at)
        return tag == VALUE and size > 0 and at + size == end and _is_node(head, at, end)
    except (IndexError, ValueError):
        return False


def _is_node(head: bytes, at: int, end: int) -> bool:
    """Return whether these bytes, as far as present, are fields of a node."""
    is_whole = end <= len(head)
    while at < (end if is_whole else len(head) - 2 * LONGEST):
        tag, at = first_varint(head, at)
        if tag not in NODE:
            return False
        number, at = first_varint(head, at)
        if tag & 7 == LENGTH:
            at += number
    return at == end if is_whole else at <= end

"""What the texts on a GPU's events say: which op launched them, what is copied, how many bytes.

Only distinct texts are read, never single events.
"""

import re

from nbprof.ingest.trace.work.event_kinds import split

CONSTANTS = "MemcpyH2D of constants"
"""Op type of the copies with which TensorFlow puts a program's constants on a device."""
OTHER_COPY = "MemcpyOther"
"""Op type of copies between other places than the host's memory and a device's."""
UNNAMED = "kernels without an op"
"""Op type and name of the kernels that carry no op's name."""

COPY_TYPES = (
    *("MemcpyH2D", "MemcpyD2H", "MemcpyD2D", "MemcpyP2P", OTHER_COPY, "Memset"),
    CONSTANTS,
)
"""Op types of copies: to, from, within and between devices, other ones; then of fills."""

_CONSTANTS_SCOPE = "MakeTensorFromProto"
"""The annotation under which TensorFlow copies constants."""
_COPY = re.compile(rb"Memcpy(?P<kind>\w+)|(?P<fill>Memset)( .*)?|UM_BYTES_TRANSFER_(?P<moved>\w+)")
_DIRECTIONS = {b"HTOD": "H2D", b"DTOH": "D2H", b"DTOD": "D2D"}
"""How copies of unified memory are named, and how all others are."""
_NO_WORK = re.compile(
    rb"Memory(Alloc|Free|Residency)?( \w+)?|UM_(?!BYTES_TRANSFER)\w+"
    rb"|(sm|memory)_clock_mhz|gpu_temp_c|power_mw"
)
"""Events on streams that show no work: how long memory was held, page faults, clocks, power."""
_BYTES = re.compile(rb"(?:^|[\s,])(?:size|num_bytes):(\d{1,18})(?!\d)")


def is_work(name: bytes) -> bool:
    """Return whether an event of this name on a stream shows the GPU at work."""
    return _NO_WORK.fullmatch(name) is None


def copy_type(name: bytes) -> str:
    """Return the op type of copies and fills with this name, empty for kernels."""
    found = _COPY.fullmatch(name)
    if found is None:
        return ""
    kind = (found["kind"] or b"").decode("ascii", "replace") or _DIRECTIONS.get(found["moved"], "")
    copied = "Memset" if found["fill"] else f"Memcpy{kind}"
    return copied if copied in COPY_TYPES else OTHER_COPY


def copied_bytes(details: bytes) -> float:
    """Return the bytes that a copy moves or a fill writes, NaN if its details do not say."""
    found = _BYTES.search(details)
    return float(found[1]) if found else float("nan")


def op_of(annotation: bytes) -> tuple[str, str]:
    """Return the name and type of the innermost op that an annotation names.

    An annotation is `model/dense/MatMul:MatMul#shape=(float[8,4])#`, several of them if nested. One
    without a type is a name only; two empty texts stand for no name at all.
    """
    names = [part.partition(b"#")[0].strip() for part in annotation.split(b"::")]
    for name in reversed(names):
        node, op_type = split(name)
        if node:
            return _decode(node), _decode(op_type)
    # `Thunk:` or `XlaModule:` say what made the annotation, `??` that nothing is known.
    plain = [name for name in names if name.strip(b"?") and b":" not in name]
    return (_decode(plain[-1]) if plain else ""), ""


def type_for(copied: str, asker: str) -> str:
    """Return the op type of a copy that was made for an annotation of this name."""
    constants = copied == "MemcpyH2D" and asker == _CONSTANTS_SCOPE
    return CONSTANTS if constants else copied


def _decode(text: bytes) -> str:
    return text.decode("utf-8", "replace")

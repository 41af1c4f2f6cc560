"""Recognise the files of other profilers of Python by their first bytes."""

import re

_PSTATS = re.compile(rb"[\x7b\xfb](?:[)\xa9]\x03|[(\xa8]\x03\x00\x00\x00|0$)", re.DOTALL)
"""A marshalled dict that begins with a tuple of three, or is empty."""
_SPEEDSCOPE = re.compile(
    rb'(?:\xef\xbb\xbf)?\s*\{\s*"'
    rb'(?:\$schema|activeProfileIndex|exporter|name|profiles|shared|version)"\s*:'
)
"""A JSON object that begins with a key that speedscope files have."""
_STACK = re.compile(r"[^\s#].* \d+(?:\.\d+)?\s*")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_CUT_OFF = re.compile(rb"(?:[\xc0-\xff][\x80-\xbf]{0,2})?\Z")
"""The beginning of a character at the end of the bytes."""


def looks_like_pstats(head: bytes) -> bool:
    """Return whether a file that begins with these bytes may be a dump of pstats."""
    return _PSTATS.match(head) is not None


def looks_like_speedscope(head: bytes) -> bool:
    """Return whether a file that begins with these bytes may be speedscope's."""
    return _SPEEDSCOPE.match(head) is not None


def looks_like_collapsed(head: bytes) -> bool:
    """Return whether a file that begins with these bytes may hold collapsed stacks."""
    try:
        text = _CUT_OFF.sub(b"", head).decode()
    except UnicodeDecodeError:
        return False
    if _CONTROL.search(text) or text.startswith("#!"):
        return False
    *whole, last = text.split("\n")
    lines = [line for line in whole if line.strip() and not line.startswith("#")]
    if not lines:  # one line without an end, or a stack longer than the head
        return _STACK.fullmatch(last) is not None or ";" in last
    return all(map(_STACK.fullmatch, lines))

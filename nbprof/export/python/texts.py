"""Names as the formats can hold them."""

import re
from typing import TYPE_CHECKING

from nbprof.protos.texts import to_utf8

if TYPE_CHECKING:
    import pandas as pd

_CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]+")
UNNAMED = "(unnamed)"


def readable(text: str) -> str:
    """Replace what is no valid Unicode."""
    return to_utf8(text).decode(errors="replace")


def one_line(text: str) -> str:
    """Return a name without line breaks and other control characters."""
    return _CONTROL.sub(" ", readable(text)).strip() or UNNAMED


def frame_text(file: str, line: int, function: str) -> str:
    """Name a line as py-spy does: `work (train.py:9)`."""
    if not file:
        return function
    return f"{function} ({file}:{line})" if line > 0 else f"{function} ({file})"


def frame_texts(frames: "pd.DataFrame") -> list[str]:
    """Name the lines of a table."""
    return list(map(frame_text, frames["file"], frames["line"], frames["function"]))

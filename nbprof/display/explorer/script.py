"""The JavaScript modules as one script, joined in the order of their imports."""

import re
import zlib
from base64 import b64encode
from functools import cache
from pathlib import Path

from nbprof.display.explorer.buffer_store import new_deflater

FOLDER = Path(__file__).resolve().parent
EXPLORER = FOLDER / "js" / "explorer.js"
"""The module that shows an explorer."""
LOADER = FOLDER / "js" / "loader.js"
"""The module that unpacks the explorer in a page."""
AFTER_STYLE = "\0"
"""What stands between the style and the script."""

_IMPORT = re.compile(r'^import \{[^}]*\} from "([./\w]+)";\n', re.M)
_COMMENT = re.compile(
    r"^\s*/\*\*.*?\*/\n|^\s*//[^\n]*\n|/\*\* @type \{[^\n]*?\} \*/ ?", re.M | re.S
)
_EXPORT = re.compile(r"^export ", re.M)
_INDENT = re.compile(r"^\s+", re.M)
"""Matches indentation and empty lines; no text in the modules runs over several lines."""


def modules(first: Path = EXPLORER) -> list[Path]:
    """List a module and all that it imports, each after those it imports itself."""
    found: dict[Path, None] = {}
    _add(first, found)
    return list(found)


def _add(module: Path, found: dict[Path, None]) -> None:
    if module not in found:
        for imported in _IMPORT.findall(module.read_text(encoding="utf-8")):
            _add((module.parent / imported).resolve(), found)
        found[module] = None


@cache
def script(first: Path = EXPLORER) -> str:
    """Return a module and all that it imports as one script without imports and exports."""
    return "".join(_without_comments(module) for module in modules(first))


@cache
def packed_explorer() -> str:
    """Return the explorer's style and script as the loader reads them: deflated, in base64."""
    deflater = new_deflater(zlib.Z_BEST_COMPRESSION)
    text = f"{style()}{AFTER_STYLE}{script()}"
    return b64encode(deflater.compress(text.encode()) + deflater.flush()).decode()


def _without_comments(module: Path) -> str:
    text = _IMPORT.sub("", module.read_text(encoding="utf-8"))
    return _INDENT.sub("", _COMMENT.sub("", _EXPORT.sub("", text)))


@cache
def style() -> str:
    """Return the style sheet."""
    return (FOLDER / "explorer.css").read_text(encoding="utf-8")

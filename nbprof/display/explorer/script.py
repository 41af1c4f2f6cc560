"""The modules of `js/` as one script: joined in the order of their imports, comments left out."""

import re
import zlib
from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from pathlib import Path

FOLDER = Path(__file__).parent
FIRST = "explorer"
"""The module that imports all others, directly or not."""
LOADER = "loader"
"""The module that unpacks them in a page."""

_IMPORT = re.compile(r'^import \{[^}]*\} from "\./(\w+)\.js";\n', re.M)
_COMMENT = re.compile(
    r"^\s*/\*\*.*?\*/\n|^\s*//[^\n]*\n|/\*\* @type \{[^\n]*?\} \*/ ?", re.M | re.S
)
_EXPORT = re.compile(r"^export ", re.M)
_INDENT = re.compile(r"^\s+", re.M)
_TEXT = re.compile(r'("(?:[^"\\]|\\.)*"|`[^`]*`)')
_SPACED = (
    *(" = ", " === ", " !== ", " => ", " += ", " -= ", " ??= ", " < ", " > ", " <= ", " >= "),
    *(" && ", " || ", " ?? ", " ? ", " : ", " + ", " - ", " * ", " / ", " % ", ", ", ": ", "; "),
    *("{ ", " }", " {", "if (", "for (", "while ("),
)
"""Signs with spaces that mean nothing."""
_GOES_ON = re.compile(r"([{(,\[;=&|?:}])\n(?!$)")


@cache
def module(name: str) -> str:
    """Give the text of one module as it stands in its file."""
    return (FOLDER / "js" / f"{name}.js").read_text(encoding="utf-8")


def in_order(name: str = FIRST) -> list[str]:
    """List the modules, each behind those that it imports."""
    found: dict[str, None] = {}
    _add(name, found)
    return list(found)


def _add(name: str, found: dict[str, None]) -> None:
    if name not in found:
        for imported in _IMPORT.findall(module(name)):
            _add(imported, found)
        found[name] = None


@cache
def script(name: str = FIRST) -> str:
    """Give a module and all that it imports as one, for what is written behind it to use."""
    return "".join(_stripped(module(each)) for each in in_order(name))


@cache
def packed() -> str:
    """Give the script deflated, in base64, as the loader takes it."""
    deflating = zlib.compressobj(zlib.Z_BEST_COMPRESSION, wbits=-zlib.MAX_WBITS)
    return b64encode(deflating.compress(script().encode()) + deflating.flush()).decode()


def _stripped(text: str) -> str:
    """Leave out imports, exports, comments on lines of their own, and spaces."""
    bare = _COMMENT.sub("", _EXPORT.sub("", _IMPORT.sub("", text)))
    lines = _INDENT.sub("", bare).split("\n")
    return _GOES_ON.sub(r"\1", "\n".join(_in_parts(lines)))


def _in_parts(lines: list[str]) -> Iterator[str]:
    """Make lines tight, but for those that may have a regular expression or nested texts."""
    for stays, some in groupby(lines, _stays):
        text = "\n".join(some)
        yield text if stays else _tight(text)


def _stays(line: str) -> bool:
    return line.count("`") > 2 or "/" in line.replace(" / ", "")


def _tight(text: str) -> str:
    """Leave out spaces beside signs, outside texts."""
    parts = _TEXT.split(text)
    code = "\0".join(parts[::2])
    for spaced in _SPACED:
        code = code.replace(spaced, spaced.replace(" ", ""))
    parts[::2] = code.split("\0")
    return "".join(parts)


@cache
def style() -> str:
    """Give the style sheet."""
    text = (FOLDER / "explorer.css").read_text(encoding="utf-8")
    return re.sub(r"\n ?", "", text)

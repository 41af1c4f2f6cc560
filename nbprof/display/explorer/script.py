"""The modules of `js/` as one script: joined in the order of their imports, comments left out."""

import re
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
FIRST = "explorer"
"""The module that imports all others, directly or not."""

_IMPORT = re.compile(r'^import \{[^}]*\} from "\./(\w+)\.js";\n', re.M)
_COMMENT = re.compile(
    r"^\s*/\*\*.*?\*/\n|^\s*//[^\n]*\n|/\*\* @type \{[^\n]*?\} \*/ ?", re.M | re.S
)
_EXPORT = re.compile(r"^export ", re.M)
_INDENT = re.compile(r"^\s+", re.M)
_TEXT = re.compile(r'("(?:[^"\\]|\\.)*"|`[^`]*`)')
_SPACE = re.compile(r" ?([=(){}\[\],:?;<>&|*/%]+) ?|(?<![+-]) ([+-]) (?![+-])")
_GOES_ON = re.compile(r"([{(,\[;=&|?:}])\n(?!$)")


def module(name: str) -> str:
    """Give the text of one module as it stands in its file."""
    return (FOLDER / "js" / f"{name}.js").read_text(encoding="utf-8")


def in_order(name: str = FIRST) -> list[str]:
    """List the modules, each behind those that it imports."""
    found: dict[str, None] = {}
    for imported in _IMPORT.findall(module(name)):
        found.update(dict.fromkeys(in_order(imported)))
    return [*found, name]


@cache
def script() -> str:
    """Give all modules as one, which leaves its names to what is written behind it."""
    return "".join(_stripped(module(name)) for name in in_order())


def _stripped(text: str) -> str:
    """Leave out imports, exports, comments on lines of their own, and spaces."""
    bare = _COMMENT.sub("", _EXPORT.sub("", _IMPORT.sub("", text)))
    lines = _INDENT.sub("", bare).split("\n")
    return _GOES_ON.sub(r"\1", "\n".join(map(_tight, lines)))


def _tight(line: str) -> str:
    """Leave out spaces beside signs; lines that may have a regular expression stay."""
    if line.count("`") > 2 or "/" in line.replace(" / ", ""):
        return line
    parts = _TEXT.split(line)
    parts[::2] = [_SPACE.sub(r"\1\2", part) for part in parts[::2]]
    return "".join(parts)


@cache
def style() -> str:
    """Give the style sheet."""
    text = (FOLDER / "explorer.css").read_text(encoding="utf-8")
    return re.sub(r"\n ?", "", text)

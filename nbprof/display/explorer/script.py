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
def script(name: str = FIRST) -> str:
    """Give a module and all that it imports as one, for what is written behind it to use."""
    return "".join(_stripped(module(each)) for each in in_order(name))


def _stripped(text: str) -> str:
    """Leave out imports, exports, comments on lines of their own, and the indentation."""
    bare = _COMMENT.sub("", _EXPORT.sub("", _IMPORT.sub("", text)))
    return _INDENT.sub("", bare)


@cache
def style() -> str:
    """Give the style sheet."""
    return (FOLDER / "explorer.css").read_text(encoding="utf-8")

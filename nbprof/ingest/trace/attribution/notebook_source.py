"""Show the source of notebook cells as it was typed, not as IPython compiles it."""

import ast
import re
from collections.abc import Sequence

MAGIC_AS_COMMENT = re.compile(r"^# (?=%%(tfprof|pyprof|memit|mprun|memobj)\b)")
"""Matches the prefix that turns a magic's line into a comment for compilation."""
_SHELL_CALL = re.compile(
    r"(?P<before>\s*(?:[^'\"()]*=\s*)?)get_ipython\(\)\."
    r"(?P<method>run_line_magic|run_cell_magic|system|getoutput)\((?P<arguments>.*)\)"
)
"""Matches a line that IPython wrote in place of a magic or a command."""
HELP = {"pinfo": "?", "pinfo2": "??"}
"""What asks for help after a name, by the magic that shows it."""


def typed_line(text: str) -> str:
    """Return a line of compiled source as it was typed; of a cell magic, its first line."""
    found = _SHELL_CALL.fullmatch(text)
    if not found:
        return text
    try:
        arguments = ast.literal_eval(f"({found['arguments']},)")
    except (ValueError, SyntaxError):  # the user called the shell
        return text
    if not all(isinstance(each, str) for each in arguments):
        return text
    return found["before"] + _typed(found["method"], arguments, is_assigned="=" in found["before"])


def _typed(method: str, arguments: Sequence[str], *, is_assigned: bool) -> str:
    first, *rest = arguments
    if method == "system":
        return f"!{first}"
    if method == "getoutput":
        return f"!{first}" if is_assigned else f"!!{first}"
    if first in HELP and rest:
        return f"{rest[0]}{HELP[first]}"
    sign = "%%" if method == "run_cell_magic" else "%"
    return f"{sign}{first} {''.join(rest[:1])}".rstrip()


def typed_lines(lines: Sequence[str]) -> list[str]:
    """Return the lines of a cell as they were typed, given its compiled source."""
    texts = [line.rstrip("\n") for line in lines]
    if not texts:
        return []
    call = _SHELL_CALL.fullmatch(texts[0])
    body: list[str] = []
    if call and call["method"] == "run_cell_magic" and texts[0] != typed_line(texts[0]):
        *_, cell = ast.literal_eval(f"({call['arguments']},)")
        body = cell.splitlines()
    first = MAGIC_AS_COMMENT.sub("", typed_line(texts[0]))
    return [first, *body, *map(typed_line, texts[1:])]

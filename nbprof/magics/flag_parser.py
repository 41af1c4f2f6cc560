"""Read the flags on the line of any magic.

argparse would read the mistyped `-orderby` as `-o rderby`; here a flag is known or refused.
"""

import io
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from nbprof.errors import NbprofError
from nbprof.flags import Flag, flags_of, unknown_flag
from nbprof.magics.magic_table import MAGICS, Magic

TakeWord = Callable[[str], tuple[str, str]]
"""Splits a line into its first word, empty at the end of the line, and the rest."""

_TYPED_WORD = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|(\S+))""")
_LETTER_AND_NUMBER = re.compile(r"-([a-z])([0-9.].*)")


@dataclass(frozen=True, kw_only=True)
class ParsedLine:
    """A line that has been read and checked."""

    flags: Mapping[str, Any]
    """The values of the flags by name; a switch's is True."""
    rest: str = ""
    """The code after the flags, as typed."""

    def __contains__(self, flag: str) -> bool:
        return flag in self.flags

    def get(self, flag: str, default: Any = None) -> Any:
        """Return the value of a flag."""
        return self.flags.get(flag, default)


def parse(magic: str, line: str) -> ParsedLine:
    """Read flags and keep the code that follows them; raise NbprofError for a bad flag."""
    typed, rest = split_flags(magic, line)
    return ParsedLine(flags=parse_values(flags_of(magic), typed), rest=rest)


def parse_values(flags: Mapping[str, Flag], typed: Mapping[str, list[str]]) -> dict[str, Any]:
    """Check and convert the values of flags as `split_flags` returns them."""
    parsed: dict[str, Any] = {}
    for name, texts in typed.items():
        flag = flags[name]
        values = [True if flag.is_switch else flag.parse(text) for text in texts]
        parsed[name] = values if flag.repeatable else values[0]
    return parsed


def split_flags(magic: str, line: str) -> tuple[dict[str, list[str]], str]:
    """Split a line into its flags, each with the values typed after it, and the rest.

    A flag is `-name value` or `-name=value`, with one dash or two. Where code follows, `-r3` and
    `-oq` are flags, too, and `--` ends them.
    """
    table, flags = MAGICS[magic], flags_of(magic)
    take_word = _take_typed_word if table.takes_code else _take_shell_word
    typed: dict[str, list[str]] = {}
    rest = line.strip()
    while rest.startswith("-"):
        word, rest = take_word(rest)
        if word == "--" and table.takes_code:
            break
        for flag, text in _flags_in(word, magic, table, flags):
            value, rest = _value(flag, text, rest, take_word)
            if flag.name in typed and not flag.repeatable:
                raise NbprofError(f"-{flag.name} was given twice.")
            typed.setdefault(flag.name, []).append(value)
    return typed, rest


def _flags_in(
    word: str, magic: str, table: Magic, flags: Mapping[str, Flag]
) -> list[tuple[Flag, str | None]]:
    """Return the flags that a word holds, each with the value inside the word, if any."""
    name, equals, value = word.lstrip("-").partition("=")
    if name in flags:
        return [(flags[name], value if equals else None)]
    if name in table.refused:
        raise NbprofError(table.refused[name])
    if not name:
        raise NbprofError(f"{word!r} is not an option.")
    if name in ("help", "h"):
        raise NbprofError(f"%{magic}{' help' if 'help' in table.commands else '?'} shows the help.")
    if not table.takes_code:
        raise unknown_flag(name, flags)
    glued = _LETTER_AND_NUMBER.fullmatch(word)
    if glued and glued[1] in flags and not flags[glued[1]].is_switch:
        return [(flags[glued[1]], glued[2])]
    if all(letter in flags and flags[letter].is_switch for letter in name):
        return [(flags[letter], None) for letter in name]
    error = unknown_flag(name, flags)
    raise NbprofError(f"{error} Put -- before a statement that starts with a dash.")


def _value(flag: Flag, text: str | None, rest: str, take_word: TakeWord) -> tuple[str, str]:
    """Return the value of a flag, taken from the rest of the line if needed, and what remains."""
    if flag.is_switch:
        if text is not None:
            raise NbprofError(f"-{flag.name} takes no value.")
        return "", rest
    if text is not None:
        return text, rest
    if flag.if_alone and (not rest or rest.startswith("-")):
        return flag.if_alone, rest
    text, rest = take_word(rest)
    if not text:
        raise NbprofError(f"-{flag.name} needs a value after it.")
    return text, rest


def _take_typed_word(line: str) -> tuple[str, str]:
    """Take a word as typed; only quotes around all of it are removed."""
    found = _TYPED_WORD.match(line)
    if not found:
        return "", ""
    word = next(group for group in found.groups() if group is not None)
    return word, line[found.end() :].lstrip()


def _take_shell_word(line: str) -> tuple[str, str]:
    """Take a word as a shell reads it, quotes and backslashes included."""
    stream = io.StringIO(line)
    words = shlex.shlex(stream, posix=True)
    words.whitespace_split, words.commenters = True, ""
    try:
        word = words.get_token()
    except ValueError as error:
        raise NbprofError(f"the line cannot be read: {error}.") from error
    return word or "", stream.read().lstrip()

"""Write the help of a magic and complete its line, from the tables of magics and flags."""

import textwrap
from collections.abc import Iterable, Mapping

from nbprof.flags import Flag, flags_of
from nbprof.magics.magic_table import MAGICS

WIDTH = 100
"""Characters in a line of help."""


def help_text(magic: str) -> str:
    """Write the help of a magic."""
    table, flags = MAGICS[magic], flags_of(magic).values()
    where = "Options come first:" if table.takes_code else "Options, with one dash or two:"
    lines = [
        *textwrap.wrap(table.does, WIDTH),
        "",
        *_two_columns(forms(magic)),
        "",
        where,
        "",
        *_two_columns((flag.usage, flag.help) for flag in flags),
        "",
        *textwrap.wrap(table.remark, WIDTH, break_long_words=False, break_on_hyphens=False),
    ]
    return "\n".join(lines)


def forms(magic: str) -> list[tuple[str, str]]:
    """List the ways to write a magic, each with what it does."""
    table = MAGICS[magic]
    views = " | ".join(table.views())
    found = [(form.replace("{views}", views), does) for form, does in table.forms]
    for word, command in table.commands.items():
        found.append((f"%{magic} {word} {command.arguments}".rstrip(), command.does))
    return found


def _two_columns(entries: Iterable[tuple[str, str]]) -> list[str]:
    """Lay out names and their meanings side by side, wrapping the meanings."""
    entries = list(entries)
    margin = 4 + max(len(name) for name, _ in entries) + 2
    lines: list[str] = []
    for name, meaning in entries:
        wrapped = textwrap.fill(
            meaning,
            WIDTH,
            initial_indent=f"    {name}".ljust(margin),
            subsequent_indent=" " * margin,
            break_long_words=False,
            break_on_hyphens=False,
        )
        lines += wrapped.split("\n")
    return lines


def completions(line: str, symbol: str) -> list[str]:
    """List what `symbol`, the end of `line`, may become: a view, a flag, or a flag's value."""
    before = line[: len(line) - len(symbol)]
    name, *words = before.split()
    if before.endswith((",", "=")) and words:
        words[-1:] = words[-1].split("=")[:-1]  # the symbol belongs to the value in this word
    magic = name.lstrip("%")
    table, flags = MAGICS[magic], flags_of(magic)
    waiting, reached_code = _walk(words, flags)
    if table.takes_code and (reached_code or not (waiting or symbol.startswith("-"))):
        return []  # the shell completes code
    offered = list(waiting.choices()) if waiting else []
    if waiting is None or waiting.if_alone:
        offered += [*(() if words else table.words), *(f"-{flag}" for flag in flags)]
    return [text for text in offered if text.startswith(symbol)]


def _walk(words: Iterable[str], flags: Mapping[str, Flag]) -> tuple[Flag | None, bool]:
    """Return the flag that expects its value next, and whether the words have reached the code."""
    waiting: Flag | None = None
    reached_code = False
    for word in words:
        if waiting:
            waiting = None
        elif word.startswith("-"):
            flag = flags.get(word.lstrip("-"))
            waiting = flag if flag and not flag.is_switch else None
        else:
            reached_code = True
    return waiting, reached_code

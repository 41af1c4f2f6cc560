"""The lines of the memory magics: what they may say, their help and their completion.

Flags come first, as memory_profiler has them; the rest of the line is a statement, kept as typed.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from nbprof.errors import NbprofError
from nbprof.magics.flag_values import check_file, check_seconds
from nbprof.options import suggest

BACKENDS = ("nbprof", "memory_profiler")


@dataclass(frozen=True)
class Flag:
    """One flag: how its value reads (empty for a switch), what it means, how it is checked."""

    value: str
    help: str
    check: Callable[[str, str], Any] | None = None
    choices: tuple[str, ...] = ()
    many: bool = False
    """Whether it may be given again, adding to the first."""


@dataclass(frozen=True)
class Magic:
    """One magic: what it does, how its line goes, and its flags."""

    does: str
    forms: tuple[tuple[str, str], ...]
    flags: Mapping[str, Flag]
    remark: str
    refused: Mapping[str, str] = field(default_factory=dict)
    """Flags that memory_profiler has and this has not, and why, in a sentence."""


@dataclass(frozen=True)
class Given:
    """What a line says."""

    flags: Mapping[str, Any]
    rest: str
    """The statement behind the flags, as typed."""

    def __contains__(self, flag: str) -> bool:
        return flag in self.flags

    def get(self, flag: str, default: Any = None) -> Any:
        """Give a flag's value."""
        return self.flags.get(flag, default)


def _check_count(name: str, value: str) -> int:
    if not value.isdecimal() or not 0 < int(value) < 10**6:
        raise NbprofError(f"-{name} takes a whole number from 1 on, not {value!r}.")
    return int(value)


def _check_backend(name: str, value: str) -> str:
    if value not in BACKENDS:
        raise NbprofError(f"-{name} takes one of {', '.join(BACKENDS)}, not {value!r}.")
    return value


QUIET = Flag("", "show nothing")
TEXT_FILE = Flag("FILE", "save the text report to this file", check_file)

MAGICS = {
    "memit": Magic(
        "Measure the memory of a statement or a cell: before, peak, after and the curve between.",
        (
            ("%memit [options] STATEMENT", "run the statement once"),
            ("%%memit [options] [SETUP]", "run the cell below; SETUP runs first, unmeasured"),
        ),
        {
            "r": Flag("N", "run the code so often and take the largest peak", _check_count),
            "t": Flag("SECONDS", "end measuring after so long; the code runs on", check_seconds),
            "i": Flag(
                "SECONDS",
                "the time between samples of the curve, 0.01 if not given; the peak does not "
                "depend on it",
                check_seconds,
            ),
            "c": Flag("", "add what child processes hold; the peak is then a lower bound"),
            "o": Flag("", "return a MemoryResult, in place of the cell's own value"),
            "q": QUIET,
            "v": Flag(
                "",
                "afterwards also find out what Python objects and tensors hold and what the "
                "allocator can return",
            ),
            "trim": Flag(
                "",
                "first have the allocator return what it kept, so that using it again shows",
            ),
            "T": TEXT_FILE,
            "backend": Flag(
                "NAME",
                "measure with nbprof's exact meter, or with memory_profiler for comparison",
                _check_backend,
                BACKENDS,
            ),
        },
        "The code runs as if bare, in this process. Amounts are what the process holds in RAM "
        "(RSS); memory\nthat the allocator kept from before is used again and then does not show.",
    ),
    "mprun": Magic(
        "Measure memory line by line: what each line leaves behind, and how high it rises.",
        (
            ("%mprun -f FUNCTION [options] STATEMENT", "run the statement, watch the function"),
            ("%%mprun [options]", "run the cell below and watch its own lines"),
            ("%%mprun -f FUNCTION [options]", "run the cell below and watch the function"),
        ),
        {
            "f": Flag(
                "FUNCTION",
                "watch this function or method, defined in a cell or a file; may be given again",
                many=True,
            ),
            "T": TEXT_FILE,
            "o": Flag("", "return a LineMemory, in place of the cell's own value"),
            "r": Flag("", "the same as -o, as memory_profiler has it"),
            "q": QUIET,
        },
        "The code runs once, as if bare, in this process. A line's numbers include what it calls. "
        "Memory is\nread after lines that take 20 µs or more and at least every 200 µs; what "
        "shorter lines hold is counted\nto the line after which it is read.",
        {
            "c": "%mprun has no -c: nobody knows which line a child process' memory belongs to; "
            "%memit -c adds children to the peak of a statement or cell."
        },
    ),
    "memobj": Magic(
        "Show what the notebook's names hold, or what a cell left behind.",
        (
            ("%memobj [options] [NAME ...]", "of all names, or of these"),
            ("%%memobj [options]", "run the cell below; what do names hold more than before?"),
        ),
        {
            "n": Flag("N", "show so many rows, 15 if not given", _check_count),
            "T": TEXT_FILE,
            "o": Flag("", "return an ObjectMemory, in place of the cell's own value"),
            "q": QUIET,
        },
        "Arrays count with their data, data that several share counts once, DataFrames with their "
        "texts,\ntensors, variables and models with what TensorFlow holds for them. What took too "
        "long to look at is\nmarked with ~. Values of earlier cells that the shell keeps in Out "
        "count too.",
    ),
}
"""The table that lines, help and completion are read from."""

_WORD = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|(\S+))""")
_NUMBER = re.compile(r"-([a-z])([0-9.].*)")


def parse(magic: str, line: str) -> Given:
    """Read a line: `-name value`, `-name=value`, `-r3`, switches together as `-oq`."""
    known, refused = MAGICS[magic].flags, MAGICS[magic].refused
    given: dict[str, Any] = {}
    rest = line.strip()
    while rest.startswith("-"):
        word, rest = _next_word(rest)
        if word == "--":
            break
        if word.lstrip("-") in refused:
            raise NbprofError(refused[word.lstrip("-")])
        for name, value in _flags_in(word, known):
            flag = known[name]
            if flag.value and value is None:
                value, rest = _next_word(rest)
                if not value:
                    raise NbprofError(f"-{name} needs a value behind it.")
            if not flag.value and value is not None:
                raise NbprofError(f"-{name} takes no value.")
            _add(given, name, flag, value)
    return Given(given, rest)


def _next_word(text: str) -> tuple[str, str]:
    found = _WORD.match(text)
    if not found:
        return "", ""
    word = next(group for group in found.groups() if group is not None)
    return word, text[found.end() :].lstrip()


def _flags_in(word: str, known: Mapping[str, Flag]) -> list[tuple[str, str | None]]:
    name, equals, value = word.lstrip("-").partition("=")
    if name in known:
        return [(name, value if equals else None)]
    glued = _NUMBER.fullmatch(word)
    if glued and known.get(glued[1], QUIET).value:
        return [(glued[1], glued[2])]
    if name and all(letter in known and not known[letter].value for letter in name):
        return [(letter, None) for letter in name]
    raise NbprofError(
        f"there is no option -{name}; {suggest(name, known)} A statement that begins with a dash "
        "stands behind two of them: --"
    )


def _add(given: dict[str, Any], name: str, flag: Flag, value: str | None) -> None:
    checked = True if value is None else flag.check(name, value) if flag.check else value
    if flag.many:
        given.setdefault(name, []).append(checked)
    elif name in given:
        raise NbprofError(f"-{name} is given twice.")
    else:
        given[name] = checked


def help_text(magic: str) -> str:
    """Write the help of a magic from its table."""
    found = MAGICS[magic]
    return "\n".join(
        [
            found.does,
            "",
            *(f"    {form:<40} {meaning}" for form, meaning in found.forms),
            "",
            "Options, before the statement:",
            "",
            *(
                f"    {f'-{name} {flag.value}':<20} {flag.help}"
                for name, flag in found.flags.items()
            ),
            "",
            found.remark,
        ]
    )


def completions(line: str, symbol: str) -> list[str]:
    """List the options, or the values of an option, that may stand where `symbol` ends `line`."""
    magic, *words = line[: len(line) - len(symbol)].split()
    flags = MAGICS[magic.lstrip("%")].flags
    waiting: Flag | None = None
    for word in words:
        flag = None if waiting else flags.get(word.lstrip("-"))
        if not word.startswith("-") and not waiting:
            return []  # a statement, which the shell completes
        waiting = flag if flag is not None and flag.value else None
    if waiting is None and not symbol.startswith("-"):
        return []
    choices = waiting.choices if waiting else tuple(f"-{name}" for name in flags)
    return [choice for choice in choices if choice.startswith(symbol)]

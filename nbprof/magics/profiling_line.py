"""Read a line of `%tfprof` or `%pyprof`: a view or a command, then options as tfprof has them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from nbprof.errors import NbprofError
from nbprof.flags import dashed, flags_of
from nbprof.magics.flag_parser import ParsedLine, parse_values, split_flags
from nbprof.magics.magic_table import ADVISE, MAGICS, RESET, SET
from nbprof.options import ViewOptions, check_output, with_preset
from nbprof.view_kinds import VIEWS


@dataclass(frozen=True, kw_only=True)
class Request(ParsedLine):
    """What a line asks for."""

    word: str
    """A view or a command."""
    named: bool = True
    """Whether the line names it; otherwise it is the magic's first view."""
    options: ViewOptions = field(default_factory=ViewOptions)
    typed: Mapping[str, str]
    """The view options as typed, for `set` to keep."""
    resets: bool = False
    """Whether `set` forgets the options kept so far."""


def parse_line(magic: str, line: str, kept: Mapping[str, str] | None = None) -> Request:
    """Read a line; its options override those that an earlier `set` has `kept`."""
    typed_word, line = _split_word(magic, line)
    word = typed_word or MAGICS[magic].words[0]
    if word == SET and line.split() == [RESET]:
        return Request(word=SET, flags={}, typed={}, resets=True)
    flags = flags_of(magic)
    all_typed, rest = split_flags(magic, line)
    if rest:
        raise _misplaced(magic, rest.split()[0])
    line_only = {name: texts for name, texts in all_typed.items() if not flags[name].is_option}
    typed = {name: texts[0] for name, texts in all_typed.items() if flags[name].is_option}
    _check_command(word, line_only, typed)
    options = ViewOptions.parse(_override(kept or {}, typed))
    if word in VIEWS:
        check_output(word, options)
    return Request(
        word=word,
        named=bool(typed_word),
        options=options,
        typed=typed,
        flags=parse_values(flags, line_only),
    )


def _split_word(magic: str, line: str) -> tuple[str, str]:
    """Split a line into its view or command, empty if there is none, and the rest."""
    first, *rest = line.split(maxsplit=1) or [""]
    words = MAGICS[magic].words
    if not first or first.startswith("-"):
        return "", line
    if first not in words:
        raise NbprofError(f"there is no view or command {first!r}; use one of {', '.join(words)}.")
    return first, "".join(rest)


def _misplaced(magic: str, word: str) -> NbprofError:
    if word in VIEWS:
        return NbprofError(f"name one view, before the options: %{magic} {word} …")
    return NbprofError(f"{word!r} is not an option; options are {dashed(flags_of(magic))}.")


def _check_command(word: str, line_only: Mapping[str, object], typed: Mapping[str, str]) -> None:
    if word == SET and line_only:
        raise NbprofError(
            f"-{next(iter(line_only))} is for a single line; set keeps only view options."
        )
    if word == ADVISE and (typed or "explore" in line_only):
        refused = next(iter(typed), "explore")
        raise NbprofError(f"advise has no -{refused}, because it shows no view.")


def _override(kept: Mapping[str, str], typed: Mapping[str, str]) -> dict[str, object]:
    """Return the kept options, overridden by those of the line and of its preset."""
    preset = with_preset({"preset": typed["preset"]}) if "preset" in typed else {}
    return {**{name: text for name, text in kept.items() if name not in preset}, **typed}

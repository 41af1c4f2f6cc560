"""The line of `%tfprof`: what it may say, its help and its completion.

argparse would read the mistyped `-orderby` as `-o rderby`; here a flag is known or refused.
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from keyword import iskeyword
from pathlib import Path

from nbprof.errors import NbprofError
from nbprof.magics.flag_values import check_file, check_seconds
from nbprof.options import OPTIONS, PRESETS, ViewOptions, check_output, lookup, preset, suggest

MAGIC = "tfprof"
VIEWS = ("op", "scope", "graph", "code", "layer")
ADVISE, SET, HELP = "advise", "set", "help"
COMMANDS = {
    ADVISE: ("", "say what could be better"),
    SET: ("[options]", "keep options for later lines; set reset forgets them"),
    HELP: ("", "print this help"),
}
"""The words that are no views: what may follow, and what they do."""
WORDS = (*VIEWS, *COMMANDS)
"""What a line may begin with."""
RESET = "reset"
OWN_FLAGS = {
    "o": ("NAME", "bind the View to this name and still show it"),
    "q": ("", "show nothing"),
    "T": ("FILE", "save the text report to this file"),
    "from": (
        "PATH",
        "view a trace, a run's folder, a logdir, nbprof's or tfprof's file, not the last profile",
    ),
    "explore": (
        "",
        "show the live explorer, a widget with all rows; NAME.explore() is the same one",
    ),
    "preset": ("NAME", f"start from options by name: {', '.join(PRESETS)}"),
    "limit": ("SECONDS", "end tracing after so long while the cell runs on; 60 if not given"),
    "light": ("", "a cheaper trace: no memory, no lines, cheap ops not counted once warm"),
}
SWITCHES = tuple(name for name, (value, _) in OWN_FLAGS.items() if not value)
MAYBE = ("account_displayed_op_only",)
"""Options that stand for themselves where no value follows."""


@dataclass(frozen=True)
class Request:
    """What a line of `%tfprof` asks for."""

    word: str
    """A view, or what else is to be done."""
    options: ViewOptions
    given: Mapping[str, str]
    """The options as they were typed, for `set` to keep."""
    name: str | None
    quiet: bool
    text_file: Path | None
    source: str | None
    light: bool
    limit: float | None
    explore: bool = False


def parse_line(line: str, kept: Mapping[str, str] | None = None) -> Request:
    """Read a magic's line in tfprof's spelling: one or two dashes, `-name value` or `-name=value`.

    `kept` are options that an earlier `set` gave; the line's own count more.
    """
    try:
        words = shlex.split(line, comments=False)
    except ValueError as error:
        raise NbprofError(f"the line cannot be read: {error}.") from error
    word = "op"
    if words and not words[0].startswith("-"):
        word = _check_word(words.pop(0))
    if word == SET and words == [RESET]:
        return Request(SET, ViewOptions(), {RESET: ""}, None, False, None, None, False, None)
    given = _pair_up(words)
    own = {flag: given.pop(flag) for flag in OWN_FLAGS if flag in given and flag != "preset"}
    if word == SET and own:
        raise NbprofError(f"-{next(iter(own))} is for one line, and set keeps options of views.")
    if word == ADVISE and (given or "explore" in own):
        raise NbprofError(f"advise has no options of views, so no -{next(iter(given), 'explore')}.")
    earlier = dict(kept or {})
    for name in preset(given["preset"]) if "preset" in given else ():
        earlier.pop(name, None)
    options = ViewOptions.parse({**earlier, **given})
    if word in VIEWS:
        check_output(word, options)
    return Request(
        word,
        options,
        given,
        _check_name(own.get("o")),
        "q" in own,
        check_file("T", own["T"]) if "T" in own else None,
        own.get("from"),
        "light" in own,
        check_seconds("limit", own["limit"]) if "limit" in own else None,
        "explore" in own,
    )


def _pair_up(words: list[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    left = list(reversed(words))
    while left:
        word = left.pop()
        name, equals, value = word.lstrip("-").partition("=")
        if word in VIEWS:
            raise NbprofError(f"a view comes before the options: %%{MAGIC} {word} …")
        if not word.startswith("-") or not name:
            raise NbprofError(f"{word!r} stands where an option was expected; {_known()}")
        _check_flag(name)
        if name in SWITCHES:
            if equals:
                raise NbprofError(f"-{name} takes no value.")
        elif name in MAYBE and not equals and (not left or left[-1].startswith("-")):
            value = "true"
        elif not equals:
            value = left.pop() if left else ""
            if not value:
                raise NbprofError(f"-{name} needs a value behind it.")
        if name in given:
            raise NbprofError(f"-{name} is given twice.")
        given[name] = value
    return given


def _known() -> str:
    return "options are " + ", ".join(f"-{name}" for name in (*OWN_FLAGS, *OPTIONS)) + "."


def _check_flag(name: str) -> None:
    if name in OWN_FLAGS or name in OPTIONS:
        return
    if name in ("help", "h"):
        raise NbprofError(f"%{MAGIC} help prints the help.")
    raise NbprofError(f"there is no option -{name}; {suggest(name, (*OWN_FLAGS, *OPTIONS))}")


def _check_word(word: str) -> str:
    if word not in WORDS:
        raise NbprofError(f"there is no view {word!r}; there is {', '.join(WORDS)}.")
    return word


def _check_name(name: str | None) -> str | None:
    if name is not None and (not name.isidentifier() or iskeyword(name) or name[:2] == "__"):
        raise NbprofError(f"-o takes a Python name of your own, not {name!r}.")
    return name


def help_text() -> str:
    """Write the help from the tables of flags and options."""
    lines = [
        "Profile a TensorFlow cell, or look at the last profile again.",
        "",
        f"    %%{MAGIC} [{' | '.join(VIEWS)}] [options]     profile the cell below",
        f"    %{MAGIC}  [{' | '.join(VIEWS)}] [options]     view the last profile, run nothing",
        *(
            f"    %{MAGIC}  {f'{word} {after}':<36}{does}"
            for word, (after, does) in COMMANDS.items()
        ),
        "",
        "The cell runs as if bare; the report is shown after it. Options, with one dash or two:",
        "",
    ]
    flags = [(name, value, help_) for name, (value, help_) in OWN_FLAGS.items()]
    flags += [(name, option.value, option.help) for name, option in OPTIONS.items()]
    lines += [f"    {f'-{name} {value}':<28} {help_}" for name, value, help_ in flags]
    defaults = ViewOptions()
    lines += [
        "",
        f"Defaults: view op, -order_by {defaults.order_by}, -select {','.join(defaults.select)}, "
        f"-max_depth {defaults.max_depth}.",
    ]
    return "\n".join(lines)


def completions(line: str, symbol: str) -> list[str]:
    """List what may stand where `symbol` ends `line`: views, options, or an option's values."""
    words = line[: len(line) - len(symbol)].split()
    before = words[-1].lstrip("-").partition("=")[0] if len(words) > 1 else ""
    flags = [f"-{name}" for name in (*OWN_FLAGS, *OPTIONS)]
    if before == "preset" and words[-1].startswith("-"):
        candidates = list(PRESETS)
    elif before in OPTIONS and words[-1].startswith("-"):
        candidates = list(OPTIONS[before].choices)
    elif "," in line[len(line) - len(symbol) - 1 :] and len(words) > 2:
        candidates = list(lookup(words[-2].lstrip("-")).choices)
    else:
        candidates = [*(WORDS if len(words) == 1 else ()), *flags]
    return [candidate for candidate in candidates if candidate.startswith(symbol)]

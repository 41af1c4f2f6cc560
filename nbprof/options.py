"""What a user may ask of a view, in tfprof's spelling: one frozen value and its flags.

`OPTIONS` is the table: the flags of `%tfprof`, the keywords of `profile.view`, the help text and
the completions are read from it and from `COLUMNS`.
"""

import difflib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from nbprof.columns import COLUMNS, METRICS
from nbprof.errors import NbprofError
from nbprof.view_kinds import VIEWS

EVERYTHING = (".*",)
"""The list of regular expressions that tfprof takes as a word for all."""

OUTPUTS = ("stdout", "none", "file", "timeline", "pprof")
PPROF_COLUMNS = tuple(name for name in METRICS if name != "occurrence")
"""Of these, a pprof profile has one."""


@dataclass(frozen=True)
class Output:
    """Where a report goes: to be shown, nowhere, or into a file of some kind."""

    kind: str = "stdout"
    outfile: str = ""
    """Empty where a program asks for a view that it writes itself."""

    def __str__(self) -> str:
        return f"{self.kind}:outfile={self.outfile}" if self.outfile else self.kind


@dataclass(frozen=True)
class ViewOptions:
    """The options of one view, checked; defaults are those of a captured cell."""

    max_depth: int = 100
    order_by: str = "micros"
    select: tuple[str, ...] = ("bytes", "micros", "occurrence")
    step: int | Literal["all"] | None = None
    """One step, -1 for the average over the steps in which a node ran, or all of them; None: all of
    a recorded cell, the average of tfprof's inputs."""
    account_type_regexes: tuple[str, ...] = EVERYTHING
    start_name_regexes: tuple[str, ...] = EVERYTHING
    trim_name_regexes: tuple[str, ...] = ()
    show_name_regexes: tuple[str, ...] = EVERYTHING
    hide_name_regexes: tuple[str, ...] = ()
    account_displayed_op_only: bool = False
    output: Output = Output()
    frames: Literal["user", "all"] = "user"
    """Whether the code view shows the frames of TensorFlow and Keras, too."""
    minimum: Mapping[str, float] = field(default_factory=dict)
    """`{column: least value}` from the `-min_*` options."""

    @classmethod
    def parse(cls, given: Mapping[str, object]) -> "ViewOptions":
        """Check `{option: value}`, values as typed or as Python objects; raise NbprofError."""
        fields: dict[str, Any] = {}
        minimum: dict[str, float] = {}
        if "preset" in given:
            named = preset(str(given["preset"]))
            given = {**named, **{name: value for name, value in given.items() if name != "preset"}}
        for name, value in given.items():
            checked = lookup(name).parse(name, value)
            if name.startswith("min_"):
                minimum[name.removeprefix("min_")] = checked
            else:
                fields[name] = checked
        return cls(**fields, minimum=minimum)

    def uses(self, column: str) -> bool:
        """Tell whether a column is shown, ordered by or held against a minimum."""
        return column in (*self.select, self.order_by, *self.minimum)


@dataclass(frozen=True)
class Option:
    """One flag: how its value reads, what it means, what may be typed after it."""

    value: str
    help: str
    parse: Callable[[str, object], Any]
    choices: tuple[str, ...] = ()


def _parse_number(name: str, value: object) -> float:
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise NbprofError(f"-{name} takes a number, not {value!r}.")
    return number


def _parse_whole(name: str, value: object) -> int:
    number = _parse_number(name, value)
    if number != number // 1 or math.isinf(number):
        raise NbprofError(f"-{name} takes a whole number, not {value!r}.")
    text = str(value).strip()
    return int(text) if text.lstrip("+-").isdecimal() else int(number)  # 1e3 is whole, too


def _parse_depth(name: str, value: object) -> int:
    depth = _parse_whole(name, value)
    if depth < 0:
        raise NbprofError(f"-{name} takes a whole number from 0 on, not {value!r}.")
    return depth


def _parse_choice(name: str, value: object, choices: Iterable[str]) -> str:
    word = str(value)
    if word in choices:
        return word
    raise NbprofError(f"-{name} takes one of {', '.join(choices)}, not {word!r}.")


def _parse_order(name: str, value: object) -> str:
    return _parse_choice(name, value, ("name", *METRICS))


def _parse_select(name: str, value: object) -> tuple[str, ...]:
    words = value.split(",") if isinstance(value, str) else value
    if not isinstance(words, Iterable):
        raise NbprofError(f"-{name} takes column names, not {value!r}.")
    stripped = [str(word).strip("'\" ") for word in words]
    chosen = [_parse_choice(name, word, COLUMNS) for word in stripped if word]
    if not chosen and isinstance(value, str):
        raise NbprofError(f"-{name} needs at least one of {', '.join(COLUMNS)}.")
    return tuple(dict.fromkeys(chosen))


def _parse_step(name: str, value: object) -> int | Literal["all"]:
    if value == "all":
        return "all"
    step = _parse_whole(name, value)
    if step < -1:
        raise NbprofError(f"-{name} takes a step's number, -1 for their average, or all.")
    return step


def _parse_regexes(name: str, value: object) -> tuple[str, ...]:
    """Read a list of RE2 expressions; typed, they are separated by commas."""
    words = value.split(",") if isinstance(value, str) else value
    if not isinstance(words, Iterable):
        raise NbprofError(f"-{name} takes regular expressions, not {value!r}.")
    patterns = tuple(
        str(word).strip("'\"") if isinstance(value, str) else str(word) for word in words
    )
    for pattern in patterns:
        _check_regex(name, pattern)
    return tuple(pattern for pattern in patterns if pattern or not isinstance(value, str))


def _check_regex(name: str, pattern: str) -> None:
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise NbprofError(f"-{name} {pattern!r} is no regular expression of RE2: {text}.") from None


_YES, _NO = ("true", "t", "yes", "y", "1", ""), ("false", "f", "no", "n", "0")


def _parse_switch(name: str, value: object) -> bool:
    word = str(value).lower()
    if word not in _YES + _NO:
        raise NbprofError(f"-{name} takes true or false, not {value!r}.")
    return word in _YES


def _parse_output(name: str, value: object) -> Output:
    if isinstance(value, Output):
        return value
    kind, _, rest = str(value).partition(":")
    if kind not in OUTPUTS:
        raise NbprofError(f"-{name} takes one of {', '.join(OUTPUTS)}, not {kind!r}.")
    given = dict(part.partition("=")[::2] for part in rest.split(",") if part)
    outfile = given.pop("outfile", "")
    if given:
        raise NbprofError(f"-{name} {kind} has no {next(iter(given))!r}, only outfile=PATH.")
    if bool(outfile) != (kind in OUTPUTS[2:]):
        raise NbprofError(
            f"-{name} {kind} needs a file: {kind}:outfile=PATH."
            if not outfile
            else f"-{name} {kind} writes no file."
        )
    return Output(kind, outfile)


def check_output(view: str, options: ViewOptions) -> None:
    """Refuse an output that this view does not have."""
    kind = options.output.kind
    if kind == "timeline" and not VIEWS[view].has_timeline:
        able = ", ".join(name for name, declared in VIEWS.items() if declared.has_timeline)
        raise NbprofError(f"the {view} view has no timeline; these have one: {able}.")
    if kind != "pprof":
        return
    if not VIEWS[view].has_pprof:
        able = ", ".join(name for name, declared in VIEWS.items() if declared.has_pprof)
        raise NbprofError(f"the {view} view has no pprof output; these have one: {able}.")
    if len(options.select) != 1 or options.select[0] not in PPROF_COLUMNS:
        raise NbprofError(
            f"-output pprof takes one column, -select {' or '.join(PPROF_COLUMNS)}; "
            f"not {','.join(options.select) or 'none'}."
        )


def _parse_frames(name: str, value: object) -> str:
    return _parse_choice(name, value, ("user", "all"))


OPTIONS = {
    "max_depth": Option(
        "N",
        "show at most this many levels of a tree, the root being the first; in the op view, "
        "as in tfprof, so many rows after the first",
        _parse_depth,
    ),
    "order_by": Option(
        "COLUMN", "sort by this column, largest first, or by name", _parse_order, ("name", *METRICS)
    ),
    "select": Option(
        "COLUMN,…", "show these columns, separated by commas", _parse_select, tuple(COLUMNS)
    ),
    "step": Option(
        "N",
        "show one step, -1 the average over the steps in which a node ran, or all of them; not "
        "given, all of a recorded cell and the average of tfprof's inputs",
        _parse_step,
        ("all", "-1"),
    ),
    "account_type_regexes": Option(
        "REGEX,…",
        "count only nodes one of whose op types (with device and kind of variable) matches",
        _parse_regexes,
    ),
    "start_name_regexes": Option("REGEX,…", "begin at the rows that match", _parse_regexes),
    "trim_name_regexes": Option("REGEX,…", "show nothing below rows that match", _parse_regexes),
    "show_name_regexes": Option("REGEX,…", "show only rows that match", _parse_regexes),
    "hide_name_regexes": Option("REGEX,…", "hide rows that match", _parse_regexes),
    "account_displayed_op_only": Option(
        "[true|false]", "add up only what is shown", _parse_switch, ("true", "false")
    ),
    "output": Option(
        "WHERE",
        "stdout, none, file:outfile=PATH, timeline:outfile=PATH (a Chrome trace of the graph, "
        "scope, code or layer view, in PATH_ and the step) or pprof:outfile=PATH (of the code "
        "view)",
        _parse_output,
        (*OUTPUTS[:2], *(f"{kind}:outfile=" for kind in OUTPUTS[2:])),
    ),
    "frames": Option(
        "WHOSE",
        "in the code view, show only the user's lines, or also those of TensorFlow and Keras that "
        "made ops of a graph; not an option of tfprof",
        _parse_frames,
        ("user", "all"),
    ),
    **{
        f"min_{name}": Option(
            "N", f"hide rows whose {COLUMNS[name].title.partition(' (')[0]} is less", _parse_number
        )
        for name in METRICS
    },
}

PRESETS: dict[str, dict[str, Any]] = {
    "trainable_variables_parameter": {
        "max_depth": 10000,
        "account_type_regexes": ("_trainable_variables",),
        "account_displayed_op_only": True,
        "select": ("params",),
        "order_by": "name",
    },
    "float_operation": {
        "max_depth": 10000,
        "min_float_ops": 1,
        "account_displayed_op_only": True,
        "select": ("float_ops",),
        "order_by": "float_ops",
    },
    "time_and_memory": {
        "max_depth": 10000,
        "min_bytes": 1,
        "min_micros": 1,
        "account_displayed_op_only": True,
        "select": ("micros", "bytes"),
        "order_by": "micros",
    },
}
"""The options that ProfileOptionBuilder has ready, by name."""


def preset(name: str) -> dict[str, Any]:
    """Give the options of a preset; an unknown one is refused."""
    if name not in PRESETS:
        raise NbprofError(f"-preset takes one of {', '.join(PRESETS)}, not {name!r}.")
    return PRESETS[name]


def lookup(name: str) -> Option:
    """Find an option by name; an unknown one is refused with the nearest that exists."""
    if name in OPTIONS:
        return OPTIONS[name]
    raise NbprofError(f"there is no option -{name}; {suggest(name, OPTIONS)}")


def suggest(word: str, known: Iterable[str]) -> str:
    """Say which known option was perhaps meant, or list them all."""
    known = list(known)
    close = difflib.get_close_matches(word, known, n=1)
    if close:
        return f"did you mean -{close[0]}?"
    return f"there is {', '.join('-' + name for name in known)}."

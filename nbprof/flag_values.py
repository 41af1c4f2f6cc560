"""Check and convert the values of flags, whether typed on a magic's line or passed from Python.

Each parser takes the flag's name, for its error message, and the value.
"""

import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from keyword import iskeyword
from pathlib import Path
from typing import Any, Literal

from nbprof.columns import COLUMNS, TOTAL
from nbprof.errors import NbprofError

EVERYTHING = (".*",)
"""tfprof's regular expressions that match everything."""

FILE_OUTPUTS = ("file", "timeline", "pprof")
"""The kinds of output that write a file."""
OUTPUTS = ("stdout", "none", *FILE_OUTPUTS)
"""All kinds of output."""

MAX_COUNT = 10**6
"""Counts from here on are refused as typos."""

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
"""The ready-made options of ProfileOptionBuilder, by name."""

_YES = ("true", "t", "yes", "y", "1", "")
_NO = ("false", "f", "no", "n", "0")


@dataclass(frozen=True)
class Output:
    """Where a report goes: to the screen, nowhere, or to a file."""

    kind: str = "stdout"
    outfile: str = ""
    """Empty when a program asks for a view that it writes itself."""

    def __str__(self) -> str:
        return f"{self.kind}:outfile={self.outfile}" if self.outfile else self.kind


@dataclass(frozen=True)
class StepRange:
    """The steps to trace in detail: `count` warm ones, or those from `first` up to `last`."""

    count: int = 0
    """Number of warm steps; 0: a range is given instead."""
    first: int = 0
    last: int = 0
    """The first step after the range."""

    def __str__(self) -> str:
        return str(self.count) if self.count else f"{self.first}:{self.last}"


def metric_names() -> tuple[str, ...]:
    """Return the columns that hold numbers, which can be sorted by and given a minimum."""
    return tuple(column.name for column in COLUMNS.values() if column.metrics)


def column_names() -> tuple[str, ...]:
    """Return every column that can be selected."""
    return tuple(COLUMNS)


def order_names() -> tuple[str, ...]:
    """Return everything that rows can be sorted by."""
    totals = (f"{TOTAL}{column.name}" for column in COLUMNS.values() if column.orders_by_total)
    return ("name", *metric_names(), *totals)


def parse_choice(name: str, value: object, choices: Iterable[str]) -> str:
    """Accept one of the choices."""
    word = str(value)
    if word in choices:
        return word
    raise NbprofError(f"-{name} takes one of {', '.join(choices)}, not {word!r}.")


def parse_number(name: str, value: object) -> float:
    """Read any number but NaN."""
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise NbprofError(f"-{name} takes a number, not {value!r}.")
    return number


def parse_integer(name: str, value: object) -> int:
    """Read a whole number of any size; `1e3` is one, too."""
    number = parse_number(name, value)
    if number != number // 1 or math.isinf(number):
        raise NbprofError(f"-{name} takes a whole number, not {value!r}.")
    text = str(value).strip()
    return int(text) if text.lstrip("+-").isdecimal() else int(number)


def parse_depth(name: str, value: object) -> int:
    """Read a whole number that is not negative."""
    depth = parse_integer(name, value)
    if depth < 0:
        raise NbprofError(f"-{name} takes a whole number of at least 0, not {value!r}.")
    return depth


def parse_count(name: str, value: object) -> int:
    """Read a positive whole number."""
    text = str(value)
    if not text.isdecimal() or int(text) < 1:
        raise NbprofError(f"-{name} takes a whole number of at least 1, not {value!r}.")
    if int(text) >= MAX_COUNT:
        raise NbprofError(f"-{name} takes a whole number below {MAX_COUNT:,}, not {value!r}.")
    return int(text)


def parse_seconds(name: str, value: object) -> float:
    """Read a positive number of seconds."""
    try:
        seconds = float(str(value))
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise NbprofError(f"-{name} takes a number of seconds above 0, not {value!r}.")
    return seconds


def parse_steps(name: str, value: object) -> StepRange:
    """Read which steps to trace: a number of warm ones, or a range `A:B`."""
    if isinstance(value, StepRange):
        return value
    first, colon, last = str(value).strip().partition(":")
    if colon and first.isdecimal() and last.isdecimal() and int(first) < int(last):
        return StepRange(first=int(first), last=int(last))
    if not colon and first.isdecimal() and int(first) > 0:
        return StepRange(count=int(first))
    raise NbprofError(
        f"-{name} takes a number of warm steps, such as 20, or a range of steps, such as 100:120 "
        f"for 100 to 119, not {value!r}."
    )


def parse_step(name: str, value: object) -> int | Literal["all"]:
    """Read the number of a step, -1 or `all`."""
    if value == "all":
        return "all"
    with suppress(NbprofError):
        step = parse_integer(name, value)
        if step >= -1:
            return step
    raise NbprofError(f"-{name} takes a step's number, -1 (the average) or all, not {value!r}.")


def parse_columns(name: str, value: object) -> tuple[str, ...]:
    """Read column names, as a list or separated by commas."""
    words = value.split(",") if isinstance(value, str) else value
    if not isinstance(words, Iterable):
        raise NbprofError(f"-{name} takes column names, not {value!r}.")
    stripped = [str(word).strip("'\" ") for word in words]
    chosen = [parse_choice(name, word, COLUMNS) for word in stripped if word]
    if not chosen and isinstance(value, str):
        raise NbprofError(f"-{name} needs at least one of {', '.join(COLUMNS)}.")
    return tuple(dict.fromkeys(chosen))


def parse_regexes(name: str, value: object) -> tuple[str, ...]:
    """Read RE2 expressions, as a list or separated by commas."""
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
        raise NbprofError(
            f"-{name} {pattern!r} is not a valid RE2 regular expression: {text}."
        ) from None


def parse_boolean(name: str, value: object) -> bool:
    """Read true or false in any common spelling."""
    word = str(value).lower()
    if word not in _YES + _NO:
        raise NbprofError(f"-{name} takes true or false, not {value!r}.")
    return word in _YES


def parse_output(name: str, value: object) -> Output:
    """Read where the report goes, such as `file:outfile=PATH`."""
    if isinstance(value, Output):
        return value
    kind, _, rest = str(value).partition(":")
    parse_choice(name, kind, OUTPUTS)
    settings = dict(part.partition("=")[::2] for part in rest.split(",") if part)
    outfile = settings.pop("outfile", "")
    if settings:
        unknown = next(iter(settings))
        raise NbprofError(f"-{name} {kind} has no setting {unknown!r}, only outfile=PATH.")
    if outfile and kind not in FILE_OUTPUTS:
        raise NbprofError(f"-{name} {kind} writes no file, so it takes no outfile=PATH.")
    if not outfile and kind in FILE_OUTPUTS:
        raise NbprofError(f"-{name} {kind} needs a file: {kind}:outfile=PATH.")
    return Output(kind, outfile)


def parse_variable(name: str, value: object) -> str:
    """Read the name of a variable to bind in the notebook."""
    text = str(value)
    if not text.isidentifier() or iskeyword(text) or text.startswith("__"):
        raise NbprofError(f"-{name} takes the name of a Python variable, not {text!r}.")
    return text


def parse_file(name: str, value: object) -> Path:
    """Read the path of a file to write; refuse obvious mistakes before any code runs."""
    path = Path(str(value)).expanduser().absolute()  # the cell may change the working directory
    if path.is_dir():
        raise NbprofError(f"-{name} cannot write {value!r}: it is a directory. Name a file in it.")
    if not path.parent.is_dir():
        raise NbprofError(
            f"-{name} cannot write {value!r}: the directory {path.parent} does not exist."
        )
    return path

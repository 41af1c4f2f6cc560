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
from nbprof.columns import NOT_YET as COLUMNS_NOT_YET
from nbprof.errors import NbprofError


@dataclass(frozen=True)
class ViewOptions:
    """The options of one view, checked; defaults are those of a captured cell."""

    max_depth: int = 100
    order_by: str = "micros"
    select: tuple[str, ...] = ("bytes", "micros", "occurrence")
    step: int | Literal["all"] = "all"
    """One step, -1 for the average over the steps in which a node ran, or the whole cell."""
    frames: Literal["user", "all"] = "user"
    """Whether the code view shows the frames of TensorFlow and Keras, too."""
    minimum: Mapping[str, float] = field(default_factory=dict)
    """`{column: least value}` from the `-min_*` options."""

    @classmethod
    def parse(cls, given: Mapping[str, object]) -> "ViewOptions":
        """Check `{option: value}`, values as typed or as Python objects; raise NbprofError."""
        fields: dict[str, Any] = {}
        minimum: dict[str, float] = {}
        for name, value in given.items():
            checked = lookup(name).parse(name, value)
            if name.startswith("min_"):
                minimum[name.removeprefix("min_")] = checked
            else:
                fields[name] = checked
        return cls(**fields, minimum=minimum)


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
    return int(number)


def _parse_depth(name: str, value: object) -> int:
    depth = _parse_whole(name, value)
    if depth < 0:
        raise NbprofError(f"-{name} takes a whole number from 0 on, not {value!r}.")
    return depth


def _parse_choice(name: str, value: object, choices: Iterable[str], not_yet: Iterable[str]) -> str:
    word = str(value)
    if word in choices:
        return word
    if word in not_yet:
        raise NbprofError(
            f"-{name} {word}: nbprof does not have this column yet; there is {', '.join(choices)}."
        )
    raise NbprofError(f"-{name} takes one of {', '.join(choices)}, not {word!r}.")


def _parse_order(name: str, value: object) -> str:
    return _parse_choice(name, value, ("name", *METRICS), COLUMNS_NOT_YET)


def _parse_select(name: str, value: object) -> tuple[str, ...]:
    words = value.split(",") if isinstance(value, str) else value
    if not isinstance(words, Iterable):
        raise NbprofError(f"-{name} takes column names, not {value!r}.")
    stripped = [str(word).strip("'\" ") for word in words]
    chosen = [_parse_choice(name, word, COLUMNS, COLUMNS_NOT_YET) for word in stripped if word]
    if not chosen:
        raise NbprofError(f"-{name} needs at least one of {', '.join(COLUMNS)}.")
    return tuple(dict.fromkeys(chosen))


def _parse_step(name: str, value: object) -> int | Literal["all"]:
    if value == "all":
        return "all"
    step = _parse_whole(name, value)
    if step < -1:
        raise NbprofError(f"-{name} takes a step's number, -1 for their average, or all.")
    return step


def _parse_frames(name: str, value: object) -> str:
    return _parse_choice(name, value, ("user", "all"), ())


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
        "show one step, -1 the average over the steps in which a node ran, or all of them",
        _parse_step,
        ("all", "-1"),
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

NOT_YET = (
    *(f"{verb}_name_regexes" for verb in ("start", "trim", "show", "hide")),
    *("account_type_regexes", "account_displayed_op_only", "output"),
)


def lookup(name: str) -> Option:
    """Find an option by name; an unknown one is refused with the nearest that exists."""
    if name in OPTIONS:
        return OPTIONS[name]
    if name in NOT_YET:
        raise NbprofError(
            f"-{name} is an option of tfprof that nbprof does not have yet; there is "
            f"{', '.join('-' + known for known in OPTIONS)}."
        )
    raise NbprofError(f"there is no option -{name}; {suggest(name, OPTIONS)}")


def suggest(word: str, known: Iterable[str]) -> str:
    """Say which known option was perhaps meant, or list them all."""
    known = list(known)
    close = difflib.get_close_matches(word, known, n=1)
    if close:
        return f"did you mean -{close[0]}?"
    return f"there is {', '.join('-' + name for name in known)}."

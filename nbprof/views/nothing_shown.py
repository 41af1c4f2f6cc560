"""Why a view has no rows: the options that hide them all."""

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

from nbprof.options import ViewOptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbprof.views.view import View

WHAT_MATCHES = {
    "account_type_regexes": "type of a node",
    "start_name_regexes": "name",
    "show_name_regexes": "name",
}
"""What an option's expression must match as a whole for a row to be shown."""
REGEXES = (*WHAT_MATCHES, "hide_name_regexes", "trim_name_regexes")
"""All options that take regular expressions."""
MOST_LETTERS = 200
"""Cut a longer option value."""
DEFAULTS = ViewOptions()


def why_nothing(view: "View", make: "Callable[[ViewOptions], View]") -> tuple[str, ...]:
    """Name each option without which an empty view would have rows, or all of them together."""
    if not is_empty(view):
        return ()
    given = _filters(view.options)
    guilty = [name for name in given if not is_empty(make(_without(view.options, name)))]
    if not guilty and not is_empty(make(reduce(_without, given, view.options))):
        guilty = given
    return (_sentence(view.options, guilty),) if guilty else ()


def is_empty(view: "View") -> bool:
    """Return whether there are no rows, or only a tree's root."""
    return len(view.frame) <= view.is_tree


def _filters(options: ViewOptions) -> list[str]:
    """Name the filters that differ from the defaults."""
    regexes = [name for name in REGEXES if getattr(options, name) != getattr(DEFAULTS, name)]
    return regexes + [f"min_{column}" for column in options.minimum]


def _without(options: ViewOptions, name: str) -> ViewOptions:
    """Return the options without one of their filters."""
    if name in REGEXES:
        return replace(options, **{name: getattr(DEFAULTS, name)})
    column = name.removeprefix("min_")
    return replace(options, minimum={**options.minimum, column: float("-inf")})


def _sentence(options: ViewOptions, guilty: list[str]) -> str:
    flags = " and ".join(f"-{name} {_value(options, name)}" for name in guilty)
    sentence = f"{flags} {'leaves' if len(guilty) == 1 else 'together leave'} no rows"
    whole = next((WHAT_MATCHES[name] for name in guilty if name in WHAT_MATCHES), "")
    why = f": a regular expression (RE2) must match the whole {whole}, as .*Mul.* matches MatMul"
    return sentence + why if whole else sentence


def _value(options: ViewOptions, name: str) -> str:
    if name in REGEXES:
        text = ",".join(getattr(options, name))
        text = text if text and text.isprintable() else repr(text)
        return text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]}…"
    return f"{options.minimum[name.removeprefix('min_')]:g}"

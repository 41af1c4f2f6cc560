"""The functions that were called and their calls of each other, as displays read them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbprof.views.view import View

Frame = Any
"""A table; this room does not know pandas."""


@dataclass(frozen=True, eq=False)
class CallTables:
    """What was counted while functions were watched."""

    functions: Frame
    names: list[str]
    """The functions' names, as the view shows them."""
    calls: Frame
    """A row per caller and function that it called, the heaviest first."""


def find_calls(views: "Iterable[View]") -> CallTables | None:
    """Return the tables behind the view whose rows are functions; None if there is none."""
    for view in views:
        profile = view.profile
        if profile is not None and view.row_functions is not None and len(profile.calls):
            return CallTables(
                functions=profile.functions,
                names=_names(view, profile.functions),
                calls=profile.calls.sort_values("total_ns", ascending=False, kind="stable"),
            )
    return None


def _names(view: "View", functions: Frame) -> list[str]:
    """Name the functions; those that a filter hides get their plain names."""
    names: list[str] = functions["function"].tolist()
    shown = [] if view.row_functions is None else view.row_functions.tolist()
    for number, name in zip(shown, view.frame["name"], strict=True):
        if number >= 0:
            names[number] = name
    return names

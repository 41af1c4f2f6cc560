"""Views: pure functions of a Profile and ViewOptions that return a View."""

from dataclasses import replace
from typing import TYPE_CHECKING

from nbprof.columns import COLUMNS, views_with
from nbprof.errors import NbprofError
from nbprof.options import check_output
from nbprof.view_kinds import VIEWS, ViewKind, imported, view_names
from nbprof.views.defaults import with_defaults
from nbprof.views.measure import only_what_ran
from nbprof.views.needs import check_recorded
from nbprof.views.notes import why_nothing
from nbprof.views.out_of_memory import lead
from nbprof.views.outside_ops import with_outside_ops
from nbprof.views.view import unwritten

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbprof._profile import Profile
    from nbprof.options import ViewOptions
    from nbprof.views.view import View

__all__ = ["VIEWS", "ViewKind", "view"]


def view(profile: "Profile", name: str, options: "ViewOptions") -> "View":
    """Return the view called `name` of a profile."""
    if name not in VIEWS:
        raise NbprofError(f"there is no view {name!r}; views are {view_names()}.")
    kind = VIEWS[name]
    check_recorded(kind, profile)
    options = with_defaults(kind, options, profile)
    check_output(name, options)
    make: Callable[[Profile, ViewOptions], View] = imported(kind.maker)
    # Only `params` counts variables, which never run.
    counted = profile if options.uses("params") else only_what_ran(profile)
    if options.uses("live_bytes"):
        counted = with_outside_ops(counted, options)
    shown = make(counted, options)
    notes = shown.notes + _columns_not_here(name, options)
    notes += why_nothing(shown, lambda other: make(counted, other)) + unwritten(options)
    return replace(shown, profile=profile, notes=notes, lead=lead(profile))


def _columns_not_here(view: str, options: "ViewOptions") -> tuple[str, ...]:
    """Return a note for each selected column that this view does not have."""
    return tuple(
        f"the {view} view has no {name}; these have it: {', '.join(views_with(COLUMNS[name]))}"
        for name in options.columns
        if view not in views_with(COLUMNS[name])
    )

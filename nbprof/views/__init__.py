"""Views: pure functions of a Profile and ViewOptions, each giving a View."""

from dataclasses import replace
from typing import TYPE_CHECKING

from nbprof.errors import NbprofError
from nbprof.options import check_output
from nbprof.views import code, graph, layer, op, scope
from nbprof.views.measure import only_what_ran
from nbprof.views.nothing_shown import why_nothing

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbprof._profile import Profile
    from nbprof.options import ViewOptions
    from nbprof.views.view import View

VIEWS: "dict[str, Callable[[Profile, ViewOptions], View]]" = {
    "op": op.view,
    "scope": scope.view,
    "graph": graph.view,
    "code": code.view,
    "layer": layer.view,
}


def view(profile: "Profile", name: str, options: "ViewOptions") -> "View":
    """Group `profile` by the view called `name`."""
    if name not in VIEWS:
        raise NbprofError(f"there is no view {name!r} yet; there is {', '.join(VIEWS)}.")
    check_output(name, options)
    named = (*options.select, options.order_by, *options.minimum)
    counted = profile if "params" in named else only_what_ran(profile)
    made = VIEWS[name](counted, options)
    notes = made.notes + why_nothing(made, lambda other: VIEWS[name](counted, other))
    return replace(made, profile=profile, notes=notes)

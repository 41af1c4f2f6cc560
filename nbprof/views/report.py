"""A report: the view that was asked for, and the views an explorer offers beside it."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from nbprof import views
from nbprof.columns import COLUMNS, views_with
from nbprof.errors import NbprofError
from nbprof.options import ViewOptions
from nbprof.views.defaults import without_defaults

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from nbprof._profile import Profile
    from nbprof.view_kinds import ViewKind
    from nbprof.views.view import Lead, View

MOST_EVENTS = 3_000_000
"""Most op runs for which a notebook output has siblings: with more, they take too long."""
SHARED_OPTIONS = ("order_by", "select", "step", "frames", "account_type_regexes")
"""Options that siblings share with the view that was asked for."""
NOT_IN_PAGES = ("tensor_value",)
"""Columns that the page of a whole profile leaves out."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Report:
    """A view with its siblings; everything that displays a view receives one."""

    view: "View"
    """The view that was asked for."""
    siblings: "tuple[View, ...]" = ()
    """The other views of the same profile, in the order of `VIEWS`."""

    @property
    def profile(self) -> "Profile | None":
        """The profile whose op runs and cells are shown; None for a printed report."""
        return self.view.profile

    @property
    def headline(self) -> str:
        """What was profiled, in one line."""
        return self.view.headline

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the numbers, such as what was not recorded."""
        return self.view.notes

    @property
    def lead(self) -> "Lead | None":
        """What to show before the rows, if anything matters more."""
        return self.view.lead

    @property
    def views(self) -> "tuple[View, ...]":
        """All views, in the order of `VIEWS`."""
        places = {name: place for place, name in enumerate(views.VIEWS)}
        return tuple(sorted((self.view, *self.siblings), key=lambda view: places[view.name]))

    @property
    def lacks_siblings(self) -> bool:
        """Whether the profile has other views that are not in the report."""
        return self.profile is not None and not self.siblings

    def averaged(self, view: "View") -> "View":
        """Return one of the views, averaged over steps; it takes as long as making the view."""
        return _per_step(view)


def report_of(view: "View") -> Report:
    """Return a view with all its siblings."""
    return Report(view=view, siblings=tuple(_siblings(view)))


def output_report(view: "View") -> Report:
    """Return a view with its siblings for a notebook output, which must not take long."""
    if view.profile is not None and len(view.profile.costs) > MOST_EVENTS:
        return Report(view=view)
    return report_of(view)


def whole_report(profile: "Profile") -> Report:
    """Return all views of a profile with all their columns."""
    shown = [*_views(profile, views.VIEWS, lambda kind: _all_columns(kind, profile))]
    return Report(view=shown[0], siblings=tuple(shown[1:]))


def _per_step(view: "View") -> "View":
    """Return the same view with averages over the steps."""
    if view.profile is None:
        return view
    options = replace(view.options, step=-1, output=ViewOptions().output)
    return view.profile.view(view.name, options)


def _siblings(view: "View") -> "Iterator[View]":
    if view.profile is None:
        return
    asked = without_defaults(views.VIEWS[view.name], view.options, view.profile)
    options = replace(ViewOptions(), **{name: getattr(asked, name) for name in SHARED_OPTIONS})
    others = [name for name in views.VIEWS if name != view.name]
    yield from _views(view.profile, others, lambda _: options)


def _views(
    profile: "Profile", names: "Iterable[str]", options: "Callable[[ViewKind], ViewOptions]"
) -> "Iterator[View]":
    """Yield the views that the profile has, with these options for each."""
    for name in names:
        try:
            yield profile.view(name, options(views.VIEWS[name]))
        except NbprofError:
            continue  # such as the code view of a trace without lines


def _all_columns(kind: "ViewKind", profile: "Profile") -> ViewOptions:
    """Select all columns of a view that the profile can fill."""
    brought = {name for column in COLUMNS.values() for name in column.brings}
    columns = tuple(
        name
        for name, column in COLUMNS.items()
        if name not in {*NOT_IN_PAGES, *brought}
        and kind.name in views_with(column)
        and ("ops" in profile.recording.watched or not column.of_ops)
        and not (profile.recording.tfprof and column.not_in_tfprof)
    )
    return ViewOptions(select=columns)

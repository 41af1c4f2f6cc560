"""The options that a view has where the user did not say."""

from dataclasses import replace
from typing import TYPE_CHECKING

from nbprof.columns import COLUMNS, TOTAL, views_with
from nbprof.options import TFPROF_SELECTED

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.options import ViewOptions
    from nbprof.view_kinds import ViewKind


def with_defaults(kind: "ViewKind", options: "ViewOptions", profile: "Profile") -> "ViewOptions":
    """Fill in the columns to show of this profile, and the one to sort by."""
    if options.select is None:
        options = replace(options, select=_columns(kind, profile))
    return options if _has(kind, options.order_by) else replace(options, order_by=kind.order_by)


def without_defaults(kind: "ViewKind", options: "ViewOptions", profile: "Profile") -> "ViewOptions":
    """Undo `with_defaults`, so that another view can fill in its own."""
    if options.select == _columns(kind, profile):
        options = replace(options, select=None)
    return replace(options, order_by="") if options.order_by == kind.order_by else options


def _has(kind: "ViewKind", order_by: str) -> bool:
    """Return whether the rows of a view can be sorted by this."""
    column = COLUMNS.get(order_by.removeprefix(TOTAL))
    return order_by == "name" or (column is not None and kind.name in views_with(column))


def _columns(kind: "ViewKind", profile: "Profile") -> tuple[str, ...]:
    if profile.recording.tfprof:
        return TFPROF_SELECTED
    watched = profile.recording.watched
    return tuple(
        name
        for name in kind.select
        if (COLUMNS[name].needs or ("ops" if COLUMNS[name].of_ops else "")) in ("", *watched)
    )

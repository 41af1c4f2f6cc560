"""Refuse views of what was not recorded, and say what records it."""

from typing import TYPE_CHECKING

from nbprof.errors import NbprofError

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.view_kinds import Need, ViewKind

LACKS: "dict[Need, str]" = {
    "ops": "the {view} view needs TensorFlow's ops, and only Python was watched: profile the cell "
    "with %%tfprof.",
    "samples": "the {view} view needs samples of the Python stack, and this profile has none: "
    "profile the cell with %%pyprof or %%tfprof.",
    "calls": "the {view} view needs every call counted: profile the cell with %%pyprof {view}.",
    "lines": "the {view} view needs every line counted: profile the cell with %%pyprof {view}.",
    "sites": "the {view} view needs the allocations of Python: profile the cell with %%pyprof "
    "{view}.",
}
"""The error if what a view needs was not recorded."""


def is_recorded(kind: "ViewKind", profile: "Profile") -> bool:
    """Return whether the profile has what a view is made of."""
    return kind.needs in profile.recording.watched


def check_recorded(kind: "ViewKind", profile: "Profile") -> None:
    """Raise NbprofError if the profile lacks what a view is made of."""
    if not is_recorded(kind, profile):
        if profile.recording.refused and kind.needs not in ("ops", "samples"):
            raise NbprofError(profile.recording.refused)
        raise NbprofError(LACKS[kind.needs].format(view=kind.name))

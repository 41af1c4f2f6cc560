"""Timelines draw single runs; a profile that keeps only sums has none."""

from typing import TYPE_CHECKING

from nbprof.errors import NbprofError

if TYPE_CHECKING:
    from nbprof._profile import Profile


def need_single_runs(profile: "Profile") -> None:
    """Refuse a profile whose runs were added up."""
    if not profile.recording.single_runs:
        raise NbprofError(
            "a timeline needs single runs, and engine='dask' keeps sums: load the traces of some "
            "hosts without an engine, and export that."
        )

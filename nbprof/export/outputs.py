"""What `-output` asks for: the report, the timeline or the pprof profile of a view, in a file."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nbprof.export import pprof, tfprof_timeline
from nbprof.export.single_runs import need_single_runs
from nbprof.export.whole_file import whole_file
from nbprof.options import Output
from nbprof.protos.texts import to_utf8
from nbprof.views.view import unwritten

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.views.view import View


def write(view: "View") -> tuple[Path, ...]:
    """Write the files that the view's options name and return their paths."""
    profile = view.profile
    if profile is None or not view.options.output.outfile:
        return ()
    path = Path(view.options.output.outfile)
    if view.options.output.kind == "timeline":
        return tuple(_write_timeline(profile, one, path) for one in _step_by_step(profile, view))
    with whole_file(path) as file:
        if view.options.output.kind == "pprof":
            pprof.write(profile, view, file)
        else:
            notes = tuple(note for note in view.notes if note not in unwritten(view.options))
            file.write(to_utf8(replace(view, notes=notes).text))
    return (path,)


def _step_by_step(profile: "Profile", view: "View") -> "list[View]":
    """Give the views to draw: there are no real times in an average, so one of each step."""
    if view.name != "graph" or _step(profile, view) != -1:
        return [view]
    ready = replace(view.options, output=Output("timeline"))
    steps = profile.steps["step"].tolist()
    return [profile.view(view.name, replace(ready, step=step)) for step in steps]


def _step(profile: "Profile", view: "View") -> int | str:
    usual = -1 if profile.recording.tfprof else "all"
    return usual if view.options.step is None else view.options.step


def _write_timeline(profile: "Profile", view: "View", path: Path) -> Path:
    need_single_runs(profile)
    target = path.with_name(f"{path.name}_{_step(profile, view)}")
    with whole_file(target) as file:
        tfprof_timeline.write(profile, view, file)
    return target

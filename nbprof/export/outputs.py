"""The files that the option `output` asks for: a view's report, timelines or pprof profile."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from nbprof.export import pprof, tfprof_timeline
from nbprof.export.chrome_trace import check_single_runs
from nbprof.export.whole_file import whole_file
from nbprof.protos.texts import to_utf8
from nbprof.views.view import unwritten

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbprof.views.view import View

    Step = int | Literal["all"]


def write(view: "View", timelines: "Mapping[Step, View]") -> tuple[Path, ...]:
    """Write the files that the view's options name and return their paths.

    `timelines` are the views to draw, by step: each becomes the file `PATH_step`.
    """
    output = view.options.output
    if view.profile is None or not output.outfile:
        return ()
    path = Path(output.outfile)
    if output.kind == "timeline":
        return tuple(_write_timeline(drawn, path, step) for step, drawn in timelines.items())
    with whole_file(path) as file:
        if output.kind == "pprof":
            pprof.write(view, file)
        else:
            notes = tuple(note for note in view.notes if note not in unwritten(view.options))
            file.write(to_utf8(replace(view, notes=notes).text))
    return (path,)


def _write_timeline(view: "View", path: Path, step: "Step") -> Path:
    assert view.profile is not None
    check_single_runs(view.profile)
    target = path.with_name(f"{path.name}_{step}")
    with whole_file(target) as file:
        tfprof_timeline.write(view, file)
    return target

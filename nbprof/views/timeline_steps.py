"""The views that `-output timeline` draws, by step."""

from dataclasses import replace
from typing import TYPE_CHECKING

from nbprof import views
from nbprof.options import Output
from nbprof.views.measure import resolved_step

if TYPE_CHECKING:
    from nbprof.views.measure import Step
    from nbprof.views.view import View

AVERAGE = -1
"""The step that stands for the average over all steps."""


def timeline_steps(view: "View") -> "dict[Step, View]":
    """Return the views to draw by step; none unless the view's options ask for a timeline.

    An average has no real times, so a graph view of it is drawn once for each step instead.
    """
    profile = view.profile
    if profile is None or view.options.output.kind != "timeline":
        return {}
    step = resolved_step(profile, view.options.step)
    if view.name != "graph" or step != AVERAGE:
        return {step: view}
    options = replace(view.options, output=Output("timeline"))
    steps = profile.steps["step"].tolist()
    return {step: views.view(profile, view.name, replace(options, step=step)) for step in steps}

"""The timeline of a view, as tfprof writes it: a Chrome trace of the shown rows.

The graph view's has the real times of its nodes; that of any other tree is a flame graph of totals.
"""

import json
from typing import TYPE_CHECKING, BinaryIO

from nbprof.export.tfprof_timeline.flame import flame_events
from nbprof.export.tfprof_timeline.graph_timeline import graph_events

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.views.view import View


def write(profile: "Profile", view: "View", file: BinaryIO) -> None:
    """Write the timeline of a view of one step, or of all."""
    events = graph_events(profile, view) if view.name == "graph" else flame_events(view)
    trace = json.dumps({"traceEvents": events}, separators=(",", ":"), sort_keys=True)
    file.write(trace.encode("ascii") + b"\n")

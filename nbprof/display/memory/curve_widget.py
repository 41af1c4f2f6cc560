"""The curve as a live widget whose selection Python can read."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbprof.display.explorer.script import script
from nbprof.display.memory import result_report
from nbprof.display.widget_base import LiveWidget

if TYPE_CHECKING:
    from nbprof.memory.result import Mark, MemoryResult

Frame = Any
"""A DataFrame of samples; this room does not import pandas."""
SCRIPT = Path(__file__).resolve().parent / "js" / "memory_curve.js"
"""The module that shows the curve."""
NO_NOTEBOOK = "The widget needs a notebook; result.plot() draws the curve anywhere."
"""Shown where widgets are not available."""


class CurveExplorer(LiveWidget):
    """The curve of the run with the largest peak.

    Its buffers are the columns of the samples: seconds, resident, most, gap. `chosen["range"]` is
    the time shown, in seconds, or None for all of it.
    """

    _esm = f"{script(SCRIPT)}\nexport default {{ render: renderCurve }};"

    def __init__(self, result: "MemoryResult", **settings: Any) -> None:
        run = result.largest
        curve = run.curve
        described = {
            "seconds": run.seconds,
            "peak": run.peak,
            "exact": run.exact,
            "marks": [_description(mark) for mark in run.marks],
        }
        columns = (curve.seconds, curve.resident, curve.most, curve.gap)
        super().__init__(
            data=json.dumps(described),
            buffers=[column.tobytes() for column in columns],
            chosen={"range": None},
            **settings,
        )
        self.result = result

    @property
    def time_range(self) -> tuple[float, float] | None:
        """The time range shown, in seconds; None if all of it is shown."""
        chosen = self.chosen.get("range")
        return (chosen[0], chosen[1]) if chosen else None

    @property
    def selection(self) -> Frame:
        """The samples shown, as rows of `result.samples`."""
        samples = self.result.samples
        samples = samples[samples["run"] == self.result.runs.index(self.result.largest)]
        first, last = self.time_range or (-math.inf, math.inf)
        return samples[samples["seconds"].between(first, last)]

    def close(self) -> None:
        """Remove the widget and free its data in the browser."""
        self.data, self.buffers = "", []
        super().close()

    def _title(self) -> str:
        return f"<CurveExplorer: {result_report.headline(self.result)}>"

    def _plain_html(self) -> str:
        return result_report.html_report(self.result)

    def _plain_text(self) -> str:
        return f"{result_report.text_report(self.result)}\n{NO_NOTEBOOK}"


def _description(mark: "Mark") -> dict[str, Any]:
    return {
        "kind": mark.kind,
        "label": mark.label,
        "short": mark.short,
        "start": mark.seconds,
        "end": None if math.isnan(mark.end) else mark.end,
        "bytes": None if math.isnan(mark.bytes) else mark.bytes,
    }

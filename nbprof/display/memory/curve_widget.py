"""The curve as a live widget, heard by Python."""

import json
import math
from typing import TYPE_CHECKING, Any

from nbprof.display.explorer.script import script
from nbprof.display.memory import result_html, result_text
from nbprof.display.widget_base import LiveWidget

if TYPE_CHECKING:
    from nbprof.memory.result import Mark, MemoryResult

Frame = Any
"""The samples; this room does not know pandas."""
NO_NOTEBOOK = "The curve as a widget needs a notebook; result.plot() draws it."


class CurveExplorer(LiveWidget):
    """The curve of the run with the largest peak.

    Its buffers are the samples: seconds, resident, most, gap. `chosen` has the `range` that is
    shown, in seconds, or none.
    """

    _esm = f"{script('memory_curve')}\nexport default {{ render: renderCurve }};"

    def __init__(self, result: "MemoryResult", **settings: Any) -> None:
        run = result.largest
        curve = run.curve
        described = {
            "seconds": run.seconds,
            "peak": run.peak,
            "exact": run.exact,
            "marks": [_described(mark) for mark in run.marks],
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
        """The stretch of time that is shown, in seconds; None where all of it is."""
        chosen = self.chosen.get("range")
        return (chosen[0], chosen[1]) if chosen else None

    @property
    def selection(self) -> Frame:
        """The samples that are shown, as rows of `result.samples`."""
        samples = self.result.samples
        samples = samples[samples["run"] == self.result.runs.index(self.result.largest)]
        first, last = self.time_range or (-math.inf, math.inf)
        return samples[samples["seconds"].between(first, last)]

    def close(self) -> None:
        """Take the widget away and free what the browser holds of it."""
        self.data, self.buffers = "", []
        super().close()

    def _named(self) -> str:
        return f"<CurveExplorer: {result_text.headline(self.result)}>"

    def _plain(self) -> str:
        return result_html.report(self.result)

    def _text(self) -> str:
        return f"{result_text.report(self.result)}\n{NO_NOTEBOOK}"


def _described(mark: "Mark") -> dict[str, Any]:
    return {
        "kind": mark.kind,
        "label": mark.label,
        "start": mark.seconds,
        "end": None if math.isnan(mark.end) else mark.end,
        "bytes": None if math.isnan(mark.bytes) else mark.bytes,
    }

"""The live explorer: the same JavaScript in a widget that sends its selection to Python."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nbprof.display import html, text
from nbprof.display.explorer.buffer_store import to_json
from nbprof.display.explorer.payload import all_kinds, timeline_of, whole_payload
from nbprof.display.explorer.script import script
from nbprof.display.widget_base import LiveWidget
from nbprof.errors import NbprofError

if TYPE_CHECKING:
    from nbprof.views.report import Report
    from nbprof.views.view import View

Frame = Any
"""The frame of a view; this room does not know pandas."""
PLAIN_ROWS = 40
"""Most rows that front ends without widgets show."""
NO_NOTEBOOK = (
    "Shown as text: the explorer needs a notebook. view.to_html(path) writes it as a page."
)
CLOSED = "this explorer is closed: open another one with view.explore()."

_open: "list[Explorer]" = []


class Explorer(LiveWidget):
    """A view and its siblings, with all their rows.

    `chosen` holds the place of the `view` that is shown, whether numbers are `per_step`, the
    selected `rows`, the `%tfprof` `line` and the time `range`.
    """

    _esm = f"{script()}\nexport default {{ render }};"

    def __init__(self, report: "Report", **settings: Any) -> None:
        self._report: Report | None = report
        self._timeline = timeline_of(all_kinds(report))
        payload = whole_payload(report, ("flame",))
        super().__init__(
            data=to_json(payload.described).decode(),
            buffers=payload.buffers,
            chosen={"view": payload.described["first"], "rows": [], "line": ""},
            **settings,
        )
        self.on_msg(self._answer)
        _open.append(self)

    def _answer(self, _: Any, content: dict[str, Any], __: Any) -> None:
        """Send how often and how long each kind of op ran in a stretch of time."""
        if self._timeline is not None and "range" in content:
            events, ns = self._timeline.runs_between(*content["range"])
            self.send({**content, "events": events.tolist(), "micros": (ns / 1e3).tolist()})

    @property
    def view(self) -> "View":
        """The view that is shown."""
        return self._average_of_shown if self._shows_averages else self._shown

    @property
    def selection(self) -> Frame:
        """The selected rows of the frame of the view that is shown."""
        shown = self._shown
        rows = self.chosen["rows"]
        if not self._shows_averages:
            return shown.frame.iloc[rows]
        average = self._average_of_shown
        return average.frame.iloc[_same_rows(shown, rows, average)]

    @property
    def time_range(self) -> tuple[float, float] | None:
        """The chosen stretch of time, in µs from the cell's start, or None."""
        chosen = self.chosen.get("range")
        return (round(chosen[0], 3), round(chosen[1], 3)) if chosen else None

    @property
    def line(self) -> str:
        """The `%tfprof` line that shows the same; empty before the widget has been displayed."""
        return str(self.chosen["line"])

    @property
    def _open_report(self) -> "Report":
        if self._report is None:
            raise NbprofError(CLOSED)
        return self._report

    @property
    def _shown(self) -> "View":
        place: int = self.chosen["view"]
        return self._open_report.views[place]

    @property
    def _shows_averages(self) -> bool:
        return bool(self.chosen.get("per_step"))

    @property
    def _average_of_shown(self) -> "View":
        return self._open_report.averaged(self._shown)

    def close(self) -> None:
        """Remove the widget and free what it holds."""
        if self in _open:
            _open.remove(self)
            self.data, self.buffers = "", []
            # The browser keeps a model's state from before its last change: make one more.
            self.chosen = {"view": 0, "rows": [], "line": "", "range": None}
            self._report, self._timeline = None, None
        super().close()

    def _shows(self, view: "View") -> bool:
        """Return whether the explorer was opened on this view."""
        return self._report is not None and self._report.view is view

    def _title(self) -> str:
        if self._report is None:
            return "<Explorer: closed>"
        return f"<Explorer of the {self._report.view.name} view: {self._report.headline}>"

    def _plain_html(self) -> str:
        return "" if self._report is None else html.report(self._report.view, PLAIN_ROWS)

    def _plain_text(self) -> str:
        if self._report is None:
            return ""
        return f"{text.excerpt(self._report.view)}\n{NO_NOTEBOOK}\n"


def open_explorer(view: "View") -> Explorer | None:
    """Return the explorer of this view that is still open, if there is one."""
    return next((explorer for explorer in _open if explorer._shows(view)), None)


def _same_rows(view: "View", rows: Sequence[int], other: "View") -> list[int]:
    """Find rows of a view in another by their paths; skip those that it does not have."""
    place = {path: row for row, path in enumerate(_paths(other))}
    paths = _paths(view)
    return [place[paths[row]] for row in rows if paths[row] in place]


def _paths(view: "View") -> list[tuple[str, ...]]:
    """Return the names from the root to each row."""
    paths: list[tuple[str, ...]] = []
    parents = view.frame["parent"] if view.is_tree else [-1] * len(view.frame)
    for name, parent in zip(view.frame["name"], parents, strict=True):
        paths.append((*(paths[parent] if parent >= 0 else ()), name))
    return paths

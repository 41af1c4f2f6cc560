"""The live explorer: the same JavaScript in a widget, fed with raw buffers, heard by Python."""

from typing import TYPE_CHECKING, Any

from nbprof.display import html, text
from nbprof.display.explorer.payload import all_views, average_of, same_rows, timeline_of, whole
from nbprof.display.explorer.script import script
from nbprof.display.widget_base import LiveWidget

if TYPE_CHECKING:
    from nbprof.views.view import View

Frame = Any
"""The frame of a view; this room does not know pandas."""
PLAIN_ROWS = 40
"""So many rows are seen where the widget is not."""
NO_NOTEBOOK = (
    "This is its text: the explorer needs a notebook. view.to_html(path) writes it as a page."
)

_open: "list[Explorer]" = []


class Explorer(LiveWidget):
    """A view and the others of its profile, with all their rows.

    `chosen` has the place of the `view` that is shown, whether `per_step`, the `rows` that are
    selected, the `line` and the `range`.
    """

    _esm = f"{script()}\nexport default {{ render }};"

    def __init__(self, view: "View", **settings: Any) -> None:
        self._views = all_views(view)
        self._timeline = timeline_of(view)
        payload = whole(view, self._views, ("flame",))
        super().__init__(
            data=payload.to_json(buffers=False),
            buffers=payload.buffers,
            chosen={"view": payload.described["first"], "rows": [], "line": ""},
            **settings,
        )
        self._first: View | None = view
        self.on_msg(self._hear)
        _open.append(self)

    def _hear(self, _: Any, content: dict[str, Any], __: Any) -> None:
        """Answer how often each kind of op ran in a stretch of time."""
        if self._timeline is not None and "range" in content:
            events, ns = self._timeline.runs_between(*content["range"])
            self.send({**content, "events": events.tolist(), "ns": ns.tolist()})

    @property
    def view(self) -> "View":
        """The view that is shown."""
        shown = self._views[self.chosen["view"]]
        return average_of(shown) if self.chosen.get("per_step") else shown

    @property
    def selection(self) -> Frame:
        """The selected rows of the frame of the view that is shown."""
        shown = self._views[self.chosen["view"]]
        rows = self.chosen["rows"]
        if self.chosen.get("per_step"):
            average = average_of(shown)
            return average.frame.iloc[same_rows(shown, rows, average)]
        return shown.frame.iloc[rows]

    @property
    def time_range(self) -> tuple[float, float] | None:
        """The stretch of time that is chosen, in µs from the cell's start, or None."""
        chosen = self.chosen.get("range")
        return (round(chosen[0], 3), round(chosen[1], 3)) if chosen else None

    @property
    def line(self) -> str:
        """The `%tfprof` line that gives what is shown; empty before it has been shown."""
        return str(self.chosen["line"])

    def close(self) -> None:
        """Take the widget away and free what it holds."""
        if self in _open:
            _open.remove(self)
            self.data, self.buffers = "", []
            # The browser keeps what a model was before its last change: this is one more.
            self.chosen = {"view": 0, "rows": [], "line": "", "range": None}
            self._views, self._first, self._timeline = [], None, None
        super().close()

    def _named(self) -> str:
        if self._first is None:
            return "<Explorer: closed>"
        return f"<Explorer of the {self._first.name} view: {self._first.headline}>"

    def _plain(self) -> str:
        return "" if self._first is None else html.report(self._first, PLAIN_ROWS)

    def _text(self) -> str:
        return "" if self._first is None else f"{text.excerpt(self._first)}\n{NO_NOTEBOOK}\n"


def explorer_of(view: "View") -> Explorer:
    """Give the explorer of this view: the open one, or a new one."""
    there = (one for one in _open if one._first is view)
    return next(there, None) or Explorer(view)

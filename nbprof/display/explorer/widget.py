"""The live explorer: the same JavaScript in a widget, fed with raw buffers, heard by Python."""

from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

from nbprof.display.explorer.payload import all_views, whole
from nbprof.display.explorer.script import script, style

if TYPE_CHECKING:
    from nbprof.views.view import View


Frame = Any
"""The frame of a view; this room does not know pandas."""


class Explorer(anywidget.AnyWidget):
    """A view and the others of its profile, with all their rows."""

    _esm = f"{script()}\nexport default {{ render }};"
    _css = style()

    data = traitlets.Unicode().tag(sync=True)
    """The description of the views, as JSON."""
    buffers = traitlets.List(traitlets.Bytes()).tag(sync=True)
    """The columns that it points into."""
    chosen = traitlets.Dict().tag(sync=True)
    """What the browser tells: the place of the `view` that is shown, `rows` and `line`."""

    def __init__(self, view: "View", **settings: Any) -> None:
        self._views = all_views(view)
        payload = whole(view, self._views)
        super().__init__(
            data=payload.to_json(buffers=False),
            buffers=payload.buffers,
            chosen={"view": payload.described["first"], "rows": [], "line": ""},
            **settings,
        )

    @property
    def view(self) -> "View":
        """The view that is shown."""
        shown: View = self._views[self.chosen["view"]]
        return shown

    @property
    def selection(self) -> Frame:
        """The selected rows of the frame of the view that is shown."""
        return self.view.frame.iloc[self.chosen["rows"]]

    @property
    def line(self) -> str:
        """The `%tfprof` line that gives what is shown; empty before it has been shown."""
        return str(self.chosen["line"])

    def close(self) -> None:
        """Take the widget away and free what it holds."""
        self.data, self.buffers = "", []
        self.chosen = {"view": 0, "rows": [], "line": ""}
        self._views = []
        super().close()

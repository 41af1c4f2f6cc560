"""The base of the live widgets: the data they exchange, and how they look without a front end."""

import sys
from typing import Any

import anywidget
import traitlets

from nbprof.display.explorer.script import style


class LiveWidget(anywidget.AnyWidget):
    """JavaScript that receives raw buffers from Python and sends back what the user chose."""

    _css = style()
    _ipython_display_ = None
    """Hides that of ipywidgets 7, which would take precedence over `_repr_mimebundle_`."""

    data = traitlets.Unicode().tag(sync=True)
    """The description of what is shown, as JSON."""
    buffers = traitlets.List(traitlets.Bytes()).tag(sync=True)
    """The columns that the description points to."""
    chosen = traitlets.Dict().tag(sync=True)
    """What the user has chosen in the browser.

    It comes in messages, because a front end holds back a changed trait until the kernel is done
    with the change before, and forever if that one was lost.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.on_msg(self._hear)

    def _hear(self, _: Any, content: dict[str, Any], __: Any) -> None:
        """Remember what the user has chosen."""
        if "chosen" in content:
            self.chosen = content["chosen"]

    def _plain_html(self) -> str:
        """Return HTML for front ends without widgets; empty if there is nothing to show."""
        raise NotImplementedError

    def _plain_text(self) -> str:
        """Return text for a terminal; empty if there is nothing to show."""
        raise NotImplementedError

    def _title(self) -> str:
        """Return a few words that identify the widget."""
        raise NotImplementedError

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        if self.comm is None:
            return None  # it is closed: its repr says so
        bundle = super()._repr_mimebundle_(**kwargs)
        plain = self._plain_html()
        if bundle is not None and plain:
            bundle[0]["text/html"] = plain
            bundle[0]["text/plain"] = self._plain_text()
        return bundle

    def __repr__(self) -> str:
        return (not _in_ipython() and self._plain_text()) or self._title()


def _in_ipython() -> bool:
    """Return whether a shell asks for mimebundles; plain Python only asks for a repr."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and ipython.get_ipython() is not None

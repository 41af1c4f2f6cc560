"""What the live widgets have in common: what they are fed, what they tell, their plain faces."""

import sys
from typing import Any

import anywidget
import traitlets

from nbprof.display.explorer.script import style


class LiveWidget(anywidget.AnyWidget):
    """JavaScript that Python feeds with raw buffers, and listens to."""

    _css = style()

    data = traitlets.Unicode().tag(sync=True)
    """What is shown, without its columns, as JSON."""
    buffers = traitlets.List(traitlets.Bytes()).tag(sync=True)
    """The columns."""
    chosen = traitlets.Dict().tag(sync=True)
    """What the browser tells."""

    def _plain(self) -> str:
        """Give HTML for those who do not show widgets; empty where there is nothing to show."""
        raise NotImplementedError

    def _text(self) -> str:
        """Give text for a terminal, which shows neither; empty where there is nothing to show."""
        raise NotImplementedError

    def _named(self) -> str:
        """Say in a few words which widget this is."""
        raise NotImplementedError

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        made = super()._repr_mimebundle_(**kwargs)
        plain = self._plain()
        if made is not None and plain:
            made[0]["text/html"] = plain
            made[0]["text/plain"] = self._text()
        return made

    def __repr__(self) -> str:
        return (not _in_ipython() and self._text()) or self._named()


def _in_ipython() -> bool:
    """Tell whether there is a shell that asks for a mimebundle; plain Python asks for a repr."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and ipython.get_ipython() is not None

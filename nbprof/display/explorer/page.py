"""The explorer in HTML: inside a notebook's output, and as a file of its own."""

from dataclasses import replace
from hashlib import sha256
from html import escape
from typing import TYPE_CHECKING, BinaryIO

from nbprof.columns import COLUMNS
from nbprof.display import html
from nbprof.display.explorer.payload import Payload, all_views, whole, within
from nbprof.display.explorer.script import LOADER, packed, script, style
from nbprof.options import ViewOptions

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.views.view import View

NOT_IN_FILES = ("tensor_value",)
PLAIN_ROWS = 40
"""So many rows of a file are there without scripts, too."""
FILE_STYLE = """
:root{color-scheme:light dark}
h1{font-size:14px;margin:0 0 .4em;font-weight:400}
body{background:Canvas;color:CanvasText}
body{margin:0 auto;padding:12px 16px;max-width:1600px;font-family:system-ui,sans-serif;
 --nbx-height:calc(100vh - 14em)}
"""


def output(view: "View", size: int) -> str:
    """Write a plain table that becomes the explorer where scripts run, in at most `size` bytes.

    Where there is no room for both, the plain table stands alone.
    """
    plain = html.report(view)
    frame = len(_explorer(plain, Payload({}, [])).encode("utf-8", "replace"))
    payload = within(view, size - frame)
    return plain if payload is None else _explorer(plain, payload)


def _explorer(plain: str, payload: Payload) -> str:
    data = payload.to_json()
    name = f"nbprof-{sha256(data.encode()).hexdigest()[:12]}"
    load = f'load("{name}",JSON.parse({_literal(data)}),"{packed()}");'
    return (
        f'<div data-nbprof="{name}">{plain}</div>\n<style>{style()}</style>\n'
        f'<script type="module">\n{script(LOADER)}{load}\n</script>'
    )


def _literal(data: str) -> str:
    """Write JSON as a text of JavaScript, which browsers read faster than an object."""
    escaped = data.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def write_view(view: "View", file: BinaryIO) -> None:
    """Write a file with all rows of this view, and of the others of its profile."""
    _write(view, whole(view, all_views(view)), file)


def write_profile(profile: "Profile", file: BinaryIO) -> None:
    """Write a file with all views and columns of a profile."""
    brought = {name for column in COLUMNS.values() for name in column.brings}
    columns = tuple(name for name in COLUMNS if name not in {*NOT_IN_FILES, *brought})
    view = profile.view("op", ViewOptions(select=columns))
    _write(view, whole(view, all_views(view)), file)


def _write(view: "View", payload: Payload, file: BinaryIO) -> None:
    # The heading says what was profiled; the explorer need not.
    bare = Payload({**payload.described, "headline": ""}, payload.buffers)
    explorer = _explorer(html.report(replace(view, headline=""), PLAIN_ROWS), bare)
    text = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(view.headline)}</title><style>{FILE_STYLE}</style></head>\n"
        f"<body><main><h1>{_heading(view.headline)}</h1>\n{explorer}\n</main></body></html>\n"
    )
    file.write(text.encode("utf-8", "replace"))


def _heading(headline: str) -> str:
    """Make what was profiled bold, and the rest not."""
    what, dot, rest = headline.partition(" · ")
    return f"<b>{escape(what)}</b>{dot}{escape(rest)}"

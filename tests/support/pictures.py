"""Pictures that the browser tests take: all are kept in build/pictures, some are in the docs.

A picture of the docs knows the words of the controls and headings that it shows. When a run sees
other words the picture is stale, and its test says so; `--update-golden` puts the new one there.
"""

import io
import json

from PIL import Image
from PIL.PngImagePlugin import PngInfo
from support.paths import TOP

TAKEN = TOP / "build" / "pictures"
SHOWN = TOP / "docs" / "images"
IN_DOCS = (
    "report.png",
    *("explorer-tree.png", "explorer-flame.png", "explorer-timeline.png", "explorer-python.png"),
)
COLOURS = 256
"""So many are enough for a table, and the file is a third as large."""
WORDS = """root => [...root.querySelectorAll('.nbx button, .nbx [role=columnheader]')]
  .filter(one => one.checkVisibility() && !one.closest('.nbx-crumbs'))
  .map(one => one.textContent)"""


def take(page, shown, name, update=False):
    """Photograph elements that stand below each other; in the docs they must look the same."""
    image = Image.open(io.BytesIO(page.screenshot(clip=_around(shown)))).convert("RGB")
    words = [word for one in shown for word in one.evaluate(WORDS)]
    about = PngInfo()
    about.add_text("words", json.dumps(words))
    TAKEN.mkdir(parents=True, exist_ok=True)
    for folder in [TAKEN, SHOWN] if update and name in IN_DOCS else [TAKEN]:
        image.quantize(COLOURS).save(folder / name, optimize=True, pnginfo=about)
    if name in IN_DOCS:
        assert words_of(SHOWN / name) == words, (
            f"docs/images/{name} is stale: make test ARGS="
            "'-k jupyter --update-golden' takes it anew"
        )


def _around(shown):
    """Give the rectangle around elements, brought into sight."""
    for one in reversed(shown):
        one.scroll_into_view_if_needed()
    boxes = [one.bounding_box() for one in shown]
    x, y = (min(box[side] for box in boxes) for side in "xy")
    return {
        **{"x": x, "y": y},
        "width": max(box["x"] + box["width"] for box in boxes) - x,
        "height": max(box["y"] + box["height"] for box in boxes) - y,
    }


def words_of(picture):
    """List the words of the controls that a picture shows."""
    with Image.open(picture) as image:
        return json.loads(image.text.get("words", "null"))

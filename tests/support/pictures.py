"""Screenshots that the browser tests take: all go to build/pictures, some are in the docs.

A picture in the docs stores the words of the controls and headings it shows. If a run sees other
words, the picture is stale and its test fails; `--update-golden` replaces the picture.
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
    *("explorer-sunburst.png", "explorer-source.png"),
)
COLOURS = 256
"""Size of the palette: enough for a table, and the file is a third as large."""
WORDS = """root => [...root.querySelectorAll('.nbx button, .nbx [role=columnheader]')]
  .filter(e => e.checkVisibility() && !e.closest('.nbx-crumbs'))
  .map(e => e.textContent)"""


def take(page, shown, name, update=False):
    """Take a picture of adjacent elements; one in the docs must show the same words."""
    image = Image.open(io.BytesIO(page.screenshot(clip=_around(shown)))).convert("RGB")
    words = [word for element in shown for word in element.evaluate(WORDS)]
    about = PngInfo()
    about.add_text("words", json.dumps(words))
    TAKEN.mkdir(parents=True, exist_ok=True)
    for folder in [TAKEN, SHOWN] if update and name in IN_DOCS else [TAKEN]:
        image.quantize(COLOURS).save(folder / name, optimize=True, pnginfo=about)
    if name in IN_DOCS:
        assert words_of(SHOWN / name) == words, (
            f"docs/images/{name} is stale; "
            "make test ARGS='-k \"jupyter or picture\" --update-golden' replaces it"
        )


def _around(shown):
    """Scroll elements into sight and return the rectangle around them."""
    for element in reversed(shown):
        element.scroll_into_view_if_needed()
    boxes = [element.bounding_box() for element in shown]
    x, y = (min(box[side] for box in boxes) for side in "xy")
    return {
        **{"x": x, "y": y},
        "width": max(box["x"] + box["width"] for box in boxes) - x,
        "height": max(box["y"] + box["height"] for box in boxes) - y,
    }


def words_of(picture):
    """Read the words that are stored in a picture."""
    with Image.open(picture) as image:
        return json.loads(image.text.get("words", "null"))

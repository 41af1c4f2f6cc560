"""Reports printed by tfprof, some restored from documents: `report("time_op")`."""

import html
import re

from support.paths import DATA

FOLDER = DATA / "printed"
NAMES = sorted(file.stem for file in FOLDER.iterdir())

TAGS = re.compile(r"</?(?:p|code)>")
STAR, UNDERSCORE = re.compile(r"(?<=\.)</?em>"), re.compile(r"</?em>")


def report(name):
    """Return a report as tfprof printed it."""
    (file,) = FOLDER.glob(f"{name}.*")
    text = file.read_text(encoding="utf-8")
    return {".txt": str, ".html": from_html, ".md": from_slide}[file.suffix](text)


def from_html(text):
    """Undo what Markdown did: emphasis from stars and underscores, entities, tags."""
    text = UNDERSCORE.sub("_", STAR.sub("*", TAGS.sub("", text)))
    return html.unescape(text)


def from_slide(text):
    """Undo the table of a slide: cells between bars, long rows broken in two."""
    head, rows = text.split("Profile:")
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in rows.splitlines()
        if line.startswith("| ")
    ]
    legend = " | ".join(cells[0]).replace("run defined", "run|defined")
    pairs = zip(cells[1::2], cells[2::2], strict=True)
    lines = [op_row(first[0], " ".join((*first[1:], *second))) for first, second in pairs]
    return "\n".join([head + "Profile:", legend, *lines]) + "\n"


def op_row(name, cells):
    """Write a row of the op view with the spaces that tfprof printed."""
    *shared, counts = re.split(r",(?! ?[0-9.]+%\))", " ".join(cells.split()))
    padded = [cell.strip().rjust(30) for cell in shared]
    return name.ljust(25) + ", ".join([*padded, "|".join(counts.split()).rjust(10)])


def table(text):
    """Return the part of a report after `Profile:`, from the legend on."""
    return text.partition("Profile:\n")[2]

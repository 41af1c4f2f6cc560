"""Write the tables of environments and of differences into docs/compatibility.md."""

import re

from differences import DIFFERENCES
from venvs import TOP

PAGE = TOP / "docs" / "compatibility.md"
PLACE = re.compile(r"(<!-- make matrix -->\n).*?(\n<!-- end -->)", re.DOTALL)
DIFFERENCES_PLACE = re.compile(r"(<!-- differences -->\n).*?(\n<!-- end -->)", re.DOTALL)


def write_table(table):
    """Put the table of environments between its marks on the page."""
    _write(PLACE, table)


def write_differences():
    """Put the table of differences between its marks on the page."""
    _write(DIFFERENCES_PLACE, differences_table())


def differences_table():
    """Return what is declared to differ, in Markdown."""
    rows = [("where", "what differs", "why"), ("---",) * 3]
    rows += [(each.where, each.what, each.why) for each in DIFFERENCES]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


def _write(place, table):
    text = PAGE.read_text(encoding="utf-8")
    filled = place.sub(lambda found: f"{found[1]}\n{table}\n{found[2]}", text)
    PAGE.write_text(filled, encoding="utf-8")


def differences_on_page():
    """Return the table of differences as the page has it."""
    return DIFFERENCES_PLACE.search(PAGE.read_text(encoding="utf-8"))[0].strip()


def environments_on_page():
    """Return the names in the first column of the table."""
    place = PLACE.search(PAGE.read_text(encoding="utf-8"))
    return re.findall(r"^\| (\w+)", place[0], re.MULTILINE)[1:]

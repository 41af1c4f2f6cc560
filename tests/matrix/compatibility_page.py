"""Write the table of environments into docs/compatibility.md."""

import re

from venvs import TOP

PAGE = TOP / "docs" / "compatibility.md"
PLACE = re.compile(r"(<!-- make matrix -->\n).*?(\n<!-- end -->)", re.DOTALL)


def write_table(table):
    """Put the table between the marks of the page."""
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(PLACE.sub(rf"\1\n{table}\n\2", text), encoding="utf-8")


def environments_on_page():
    """Return the names in the first column of the table."""
    place = PLACE.search(PAGE.read_text(encoding="utf-8"))
    return re.findall(r"^\| (\w+)", place[0], re.MULTILINE)[1:]

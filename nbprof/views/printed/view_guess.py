"""Which view a printed report shows, judging by the text above it or else by its rows."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nbprof.view_kinds import VIEWS

if TYPE_CHECKING:
    from nbprof.views.printed.legend import Heading

PROMPT = "tfprof>"
"""Beginning of a line that was typed into tfprof."""
_LINE_OF_CODE = re.compile(r":[0-9]{1,9}:")


def named_above(lines: Sequence[str]) -> str | None:
    """Return the view's name from the nearest Doc block or line at tfprof's prompt."""
    for place in range(len(lines) - 1, -1, -1):
        line = lines[place].strip()
        if line.startswith(PROMPT):
            words = line.removeprefix(PROMPT).split()
            if words and words[0] in VIEWS:
                return words[0]
        if line == "Doc:":
            below = (text.partition(":")[0].strip() for text in lines[place + 1 :] if text.strip())
            first = next(below, "")
            return first if first in VIEWS else None
    return None


def guess_tree_view(
    headings: "Sequence[Heading]", rows: Sequence[dict[str, Any]], legend: str
) -> str:
    """Guess which of tfprof's tree views the rows are from."""
    if _is_code(headings, rows, legend):
        return "code"
    return "graph" if is_graph(rows) else "scope"


def is_graph(rows: Sequence[dict[str, Any]]) -> bool:
    """Return whether a tree is a graph view; tfprof's Doc block calls that `scope`, too."""
    root_type = rows[0].get("op_types")
    if root_type in ("_TFGraphParent", "_kTFScopeParent"):
        return bool(root_type == "_TFGraphParent")
    return not all(
        row["name"].startswith(f"{rows[row['parent']]['name']}/")
        for row in rows
        if row["depth"] > 1
    )


def _is_code(headings: "Sequence[Heading]", rows: Sequence[dict[str, Any]], legend: str) -> bool:
    if not all(row.get("counted", True) for row in rows) or "op occurrence (run|defined)" in legend:
        return True
    if "op count" in legend:
        return False
    leads = [heading.column.leads_trees for heading in headings]
    if True in leads and False in leads[: leads.index(True)]:
        return True
    names = [row["name"] for row in rows[1:]]
    return bool(names) and all(_LINE_OF_CODE.search(name) for name in names)

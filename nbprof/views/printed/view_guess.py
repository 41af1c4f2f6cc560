"""Which view a printed report is of: what is written above it, else what its rows look like."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbprof.views.printed.legend import Heading

VIEWS = ("op", "scope", "graph", "code", "layer")
PROMPT = "tfprof>"
_LINE_OF_CODE = re.compile(r":[0-9]{1,9}:")


def named_above(lines: Sequence[str]) -> str | None:
    """Find the view's name in the Doc block or behind tfprof's prompt, the nearest one."""
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


def guessed(headings: "Sequence[Heading]", rows: Sequence[dict[str, Any]], legend: str) -> str:
    """Tell the view of a tree by its rows."""
    if _is_code(headings, rows, legend):
        return "code"
    return "graph" if is_graph(rows) else "scope"


def is_graph(rows: Sequence[dict[str, Any]]) -> bool:
    """Tell whether a tree is that of the graph view, for whose Doc block tfprof says `scope`."""
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

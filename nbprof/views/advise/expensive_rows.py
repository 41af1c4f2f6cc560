"""Where the time goes: tfprof's ExpensiveOperationChecker."""

from typing import TYPE_CHECKING, Any

import pandas as pd

from nbprof.errors import NbprofError
from nbprof.options import ViewOptions
from nbprof.units import format_micros
from nbprof.views import code, op, scope
from nbprof.views.advise.check_result import Advice

if TYPE_CHECKING:
    from nbprof._profile import Profile

LISTED = 3
"""The number of rows named at each level, as in tfprof."""
SCOPE_MICROS = 100
"""Shortest scope that is named, as in tfprof, in µs."""
LINE_MICROS = 1000
"""Shortest line that is named, as in tfprof, in µs."""
LINE_DEPTH = 3
"""Number of levels below the first branch whose lines are named, as in tfprof."""
DOMINANT_PERCENT = 50
"""Smallest share of a cell's op time that is worth naming: more than all other op types."""
DOMINANT_WALL_PERCENT = 20
"""Smallest share of a cell's wall time that is worth naming: below it, other advice matters."""


def _options(max_depth: int, min_micros: int) -> ViewOptions:
    """Return the options of tfprof's checker: longest first, averaged over the steps."""
    return ViewOptions.parse(
        {
            "max_depth": max_depth,
            "min_micros": min_micros,
            "order_by": "micros",
            "select": ["micros"],
        }
    )


def expensive_op_types(profile: "Profile") -> list[Advice]:
    """Name the op types that take the most time; in a cell, only a dominant one."""
    if not len(profile.events):
        return []
    rows = op.view(profile, _options(LISTED, 1)).frame.head(LISTED)
    if not profile.recording.tfprof:
        rows = _dominant(rows, profile.recording.wall_ns / 1e3)
    if not len(rows):
        return []
    texts = [
        f"{row['name']} takes {row['micros_percent']:.2f}% of the op time, {_times(row)}"
        for row in rows.to_dict("records")
    ]
    message = f"{'; '.join(texts)}. Work on these first; the op view with input_shapes shows more."
    return [Advice("expensive op types", "info", message, tuple(rows["name"]))]


def _dominant(rows: pd.DataFrame, wall_micros: float) -> pd.DataFrame:
    of_ops = rows["micros_percent"] >= DOMINANT_PERCENT
    of_wall = rows["micros"] >= DOMINANT_WALL_PERCENT * wall_micros / 100
    return rows[of_ops & of_wall]


def _times(row: dict[Any, Any], kind: str = "") -> str:
    total, cpu, accelerator = (
        format_micros(row[f"{kind}{name}"])
        for name in ("micros", "cpu_micros", "accelerator_micros")
    )
    return f"{total} (cpu {cpu}, accelerator {accelerator})"


def expensive_scopes(profile: "Profile") -> list[Advice]:
    """Name the longest outermost scopes of tfprof's inputs, with everything below them."""
    if not profile.recording.tfprof:
        return []
    frame = scope.view(profile, _options(100, SCOPE_MICROS)).frame
    rows = frame[frame["parent"] == 0].head(LISTED)
    if not len(rows):
        return []
    texts = [
        f"{row['name']} takes {_times(row)} itself, {format_micros(row['total_micros'])} with "
        "everything below it"
        for row in rows.to_dict("records")
    ]
    message = f"{'; '.join(texts)}. The scope view leads further down."
    return [Advice("expensive scopes", "info", message, tuple(rows["name"]))]


def expensive_lines(profile: "Profile") -> list[Advice]:
    """Name the Python lines of tfprof's inputs that take the time, with what they call."""
    if not profile.recording.tfprof or not profile.has_stacks:
        return []
    try:
        frame = code.view(profile, _options(100, 1)).frame
    except NbprofError:  # only gradients have stacks
        return []
    rows = _branches(frame)
    if not rows:
        return []
    texts = [f"{row['name']} takes {_times(row, 'total_')}" for row in rows]
    message = f"{'; '.join(texts)}. The code view leads to the lines they call."
    return [Advice("expensive lines", "info", message, tuple(row["name"] for row in rows))]


def _branches(frame: pd.DataFrame) -> list[dict[Any, Any]]:
    """Descend to where the tree of lines first branches, and collect the long lines from there."""
    children: dict[int, list[int]] = {}
    for row, parent in enumerate(frame["parent"].tolist()):
        children.setdefault(parent, []).append(row)
    top = 0
    while len(children.get(top, ())) == 1:
        top = children[top][0]
    records = frame.to_dict("records")
    found: list[dict[Any, Any]] = []

    def descend(row: int, depth: int) -> None:
        below = children.get(row, [])
        if len(below) <= 1 or depth > LINE_DEPTH:
            return
        for child in below[:LISTED]:
            if records[child]["total_micros"] >= LINE_MICROS:
                found.append(records[child])
                descend(child, depth + 1)

    descend(top, 0)
    return found

"""Where the time goes: tfprof's ExpensiveOperationChecker."""

from typing import TYPE_CHECKING, Any

import pandas as pd

from nbprof.errors import NbprofError
from nbprof.options import ViewOptions
from nbprof.units import format_micros
from nbprof.views import code, op, scope
from nbprof.views.advise.advice import Advice
from nbprof.views.advise.thresholds import threshold

if TYPE_CHECKING:
    from nbprof._profile import Profile

LISTED = int(threshold("listed"))


def _options(max_depth: int, min_micros: int) -> ViewOptions:
    """Ask as tfprof's checker does: the longest first, averaged over the steps."""
    return ViewOptions.parse(
        {
            "max_depth": max_depth,
            "min_micros": min_micros,
            "order_by": "micros",
            "select": ["micros"],
        }
    )


def expensive_op_types(profile: "Profile") -> list[Advice]:
    """Name the op types that take most of the time; in a cell, only one that dominates."""
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
    message = f"{'; '.join(texts)}. Work on these first: the op view with input_shapes says more."
    return [Advice("expensive op types", "info", message, tuple(rows["name"]))]


def _dominant(rows: pd.DataFrame, wall: float) -> pd.DataFrame:
    of_ops = rows["micros_percent"] >= threshold("dominant_percent")
    of_wall = rows["micros"] >= threshold("dominant_wall_percent") * wall / 100
    return rows[of_ops & of_wall]


def _times(row: dict[Any, Any], kind: str = "") -> str:
    total, cpu, accelerator = (
        format_micros(row[f"{kind}{name}"])
        for name in ("micros", "cpu_micros", "accelerator_micros")
    )
    return f"{total} (cpu {cpu}, accelerator {accelerator})"


def expensive_scopes(profile: "Profile") -> list[Advice]:
    """Name the longest of the outermost scopes, of tfprof's inputs, with what is below them."""
    if not profile.recording.tfprof:
        return []
    least = int(threshold("scope_micros"))
    frame = scope.view(profile, _options(100, least)).frame
    rows = frame[frame["parent"] == 0].head(LISTED)
    if not len(rows):
        return []
    texts = [
        f"{row['name']} takes {_times(row)} itself, {format_micros(row['total_micros'])} with all "
        "below it"
        for row in rows.to_dict("records")
    ]
    message = f"{'; '.join(texts)}. The scope view leads further down."
    return [Advice("expensive scopes", "info", message, tuple(rows["name"]))]


def expensive_lines(profile: "Profile") -> list[Advice]:
    """Name the lines of Python that take the time of tfprof's inputs, with what they call."""
    if not profile.recording.tfprof or not profile.has_stacks:
        return []
    try:
        frame = code.view(profile, _options(100, 1)).frame
    except NbprofError:  # stacks of gradients only are no tree
        return []
    rows = _branches(frame)
    if not rows:
        return []
    texts = [f"{row['name']} takes {_times(row, 'total_')}" for row in rows]
    message = f"{'; '.join(texts)}. The code view leads to the lines they call."
    return [Advice("expensive lines", "info", message, tuple(row["name"] for row in rows))]


def _branches(frame: pd.DataFrame) -> list[dict[Any, Any]]:
    """Go down to where the tree of lines branches first, and take the long ones from there."""
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
        if len(below) <= 1 or depth > threshold("line_depth"):
            return
        for child in below[:LISTED]:
            if records[child]["total_micros"] >= threshold("line_micros"):
                found.append(records[child])
                descend(child, depth + 1)

    descend(top, 0)
    return found

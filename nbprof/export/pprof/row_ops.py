"""Which ops stand behind which shown row of a code view."""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from nbprof.export.pprof.pprof_tables import Line

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.views.view import Lines, Origin, View


def origin_of(view: "View") -> "tuple[Origin, Lines]":
    """Give what the view was made of."""
    assert view.origin is not None
    assert view.origin.lines is not None
    return view.origin, view.origin.lines


def shown_lines(view: "View") -> list[Line]:
    """Give the line of each row of the frame; of the root, none that means anything."""
    origin, lines = origin_of(view)
    columns = (lines.frames[name].tolist() for name in ("file", "line", "function"))
    known = [
        Line(*line) for line in zip(*columns, lines.frames["function_line"].tolist(), strict=True)
    ]
    return [Line("", 0, ""), *(known[row] for row in origin.rows[1:].tolist())]


def nearest_shown(origin: "Origin") -> npt.NDArray[np.intp]:
    """Give for each row of the whole tree the row of the frame that is it or next above; 0: none.

    A row stands before those below it, so the last to claim a row is the nearest.
    """
    nearest = np.zeros(len(origin.end), dtype=np.intp)
    for row, place in sorted(
        zip(origin.rows[1:].tolist(), range(1, len(origin.rows)), strict=True)
    ):
        nearest[row : origin.end[row]] = place
    return nearest


def ops_by_row(
    profile: "Profile", origin: "Origin", counts: npt.NDArray[np.bool_]
) -> dict[int, list[int]]:
    """List for each shown row the ops behind it, of those rows of the tree that count.

    They come in the order of the tree, those of one line by name.
    """
    nearest = nearest_shown(origin)
    names = profile.nodes["name"].tolist()
    listed: dict[int, list[int]] = {}
    node, row = origin.node.tolist(), origin.row.tolist()
    for op in sorted(range(len(node)), key=lambda op: (row[op], names[node[op]])):
        if row[op] >= 0 and counts[row[op]] and nearest[row[op]]:
            listed.setdefault(int(nearest[row[op]]), []).append(op)
    return listed

"""The shown rows of a code view: the line of each, and the ops behind it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import Rows
from nbprof.export.pprof.pprof_tables import Line

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.arrays import Floats, Mask, Rows
    from nbprof.views.view import Lines, Origin, View


@dataclass(frozen=True, eq=False)
class CodeRows:
    """A code view made for pprof, with the ops behind its rows."""

    profile: "Profile"
    metric: str
    """The one selected metric."""
    lines: list[Line]
    """Line of each shown row; the root's is empty."""
    parents: list[int]
    """Parent row of each shown row."""
    origin: "Origin"
    _made_of: "Lines"

    @classmethod
    def of(cls, view: "View") -> "CodeRows":
        """Collect the rows of a view that was made with `output="pprof"`."""
        assert view.profile is not None
        assert view.origin is not None
        assert view.origin.lines is not None
        (metric,) = view.options.columns
        return cls(
            profile=view.profile,
            metric=metric,
            lines=_shown_lines(view.origin, view.origin.lines),
            parents=view.frame["parent"].tolist(),
            origin=view.origin,
            _made_of=view.origin.lines,
        )

    def values(self, metric: str) -> "Floats":
        """Return what each op costs in a metric; NaN where that is unknown."""
        return self._made_of.metrics[metric]

    def op_names(self) -> list[str]:
        """Return the node name of each op."""
        names = self.profile.nodes["name"].tolist()
        return [names[node] for node in self.origin.node.tolist()]

    def ops_by_row(self, counts: "Mask") -> dict[int, list[int]]:
        """Return the ops behind each shown row, only from the tree's rows that `counts` marks.

        Ops come in tree order; those of one line are sorted by name.
        """
        nearest = _nearest_shown(self.origin)
        names, row = self.op_names(), self.origin.row.tolist()
        found: dict[int, list[int]] = {}
        for op in sorted(range(len(names)), key=lambda op: (row[op], names[op])):
            if row[op] >= 0 and counts[row[op]] and nearest[row[op]]:
                found.setdefault(int(nearest[row[op]]), []).append(op)
        return found


def _shown_lines(origin: "Origin", lines: "Lines") -> list[Line]:
    columns = ("file", "line", "function", "function_line")
    known = [
        Line(*line) for line in zip(*(lines.frames[name].tolist() for name in columns), strict=True)
    ]
    return [Line("", 0, ""), *(known[row] for row in origin.rows[1:].tolist())]


def _nearest_shown(origin: "Origin") -> "Rows":
    """Return for each row of the whole tree its nearest shown row: itself or an ancestor.

    0, the root, stands for none. Rows precede their descendants, so the last shown row to claim
    another is its nearest.
    """
    nearest: Rows = np.zeros(len(origin.end), dtype=np.intp)
    for row, place in sorted(
        zip(origin.rows[1:].tolist(), range(1, len(origin.rows)), strict=True)
    ):
        nearest[row : origin.end[row]] = place
    return nearest

"""The line view: source lines with hits and times, and the ops that they ran."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import NONE, Ints
from nbprof.views import tree
from nbprof.views.accounting import weights
from nbprof.views.line_rows import LineRows, Place, line_rows
from nbprof.views.measure import Metrics, add_up, measure, members_by, weighted
from nbprof.views.row_labels import Labels
from nbprof.views.rows_without_ops import RULES
from nbprof.views.tree_nesting import Nesting
from nbprof.views.view import RowLines

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.options import ViewOptions
    from nbprof.views.view import View


def view(profile: "Profile", options: "ViewOptions") -> "View":
    """List the watched lines, and those that ran ops."""
    return tree.view("line", _line_tree(profile, options), profile, options)


def _line_tree(profile: "Profile", options: "ViewOptions") -> tree.Tree:
    place_of_stack = _places_of_stacks(profile)
    has_nowhere = _lacks_lines(profile, place_of_stack)
    rows = line_rows(profile.lines, [*place_of_stack.values()], has_nowhere)
    metrics, labels = _ops(profile, options, rows, place_of_stack)
    own, totals = _python_metrics(rows)
    return tree.Tree(
        names=np.array([row.name for row in rows.rows], dtype=object),
        nesting=Nesting.of_levels(rows.numbers("level").astype(np.intp)),
        metrics={**metrics, **own},
        accounted=np.ones(len(rows.rows), dtype=bool),
        labels=labels,
        texts={"source": [row.source for row in rows.rows]},
        rules=replace(RULES, named_in_order=True),
        row_lines=_lines_of(rows),
        stated=_stated(profile, totals),
    )


def _lines_of(rows: LineRows) -> RowLines:
    """Return the line of each row; files, called functions and the root have none."""
    file = np.full(len(rows.rows) + 1, "", dtype=object)
    number = np.zeros(len(rows.rows) + 1, dtype=np.int64)
    for (name, line), row in rows.row_of.items():
        if line:
            file[row], number[row] = name, line
    return RowLines(file, number)


def _places_of_stacks(profile: "Profile") -> dict[int, Place]:
    """Return the innermost of the user's lines of each stack that ran an op."""
    stacks = np.unique(profile.costs["stack"].to_numpy(np.int64))
    frames = profile.frames[~profile.frames["framework"].astype(bool)]
    frames = frames[frames["stack"].isin(stacks)].drop_duplicates("stack", keep="last")
    columns = frames[["stack", "file", "line"]].itertuples(index=False, name=None)
    return {int(stack): (file, int(line)) for stack, file, line in columns}


def _lacks_lines(profile: "Profile", place_of_stack: dict[int, Place]) -> bool:
    """Return whether some node ran from no known line, or never."""
    known = np.isin(profile.costs["stack"].to_numpy(np.int64), [*place_of_stack])
    ran = np.unique(profile.costs["node"].to_numpy())
    return not known.all() or len(ran) < len(profile.nodes)


def _ops(
    profile: "Profile",
    options: "ViewOptions",
    rows: LineRows,
    place_of_stack: dict[int, Place],
) -> tuple[Metrics, Labels]:
    """Return what the ops of each row cost, and their labels."""
    nowhere = rows.row_of.get(("", 0), NONE)
    row_of_event = _rows_of(profile, rows, place_of_stack, nowhere)
    idle = np.full(len(profile.nodes), nowhere, dtype=np.int64)
    members, row = members_by(profile, row_of_event, idle)
    weight = weights(profile, options.account_type_regexes)[members.node]
    metrics = measure(profile, options.step, members, options.uses)
    counted = np.where(weight > 0, row, tree.NO_ROW)
    labels = Labels(profile, options.step, members, counted, are_nodes=False)
    return add_up(weighted(metrics, weight), row, len(rows.rows)), labels


def _rows_of(
    profile: "Profile", rows: LineRows, place_of_stack: dict[int, Place], nowhere: int
) -> Ints:
    """Return the row of each event."""
    stacks, which = np.unique(profile.costs["stack"].to_numpy(np.int64), return_inverse=True)
    found = [
        rows.row_of[place_of_stack[stack]] if stack in place_of_stack else nowhere
        for stack in stacks.tolist()
    ]
    return np.array(found, dtype=np.int64)[which]


def _python_metrics(rows: LineRows) -> tuple[Metrics, Metrics]:
    """Return hits and times, what is each row's own, and its totals."""
    hits, per_hit = rows.numbers("hits"), rows.numbers("hit_micros")
    is_file = rows.numbers("level") == 0
    own = {
        "hits": np.where(is_file & ~np.isnan(hits), 0.0, hits),
        "hit_micros": per_hit,
        "wall_micros": rows.numbers("own_ns") / 1e3,
    }
    totals = {"hits": hits, "hit_micros": per_hit, "wall_micros": rows.numbers("total_ns") / 1e3}
    return own, totals


def _stated(profile: "Profile", totals: Metrics) -> tree.Stated:
    """State the totals, with the time outside of watched lines as the root's own."""
    wall_ns = profile.recording.wall_ns
    lines = profile.lines[profile.lines["called"] == ""]
    outside = max(wall_ns - float(lines["self_ns"].sum()), 0.0)
    return tree.Stated(
        totals=totals,
        root_own={"wall_micros": outside / 1e3, "hits": 0.0},
        root={
            "wall_micros": wall_ns / 1e3,
            "hits": float(lines["hits"].sum()),
            "hit_micros": np.nan,
        },
    )

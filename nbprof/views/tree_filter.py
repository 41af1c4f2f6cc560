"""Which rows of a tree show: tfprof's regular expressions, `-max_depth` and minimums."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import Floats, Mask, Rows
from nbprof.columns import ROOT
from nbprof.options import EVERYTHING
from nbprof.views.accounting import matches

if TYPE_CHECKING:
    from nbprof.options import ViewOptions
    from nbprof.views.tree_sums import SummedRows


@dataclass(frozen=True)
class Rules:
    """How tfprof's tree views differ."""

    minimum_of_own: tuple[str, ...] = ("params", "float_ops")
    """Columns whose minimum is compared with a row's own number, not its total."""
    counts_runs: bool = True
    """Whether `-min_occurrence` is compared with a row's runs; otherwise it has no effect."""
    trims_the_row: bool = False
    """Whether a trimmed row disappears with everything below it; otherwise it stays as a leaf."""
    can_account_displayed: bool = True
    """Whether `-account_displayed_op_only` has an effect."""
    root_type: str = "_kTFScopeParent"
    """The op type that tfprof prints for the root."""
    orders_by_own: bool = False
    """Whether rows are sorted by what is their own, unless the total is asked for by its name."""
    named_in_order: bool = False
    """Whether the rows of the tree are already in the order of what they are named after."""


def shown_rows(rows: "SummedRows", rules: Rules, options: "ViewOptions") -> Rows:
    """Return the rows that pass every filter."""
    started, first_level = _from_start(rows, options.start_name_regexes)
    depth = rows.nesting.level - first_level + 2  # the root is 1
    shown = started & (depth <= options.max_depth)
    shown &= matches(rows.names, options.show_name_regexes)
    if options.trim_name_regexes:
        shown &= ~_trimmed(rows, started, options.trim_name_regexes, rules.trims_the_row)
    if options.hide_name_regexes:
        shown &= ~matches(rows.names, options.hide_name_regexes)
    for name, minimum in options.minimum.items():
        tested = _compared_with_minimum(rows, rules, name)
        if tested is not None:
            shown &= ~(tested < minimum)  # an unknown value does not hide a row
    return np.flatnonzero(shown)


def _compared_with_minimum(rows: "SummedRows", rules: Rules, name: str) -> Floats | None:
    if name == "occurrence":
        return rows.own["run_count"] if rules.counts_runs else None
    numbers = rows.own if name in rules.minimum_of_own else rows.totals
    return numbers.get(name)  # a column that this view lacks hides nothing


def _from_start(rows: "SummedRows", patterns: tuple[str, ...]) -> tuple[Mask, Rows]:
    """Mark the rows at or below an outermost match, and return the level of that match."""
    count = len(rows.names)
    if patterns == EVERYTHING:
        return np.ones(count, dtype=bool), np.zeros(count, dtype=np.intp)
    matching = np.flatnonzero(matches(rows.names, patterns))
    outermost = matching[rows.nesting.count_around(matching)[matching] == 0]
    last_start = np.zeros(count, dtype=np.intp)
    last_start[outermost] = outermost
    started: Mask = rows.nesting.count_around(outermost, or_at=True) > 0
    return started, rows.nesting.level[np.maximum.accumulate(last_start)]


def _trimmed(
    rows: "SummedRows", started: Mask, patterns: tuple[str, ...], trims_the_row: bool
) -> Mask:
    """Mark the rows below a match from the start on; with `trims_the_row` the match, too."""
    if matches([ROOT], patterns)[0]:
        return np.ones(len(rows.names), dtype=bool)
    matching = np.flatnonzero(started & matches(rows.names, patterns))
    trimmed: Mask = rows.nesting.count_around(matching, or_at=trims_the_row) > 0
    return trimmed

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nbprof.arrays import NONE
from nbprof.ingest.trace.work.nesting import Nesting, sort_order

interval = st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(0, 20))


def sorted_intervals(intervals):
    line, start, duration = np.array(intervals, dtype=np.int64).reshape(-1, 3).T
    order = sort_order(line.astype(np.int32), start, duration)
    return line[order].astype(np.int32), start[order], start[order] + duration[order]


def last_open_before(row, line, start, end):
    candidates = [
        other for other in range(row) if line[other] == line[row] and end[other] > start[row]
    ]
    return candidates[-1] if candidates else NONE


@given(st.lists(interval, max_size=40))
def test_an_event_runs_inside_the_last_started_event_that_is_still_open(intervals):
    line, start, end = sorted_intervals(intervals)

    found = Nesting(line, start, end).parent

    expected = [last_open_before(row, line, start, end) for row in range(len(line))]
    assert found.tolist() == expected


@given(st.lists(interval, max_size=40), st.integers(0, 2**40 - 1))
def test_the_nearest_marked_ancestor_is_the_one_that_climbing_finds(intervals, marks):
    nesting = Nesting(*sorted_intervals(intervals))
    marked = np.array([bool(marks >> row & 1) for row in range(len(intervals))], dtype=bool)

    found = nesting.nearest(marked)

    for row, above in enumerate(nesting.parent):
        while above != NONE and not marked[above]:
            above = nesting.parent[above]
        assert found[row] == above


@given(st.lists(interval, min_size=1, max_size=40), st.integers(0, 50))
def test_the_event_open_at_a_moment_is_the_innermost(intervals, time):
    line, start, end = sorted_intervals(intervals)
    begun = [row for row in range(len(line)) if start[row] <= time and line[row] == line[0]]
    if not begun:
        return

    found = Nesting(line, start, end).open_at(
        np.array(begun[-1:]), line[:1], np.array([time], dtype=np.int64)
    )

    assert found.tolist() == [max((row for row in begun if end[row] > time), default=NONE)]


def test_an_event_that_slightly_outlasts_its_predecessor_keeps_its_own_children():
    line, start, end = sorted_intervals([(0, 0, 10), (0, 9, 11), (0, 12, 2)])

    assert Nesting(line, start, end).parent.tolist() == [NONE, 0, 1]


def test_events_after_thousands_of_nested_ones_have_no_parent():
    deep, after = 20_000, 20_000
    nested = [(0, row, 2 * deep - row) for row in range(deep)]
    pairs = [(0, 2 * deep + 4 * row + inner, 3 - inner) for row in range(after) for inner in (0, 1)]
    line, start, end = sorted_intervals(nested + pairs)

    parent = Nesting(line, start, end).parent

    assert parent[:deep].tolist() == [NONE, *range(deep - 1)]
    assert set(parent[deep::2].tolist()) == {NONE}
    assert (parent[deep + 1 :: 2] == np.arange(deep, deep + 2 * after, 2)).all()

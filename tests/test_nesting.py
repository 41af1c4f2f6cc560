import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nbprof.ingest.nesting import NONE, nearest, parents, sort_order

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

    found = parents(line, start, end)

    expected = [last_open_before(row, line, start, end) for row in range(len(line))]
    assert found.tolist() == expected


@given(st.lists(interval, max_size=40), st.integers(0, 2**40 - 1))
def test_the_nearest_marked_ancestor_is_found_by_climbing(intervals, marks):
    line, start, end = sorted_intervals(intervals)
    parent = parents(line, start, end)
    marked = np.array([bool(marks >> row & 1) for row in range(len(line))], dtype=bool)

    found = nearest(parent, marked)

    for row in range(len(line)):
        above = parent[row]
        while above != NONE and not marked[above]:
            above = parent[above]
        assert found[row] == above


def test_an_event_that_slightly_outlasts_its_predecessor_keeps_its_own_children():
    line, start, end = sorted_intervals([(0, 0, 10), (0, 9, 11), (0, 12, 2)])

    assert parents(line, start, end).tolist() == [NONE, 0, 1]

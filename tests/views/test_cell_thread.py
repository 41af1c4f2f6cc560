"""How the time of the cell's thread is shared out between calls into TensorFlow and samples."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nbprof.views.cell_thread import (
    BEFORE,
    IN_CALL,
    SAMPLED,
    WATCHING,
    Moments,
    Windows,
    cut_into_stretches,
)

NAMES = {IN_CALL: "in", WATCHING: "watching", BEFORE: "before", SAMPLED: "sampled"}


def shared_out(calls=(), samples=(), wall=100):
    """Return the time of each (kind, call or stack); calls are (start, end[, watched until])."""
    found = {}
    for kind, call, stack, length in stretches(calls, samples, wall):
        key = (NAMES[kind], stack if kind == SAMPLED else call)
        found[key] = found.get(key, 0) + length
    return found


def stretches(calls, samples, wall):
    windows = [(start, end, row, False) for row, (start, end, *_) in enumerate(calls)]
    windows += [(end, until[0], row, True) for row, (_, end, *until) in enumerate(calls) if until]
    columns = list(zip(*windows, strict=True)) or [(), (), (), ()]
    start, end, call = (np.array(column, dtype=np.int64) for column in columns[:3])
    time, stack = (
        np.array([sample[part] for sample in samples], dtype=np.int64) for part in (0, 1)
    )
    cut = cut_into_stretches(
        Windows(start=start, end=end, call=call, is_watch=np.array(columns[3], dtype=bool)),
        Moments(time=time, stack=stack),
        wall,
    )
    return [*zip(cut.kind.tolist(), cut.call.tolist(), cut.stack.tolist(),
                 (cut.end - cut.start).tolist(), strict=True)]  # fmt: skip


def test_without_calls_each_sample_has_the_time_since_the_one_before():
    assert shared_out(samples=[(30, 7), (100, 8)]) == {("sampled", 7): 30, ("sampled", 8): 70}


def test_the_last_sample_has_the_rest_of_the_cell():
    assert shared_out(samples=[(30, 7), (60, 8)]) == {("sampled", 7): 30, ("sampled", 8): 70}


def test_a_call_has_the_time_it_was_open_whatever_samples_show():
    found = shared_out(calls=[(20, 50)], samples=[(30, 7), (40, 8), (100, 9)])

    assert found[("in", 0)] == 30
    assert ("sampled", 7) not in found


def test_a_gap_without_a_sample_is_the_python_that_makes_the_next_call():
    found = shared_out(calls=[(10, 20), (45, 50)], samples=[(100, 7)])

    assert found == {
        **{("before", 0): 10, ("in", 0): 10, ("before", 1): 25, ("in", 1): 5},
        ("sampled", 7): 50,
    }


def test_a_gap_with_samples_belongs_to_them_and_after_the_last_to_the_next_call():
    found = shared_out(calls=[(10, 20), (80, 90)], samples=[(40, 7), (70, 8), (100, 9)])

    assert (found[("sampled", 7)], found[("sampled", 8)], found[("before", 1)]) == (20, 30, 10)


def test_the_innermost_of_two_open_calls_has_the_time():
    found = shared_out(calls=[(0, 100), (30, 60)])

    assert found == {("in", 0): 70, ("in", 1): 30}


def test_watching_a_call_is_kept_apart_from_what_follows():
    found = shared_out(calls=[(0, 10, 16), (20, 30, 36)], samples=[(100, 7)])

    assert (found[("watching", 0)], found[("watching", 1)], found[("before", 1)]) == (6, 6, 4)


def test_what_happened_last_goes_on_until_the_end():
    assert shared_out(calls=[(0, 60)])[("before", 0)] == 40
    assert shared_out(calls=[(50, 60)], samples=[(40, 7)])[("before", 0)] == 10 + 40


def test_calls_are_cut_off_where_the_cell_begins_and_ends():
    assert shared_out(calls=[(-20, 30), (90, 150)], samples=[(60, 7)]) == {
        **{("in", 0): 30, ("sampled", 7): 30, ("before", 1): 30, ("in", 1): 10},
    }


TIMES = st.integers(0, 200)
CALLS = st.lists(st.tuples(TIMES, TIMES, TIMES).map(sorted).map(tuple), max_size=12)
PARTS = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9), st.integers(0, 9)), max_size=9)
SAMPLES = st.lists(st.tuples(TIMES, st.integers(0, 4)), max_size=12).map(
    lambda found: sorted({time: (time, stack) for time, stack in found}.values())
)


@settings(deadline=None)
@given(CALLS, SAMPLES, st.integers(1, 180))
def test_stretches_cover_the_wall_time_once(calls, samples, wall):
    lengths = [length for *_, length in stretches(calls, samples, wall)]

    assert sum(lengths) == wall
    assert all(length > 0 for length in lengths)


def one_after_the_other(parts):
    """Make calls of (time before, time in it, time of watching it), each around a shorter one."""
    now = 0
    for before, inside, watching in parts:
        begins, ends = now + before, now + before + inside
        yield begins, ends, ends + watching
        if inside > 2:
            yield begins + 1, ends - 1
        now = ends + watching


@settings(deadline=None)
@given(PARTS, SAMPLES, st.integers(1, 180), st.randoms(use_true_random=False))
def test_the_order_in_which_calls_are_listed_does_not_matter(parts, samples, wall, random):
    calls = list(one_after_the_other(parts))
    shuffled = random.sample(range(len(calls)), len(calls))

    before = shared_out(calls, samples, wall)
    after = shared_out([calls[row] for row in shuffled], samples, wall)

    assert before == {
        (kind, shuffled[number] if kind != "sampled" and number >= 0 else number): length
        for (kind, number), length in after.items()
    }


@settings(deadline=None)
@given(SAMPLES, st.integers(1, 180))
def test_every_stretch_without_a_call_has_a_sample_unless_there_are_none(samples, wall):
    kinds = [(kind, stack) for kind, _, stack, _ in stretches([], samples, wall)]

    assert all(stack >= 0 for _, stack in kinds) or not [time for time, _ in samples if time > 0]

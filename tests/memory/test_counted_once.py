"""Shared memory and shared objects count once."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nbprof.memory import counted_once
from nbprof.memory.counted_once import CountedObjects, CountedRanges


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=12))
def test_overlapping_ranges_count_once(ranges):
    counted = CountedRanges()

    total = sum(counted.add(start, size) for start, size in ranges)

    assert total == len({at for start, size in ranges for at in range(start, start + size)})


def test_objects_counted_before_are_left_out():
    texts = np.array([f"text {n}" for n in range(100)], dtype=object)
    counted = CountedObjects()

    first, _ = counted.add(texts[:60], lambda: False)
    assert not counted.met_known
    second, exact = counted.add(texts[40:], lambda: False)

    assert (first[str][0], second[str][0], exact) == (60, 40, True)
    assert counted.met_known


def test_when_time_is_up_a_sample_stands_for_all(monkeypatch):
    monkeypatch.setattr(counted_once, "SAMPLE_SIZE", 10)
    texts = np.array([f"text {n:03}" for n in range(100)], dtype=object)

    found, exact = CountedObjects().add(texts, lambda: True)

    assert not exact
    assert found == CountedObjects().add(texts, lambda: False)[0]

"""The steps in detail are named as ranges, cold ones apart."""

import pytest

from nbprof.step_ranges import name_ranges


def steps(count, in_detail, cold=0):
    return [(step, step < cold, step in in_detail) for step in range(count)]


@pytest.mark.parametrize(
    ("count", "in_detail", "cold", "text"),
    [
        (7480, range(62), 2, "steps 0-1 and 2-61"),
        (7480, range(62), 0, "steps 0-61"),
        (100, [0, 1], 1, "steps 0 and 1"),
        (100, [7], 1, "step 7"),
        (100, range(20, 40), 1, "steps 20-39"),
        (100, [], 1, "no steps"),
        (100, [0, 5, 6, 9], 0, "steps 0, 5-6 and 9"),
        (100, range(0, 20, 2), 0, "steps 0, 2, 4, 6 and 6 more ranges"),
    ],
)
def test_steps_in_detail_are_named(count, in_detail, cold, text):
    assert name_ranges(steps(count, in_detail, cold)) == text

"""How much a cell was slowed by being profiled, estimated from its steps."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from support import by_hand

from nbprof.capture.capture import Capture
from nbprof.ingest.trace.cell_time.slowdown import estimate_slowdown


def steps(function="train", **micros):
    """List steps by how they ran: `built` traced a function, `detailed`, or `bare`."""
    rows = [
        (function, float(each), how == "built", how != "bare")
        for how, times in micros.items()
        for each in times
    ]
    return pd.DataFrame(rows, columns=["function", "micros", "traced", "in_detail"])


def slowdown(table, wall_us=10_000, watched_us=0):
    capture = Capture(
        what="", how="", start_ns=0, wall_ns=wall_us * 1000, cost_ns=0, watched_ns=watched_us * 1000
    )
    return estimate_slowdown(capture, table)


def test_steps_in_detail_are_compared_with_bare_ones():
    # Ten steps took 400 µs longer each, 4 of 10 ms.
    found = slowdown(steps(built=[9000], detailed=[600] * 10, bare=[200] * 20))

    assert found.times == pytest.approx(10 / 6)
    assert not found.at_least


def test_medians_are_compared_so_that_one_slow_step_does_not_count():
    found = slowdown(steps(detailed=[250] * 9 + [5000], bare=[200] * 9 + [np.nan]))

    assert found.times == pytest.approx(10 / 9.5)


def test_functions_are_compared_with_themselves_only():
    table = pd.concat(
        [steps("train", detailed=[300] * 5, bare=[200] * 5), steps("test", detailed=[900] * 5)]
    )

    assert slowdown(table).times == pytest.approx(10 / 9.5)


def test_a_faster_step_in_detail_slows_nothing():
    assert slowdown(steps(detailed=[100] * 5, bare=[200] * 5)).times == 1


def test_without_bare_steps_watching_calls_is_a_lower_bound():
    found = slowdown(steps(detailed=[600] * 10), watched_us=2000)

    assert found.times == pytest.approx(10 / 8)
    assert found.at_least


@pytest.mark.parametrize("watched", [0, 50])
def test_what_is_not_known_is_not_told(watched):
    assert slowdown(steps(detailed=[600] * 10, bare=[1]), watched_us=watched).times == -1


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"slowdown": 1.24}, "cell slowed about 1.2 ×"),
        ({"slowdown": 1.016}, "cell slowed about 1.02 ×"),
        ({"slowdown": 1.5, "slowdown_is_least": True}, "cell slowed at least 1.5 ×"),
    ],
)
def test_the_headline_has_it_beside_what_was_added_around_the_cell(values, text):
    profile = by_hand.profile()
    recording = replace(profile.recording, cost_ns=2_000_000, **values)

    headline = profile.with_values(recording=recording).headline
    assert headline.endswith(f"profiling added 2 ms around it · {text}")


def test_the_headline_does_not_tell_what_is_not_known():
    assert "slowed" not in by_hand.profile().headline

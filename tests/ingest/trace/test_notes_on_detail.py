"""What is said of a cell that was traced in part: how much, and what to do about it."""

import pandas as pd
import pytest

from nbprof.capture.capture import Capture, TraceWindow, WhyBare
from nbprof.ingest.trace.step_table import notes_on_detail


def note(why, *, steps=1, in_detail=1):
    capture = Capture(
        windows=(TraceWindow(trace=b""),), what="", how="", start_ns=0, wall_ns=1_000_000_000,
        cost_ns=0, traced_ns=250_000_000, why_bare=why,
    )  # fmt: skip
    table = pd.DataFrame({"in_detail": [number < in_detail for number in range(steps)]})
    (text,) = notes_on_detail(capture, table)
    return text


def test_the_budget_is_lifted_by_asking_for_steps():
    assert note(WhyBare.BUDGET, steps=40, in_detail=10) == (
        "the tables cover 10 of 40 steps, 25% of the wall time; the rest ran "
        "bare: -steps N or -steps A:B traces other or more steps"
    )


@pytest.mark.parametrize("why", [WhyBare.BUDGET, WhyBare.LIMIT])
def test_without_steps_it_is_lifted_by_a_limit(why):
    assert note(why) == (
        "the tables cover 250 ms, 25% of the wall time; the rest ran bare: "
        "-limit SECONDS traces longer"
    )


@pytest.mark.parametrize(
    ("why", "end"),
    [
        (WhyBare.STEPS, "the rest ran bare, as -steps asks"),
        (WhyBare.LIMIT, "the rest ran bare: -limit SECONDS traces longer"),
        (WhyBare.OTHER, "the rest ran bare"),
    ],
)
def test_no_flag_is_recommended_that_would_not_help(why, end):
    assert note(why, steps=40, in_detail=10).endswith(end)

"""What the budget decides, by numbers alone; no TensorFlow is needed."""

import pytest

from nbprof.capture.budget import (
    BUDGET,
    CEILING,
    FIRST_LOOK,
    HUGE_GROWTH,
    LARGE_GROWTH,
    LONG_BETWEEN,
    WINDOW,
    Budget,
    Decision,
    Window,
)
from nbprof.errors import NbprofError
from nbprof.flag_values import StepRange, parse_steps

MOST_STEPS = 100_000


class Cell:
    """A cell whose steps take `seconds` and write `size` bytes; the first `cold` trace functions.

    `traced` lists the steps in detail, `windows` how many of them each window has.
    """

    def __init__(self, budget, *, steps, size, seconds=0.01, cold=1, grows=0):
        self.traced, self.windows, self.written = [], [], 0
        now, held = 0.0, 0
        window = Window(began=now, held=held) if budget.begins_at_once else None
        for step in range(steps):
            now, held = now + seconds, held + grows
            if window is not None:
                self.traced.append(step)
            decision = budget.after_step(window, now, held, built=step < cold)
            if decision is Decision.BEGIN:
                window = Window(began=now, held=held)
            elif decision is not Decision.GO_ON:
                bytes_written = window.steps * size
                budget.measured(window, bytes_written, now, held)
                self.windows.append(window.steps)
                self.written += bytes_written
                goes_on = decision is Decision.CUT and budget.goes_on()
                budget.over = budget.over or not goes_on
                window = Window(began=now, held=held) if goes_on else None


def test_a_short_cell_is_one_window():
    cell = Cell(Budget(), steps=10, size=1000)

    assert cell.traced == list(range(10))
    assert cell.windows == []


def test_the_first_steps_are_traced_until_the_budget_is_used_up():
    cell = Cell(Budget(), steps=10_000, size=20_000)

    assert cell.traced == list(range(len(cell.traced)))
    assert 0.85 * BUDGET < cell.written <= BUDGET
    assert len(cell.windows) < 6


def test_no_window_is_much_larger_than_what_memory_allows():
    cell = Cell(Budget(asked=True), steps=5_000, size=20_000)

    assert max(cell.windows) * 20_000 <= WINDOW
    assert 0.85 * CEILING < cell.written <= CEILING


def test_a_warm_step_is_traced_even_if_the_cold_one_used_up_the_budget():
    cell = Cell(Budget(), steps=30, size=BUDGET + 1, grows=LARGE_GROWTH + 1)

    assert cell.traced == [0, 1]
    assert cell.windows == [1, 1]


def test_one_enormous_warm_step_is_enough():
    cell = Cell(Budget(), steps=30, size=BUDGET + 1, cold=0, grows=LARGE_GROWTH + 1)

    assert cell.traced == [0]


def test_growth_that_is_not_the_trace_does_not_cut_it_at_every_step():
    cell = Cell(Budget(), steps=100, size=1000, seconds=0.001, grows=LARGE_GROWTH + 1)

    assert cell.traced == list(range(100))
    assert len(cell.windows) < 12


def test_so_many_warm_steps_are_traced_after_the_first_warm_one():
    cell = Cell(Budget(StepRange(count=20)), steps=2000, size=20_000, cold=2)

    assert cell.traced == list(range(3, 23))


def test_a_range_of_steps_is_traced_whatever_they_are():
    assert Cell(Budget(StepRange(first=5, last=9)), steps=50, size=1000).traced == [5, 6, 7, 8]
    assert Cell(Budget(StepRange(first=0, last=2)), steps=50, size=1000).traced == [0, 1]


def test_steps_that_are_asked_for_are_written_in_pieces():
    cell = Cell(Budget(StepRange(count=1000)), steps=2000, size=20_000)

    assert len(cell.traced) == 1000
    assert max(cell.windows) * 20_000 <= WINDOW


def test_a_budget_that_is_used_up_knows_how_much_it_recorded():
    budget = Budget(StepRange(count=5000))
    cell = Cell(budget, steps=5_000, size=20_000)

    assert budget.exhausted
    assert budget.used == cell.written <= budget.whole == CEILING


def test_a_range_has_come_with_its_first_step():
    budget = Budget(StepRange(first=2, last=4))
    came = []
    for _ in range(4):
        budget.after_step(None, 0.0, 0, built=False)
        came.append(budget.came)

    assert came == [False, True, True, True]


def stretch(budget, *, per_second, looks=MOST_STEPS, after=0):
    """Trace a cell that writes bytes at a steady rate; return its windows in s.

    It has steps only at its beginning; `after` them it is a loop.
    """
    windows, now = [], 0.0
    window = Window(began=now, held=0)
    for step in range(after):
        budget.after_step(window, now, 0, built=not step)
    for _ in range(looks):
        now += 0.05
        if budget.between_steps(window, now, 0, in_step=False) is Decision.CUT:
            seconds = now - window.began
            windows.append(seconds)
            budget.measured(window, int(per_second * seconds), now, 0)
            if not budget.goes_on():
                break
            window = Window(began=now, held=0)
    return windows


def test_a_cell_without_steps_is_traced_in_stretches_of_time():
    windows = stretch(Budget(), per_second=2_000_000)

    assert windows[0] == pytest.approx(FIRST_LOOK, abs=0.06)
    assert 0.85 * BUDGET < 2_000_000 * sum(windows) < 1.1 * BUDGET


@pytest.mark.parametrize("steps", [1, 2])
def test_a_long_loop_after_a_step_is_traced_in_stretches_of_time(steps):
    windows = stretch(Budget(), per_second=2_000_000, after=steps)

    assert windows[0] == pytest.approx(LONG_BETWEEN, abs=0.06)
    assert 0.85 * BUDGET < 2_000_000 * sum(windows) < 1.1 * BUDGET


def test_the_end_of_the_next_step_is_waited_for_but_not_for_long():
    budget, window = Budget(), Window(began=0.0, held=0)
    for number in range(4):
        budget.after_step(window, 0.04 * number, 0, built=False)

    soon, later = 0.12 + 0.9 * LONG_BETWEEN, 0.12 + 1.1 * LONG_BETWEEN
    assert budget.between_steps(window, soon, 0, in_step=False) is Decision.GO_ON
    assert budget.between_steps(window, later, 0, in_step=True) is Decision.GO_ON
    assert budget.between_steps(window, later, 0, in_step=False) is Decision.CUT


def test_what_runs_between_steps_for_long_is_not_charged_to_the_steps():
    budget, window = Budget(), Window(began=0.0, held=0)
    budget.after_step(window, 0.1, 0, built=False)
    budget.measured(window, BUDGET // 2 + 1, 5.0, 0)

    assert budget.goes_on()


def test_a_step_is_not_cut_unless_the_process_grows_enormously():
    budget, window = Budget(), Window(began=0.0, held=0)

    assert budget.between_steps(window, 100.0, 0, in_step=True) is Decision.GO_ON
    assert budget.between_steps(window, 100.0, HUGE_GROWTH + 1, in_step=True) is Decision.HURRY


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (20, StepRange(count=20)),
        ("20", StepRange(count=20)),
        ("5:10", StepRange(first=5, last=10)),
        ("0:1", StepRange(first=0, last=1)),
    ],
)
def test_steps_are_a_number_or_a_range(value, expected):
    assert parse_steps("steps", value) == expected


@pytest.mark.parametrize("value", ["", "0", "-3", "ten", "1.5", "5:", ":5", "7:7", "9:3", "1:2:3"])
def test_anything_else_is_refused_in_a_sentence(value):
    with pytest.raises(NbprofError, match="-steps takes a number of warm steps, such as 20, or"):
        parse_steps("steps", value)

"""How often memory is sampled, by numbers alone."""

import pytest

from nbprof.memory.sampler import CPU_SHARE, FREE_CPU, LONGEST_WAIT, MOST_SAMPLES, PERIOD, next_wait


def sample_for(seconds, cost):
    """Sample at that cost in CPU time; return how long that was, and its CPU time."""
    elapsed = cpu = 0.0
    while elapsed < seconds:
        elapsed += next_wait(elapsed, cpu)
        cpu += cost
    return elapsed, cpu


def test_cheap_samples_are_taken_every_ten_milliseconds():
    assert next_wait(1.0, 0.0) == PERIOD


@pytest.mark.parametrize("cost", [0.0001, 0.0005])
def test_sampling_stays_within_its_share_of_cpu_time(cost):
    elapsed, cpu = sample_for(10.0, cost)

    assert cpu <= FREE_CPU + CPU_SHARE * elapsed + 1.01 * cost


def test_samples_are_taken_now_and_then_however_expensive_they_are():
    assert next_wait(1.0, 10.0) == LONGEST_WAIT


def test_a_long_run_has_a_bounded_number_of_samples():
    assert next_wait(3600.0, 0.0) == 3600.0 / MOST_SAMPLES

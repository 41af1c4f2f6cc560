"""`with measure() as run:` finds exact peaks, however short, and samples the curve."""

import threading

import pytest
from support.memory_cases import of_this_process, on_linux
from support.memory_spikes import MIB, spike

from nbprof.errors import NbprofError
from nbprof.memory import measure
from nbprof.memory.meter import Measurement


@of_this_process
@pytest.mark.parametrize("lock_held", [False, True], ids=["lock free", "lock held"])
@pytest.mark.parametrize("milliseconds", [1, 10])
def test_a_short_spike_after_a_higher_one_is_found_to_within_a_mebibyte(milliseconds, lock_held):
    spike(300 * MIB)

    with measure() as run:
        spike(200 * MIB, milliseconds, lock_held)

    assert run.result.exact
    assert run.result.increment == pytest.approx(200, abs=1)
    assert run.result.peak == pytest.approx(run.result.baseline + run.result.increment)


@of_this_process
def test_nested_measurements_of_real_memory_are_each_right():
    with measure() as outer:
        with measure() as first:
            spike(150 * MIB)
        with measure() as second:
            spike(50 * MIB)

    found = [each.result.increment for each in (outer, first, second)]
    assert found == pytest.approx([150, 150, 50], abs=2)


@of_this_process
def test_a_measurement_in_another_thread_does_not_take_the_peak_from_this_one():
    def measure_often():
        for _ in range(20):
            with measure():
                pass

    with measure() as run:
        spike(100 * MIB)
        thread = threading.Thread(target=measure_often)
        thread.start()
        thread.join()

    assert run.result.increment == pytest.approx(100, abs=3)


def test_there_is_no_result_before_the_block_has_ended():
    with measure() as run, pytest.raises(NbprofError, match="has not ended"):
        _ = run.result


def test_the_curve_has_the_exact_peak_and_its_gaps():
    with measure(interval=0.005) as run:
        spike(60 * MIB, milliseconds=120, lock_held=True)

    samples = run.result.samples
    assert samples["peak_bytes"].max() == run.result.frame["peak_bytes"][0]
    assert samples["gap"].any()
    assert samples["seconds"].is_monotonic_increasing


@on_linux
def test_what_happens_after_the_timeout_is_not_measured(monkeypatch):
    timed_out = threading.Event()
    read_last = Measurement._read_last

    def read_last_and_tell(measurement):
        reading = read_last(measurement)
        timed_out.set()
        return reading

    monkeypatch.setattr(Measurement, "_read_last", read_last_and_tell)

    with measure(timeout=0.01) as run:
        assert timed_out.wait(60)
        run.mark(2)
        spike(100 * MIB)

    assert run.result.increment < 50
    assert run.result.marks.empty
    assert run.result.notes == ("measuring ended after 0.01 s (-t); the code ran on.",)


def test_statements_and_steps_are_marked_with_their_numbers():
    with measure() as run:
        run.mark(3)
        end = run.step("train")
        end()
        run.step("session")

    marks = run.run.marks
    assert [(mark.kind, mark.number) for mark in marks] == [("line", 3), ("step", 0), ("step", 1)]
    assert [mark.label for mark in marks] == ["line 3", "step 0: train", "step 1: session"]
    assert run.result.marks["end_seconds"].notna().tolist() == [False, True, False]


def test_only_the_first_steps_are_marked_and_a_note_says_so(monkeypatch):
    monkeypatch.setattr("nbprof.memory.meter.MOST_STEPS", 2)

    with measure() as run:
        for _ in range(3):
            run.step("train")()

    assert len(run.result.marks) == 2
    assert "only the first 2 of 3 steps are marked on the curve." in run.result.notes


@on_linux
def test_what_is_left_out_is_neither_on_the_curve_nor_in_what_follows():
    with measure() as run:
        with run.left_out():
            spike(200 * MIB, 1)
        spike(50 * MIB, 1)

    curve = run.run.curve
    most = max(curve.most) - curve.resident[0]
    assert 45 * MIB < most < 120 * MIB
    assert True in curve.gaps()
    assert run.run.peak - run.run.before > 190 * MIB


def test_leaving_something_out_after_the_measurement_changes_nothing():
    with measure() as run:
        pass
    samples = len(run.run.curve.seconds)

    with run.left_out():
        pass

    assert len(run.run.curve.seconds) == samples

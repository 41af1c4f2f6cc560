"""The watch of Python's allocations: what is left behind, the peak, and tracemalloc put back."""

import gc
import threading
import tracemalloc

import numpy as np
import pytest

from nbprof.capture.python import peak_watch
from nbprof.capture.python.allocation_snapshot import Snapshot
from nbprof.capture.python.allocation_watch import FRAMES, AllocationWatch
from nbprof.capture.python.peak_watch import PeakWatch

FUNCTIONS = {name: getattr(tracemalloc, name) for name in ("start", "stop", "is_tracing")}
MEGABYTE = 1_000_000


@pytest.fixture(autouse=True)
def tracemalloc_as_before():
    assert not tracemalloc.is_tracing()
    yield
    left = tracemalloc.is_tracing()
    tracemalloc.stop()
    assert {name: getattr(tracemalloc, name) for name in FUNCTIONS} == FUNCTIONS
    assert not left


def watched(body):
    """Watch a function; return the log and what the function returned."""
    watch = AllocationWatch()
    watch.start()
    try:
        kept = body()
    finally:
        watch.stop()
    return watch.log(), kept


def of_function(log, numbers, function):
    """Add up the numbers of the tracebacks that pass through a function of this file."""
    lines = {line for _, _, line in function.__code__.co_lines()}
    return sum(
        number
        for traceback, number in zip(log.tracebacks, numbers.tolist(), strict=True)
        if any(file == __file__ and line in lines for file, line in traceback)
    )


def keeps():
    return [bytes(MEGABYTE), bytes(MEGABYTE)]


def drops():
    for _ in range(3):
        bytes(MEGABYTE)


def holds(size=8 * MEGABYTE):
    """Hold memory until the watch has looked at it."""
    held = bytes(size)
    looked.wait(30)
    del held


looked = threading.Event()


@pytest.fixture
def looks(monkeypatch):
    """Tell when a snapshot of at least a megabyte has been taken."""
    looked.clear()
    take = peak_watch.take_snapshot

    def taken():
        snapshot = take()
        if snapshot.total_bytes > MEGABYTE:
            looked.set()
        return snapshot

    monkeypatch.setattr(peak_watch, "take_snapshot", taken)
    monkeypatch.setattr(peak_watch, "FREE_SECONDS", 60)


def test_what_is_still_allocated_is_left_behind():
    log, _kept = watched(keeps)

    assert of_function(log, log.left_bytes, keeps) == pytest.approx(2 * MEGABYTE, rel=0.01)
    assert of_function(log, log.left_count, keeps) == 3  # with the list


def test_what_was_freed_is_not_left_behind():
    log, _ = watched(drops)

    assert of_function(log, log.left_bytes, drops) < 1000


def test_garbage_in_a_cycle_is_not_left_behind():
    def makes_garbage():
        cycle = [bytes(MEGABYTE)]
        cycle.append(cycle)

    log, _ = watched(makes_garbage)

    assert of_function(log, log.left_bytes, makes_garbage) < 1000


def test_garbage_is_left_behind_where_the_user_has_switched_the_collector_off():
    def makes_garbage():
        cycle = [bytes(MEGABYTE)]
        cycle.append(cycle)

    gc.disable()
    try:
        log, _ = watched(makes_garbage)
    finally:
        gc.enable()

    assert of_function(log, log.left_bytes, makes_garbage) > MEGABYTE


def test_the_users_line_is_found_below_a_library():
    def through_a_library():
        return np.ones(MEGABYTE)

    log, _kept = watched(through_a_library)

    assert of_function(log, log.left_bytes, through_a_library) > 8 * MEGABYTE - 1000


@pytest.mark.usefixtures("looks")
def test_what_was_there_at_the_peak_is_known_if_it_lasts():
    log, _ = watched(holds)

    assert of_function(log, log.peak_bytes, holds) == pytest.approx(8 * MEGABYTE, rel=0.01)
    assert of_function(log, log.left_bytes, holds) < 1000


def test_a_peak_at_the_end_is_what_is_left_behind():
    log, _kept = watched(keeps)

    assert np.array_equal(log.peak_bytes, log.left_bytes)


def test_a_peak_that_nobody_saw_is_not_known():
    log, _ = watched(lambda: bytes(200 * MEGABYTE) and None)

    assert np.isnan(log.peak_bytes).all()
    (note,) = [note for note in log.notes if "peak" in note]
    assert note.startswith("what was allocated at the peak of 200 MB is not known")
    assert note.columns == ("alloc_peak_bytes",)


def test_allocations_of_other_threads_count():
    kept = []

    def allocates():
        kept.append(bytes(MEGABYTE))

    def starts_a_thread():
        thread = threading.Thread(target=allocates)
        thread.start()
        thread.join()

    log, _ = watched(starts_a_thread)

    assert of_function(log, log.left_bytes, allocates) > MEGABYTE


def test_an_exception_leaves_tracemalloc_off():
    with pytest.raises(ZeroDivisionError):
        watched(lambda: 1 / 0)

    assert not tracemalloc.is_tracing()


def test_stopping_twice_does_nothing():
    watch = AllocationWatch()
    watch.stop()
    watch.start()
    watch.stop()
    watch.stop()

    assert watch.log().frames == FRAMES


# A peak, by hand


def snapshot(size, own=0):
    return Snapshot([(("a.py", 1),)], np.array([size]), np.array([1]), own, 0)


def test_the_peak_of_tracemalloc_counts_without_what_nbprof_held():
    peak = PeakWatch().peak(snapshot(70, own=20), 120)

    assert (peak.size, peak.snapshot.total_bytes) == (100, 70)


# tracemalloc is the user's


@pytest.fixture
def tracing():
    """Have tracemalloc on before the cell."""
    tracemalloc.start(3)
    yield
    assert tracemalloc.is_tracing()
    assert tracemalloc.get_traceback_limit() == 3
    tracemalloc.stop()


def grows(held):
    held.append(bytes(MEGABYTE))


def test_a_tracing_that_was_on_goes_on_and_shows_the_difference(tracing):
    held = []
    grows(held)
    grows(held)

    log, _ = watched(lambda: grows(held))

    assert of_function(log, log.before_bytes, grows) == pytest.approx(2 * MEGABYTE, rel=0.01)
    assert of_function(log, log.left_bytes, grows) == pytest.approx(MEGABYTE, rel=0.01)
    assert np.isnan(log.peak_bytes).all()
    assert any(note.startswith("tracemalloc was on before the cell") for note in log.notes)


def test_what_the_cell_freed_of_earlier_cells_is_less_than_nothing(tracing):
    held = []
    grows(held)

    log, _ = watched(held.clear)

    assert of_function(log, log.left_bytes, grows) == pytest.approx(-MEGABYTE, rel=0.01)


def test_without_tracing_before_nothing_is_known_of_before():
    log, _kept = watched(keeps)

    assert np.isnan(log.before_bytes).all()


def test_the_cell_finds_tracemalloc_off_and_may_ask_it_to_stop():
    def asks():
        found = tracemalloc.is_tracing()
        tracemalloc.stop()
        tracemalloc.clear_traces()
        tracemalloc.reset_peak()
        return found, keeps()

    log, (found, _kept) = watched(asks)

    assert not found
    assert of_function(log, log.left_bytes, keeps) > 2 * MEGABYTE - 1000


def test_a_tracing_that_the_cell_starts_is_the_cells():
    def starts():
        early = keeps()
        tracemalloc.start(7)
        return early, keeps(), tracemalloc.is_tracing()

    log, (*_kept, is_tracing) = watched(starts)

    assert is_tracing
    assert tracemalloc.is_tracing()
    assert tracemalloc.get_traceback_limit() == 7
    tracemalloc.stop()
    assert of_function(log, log.left_bytes, keeps) == pytest.approx(2 * MEGABYTE, rel=0.01)
    assert any(note.startswith("the cell started tracemalloc itself") for note in log.notes)


def test_if_the_cell_drops_the_traces_nothing_is_known():
    def drops_traces():
        tracemalloc.start()
        held = keeps()
        tracemalloc.stop()
        return held

    log, _kept = watched(drops_traces)

    assert not log.tracebacks
    assert any(note.startswith("the cell stopped tracemalloc") for note in log.notes)


def test_a_function_that_the_cell_keeps_works_after_it():
    _, start = watched(lambda: tracemalloc.start)

    start(2)

    assert tracemalloc.is_tracing()
    assert tracemalloc.get_traceback_limit() == 2
    tracemalloc.stop()

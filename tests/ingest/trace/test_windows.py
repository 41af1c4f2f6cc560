"""The windows of a cell's trace, joined: one line a thread, one clock, every run counted once."""

import numpy as np
import pytest
from support.trace_files import environment, span
from support.xspace_bytes import line, plane, space

from nbprof import ingest
from nbprof.capture.capture import CALLING_THREAD, Capture, Pauses, TraceWindow
from nbprof.errors import NbprofError

BEGAN_NS = 1_700_000_000_000_000_000


def eager(name, start):
    """An eager op of 10 µs, dispatched in 20 µs; times in µs."""
    return (
        span("EagerExecute", start, 20, eager_op=name, is_func=0),
        span("KernelAndDeviceFunc::Run", start + 5, 10),
    )


def window(began, *threads, states=True, paused=0):
    """A window of 100 µs; times in µs since the cell began, with pauses of `paused` before it.

    Threads are (id, events); the first id has the marks.
    """
    real_ns = BEGAN_NS + (began + paused) * 1000
    marks = [span(CALLING_THREAD, 2 * number, 1) for number in range(2)]
    lines = [
        line(number, f"thread {number}", 0, [*(marks if not place else ()), *events])
        for place, (number, events) in enumerate(threads)
    ]
    stated = [environment(real_ns, real_ns + 100_000)] if states else []
    return TraceWindow(
        trace=space(plane("/host:CPU", lines=lines), *stated),
        began_ns=BEGAN_NS + began * 1000,
        ended_ns=BEGAN_NS + (began + 100) * 1000,
        paused_ns=paused * 1000,
        marks=tuple((real_ns + at * 1000, real_ns + (at + 1) * 1000) for at in (0, 2)),
    )


def read(*windows, has_memory=False):
    """Read a cell of 1000 µs."""
    return ingest.read(
        Capture(
            windows=windows,
            what="a cell",
            how="a trace",
            start_ns=BEGAN_NS,
            wall_ns=1_000_000,
            traced_ns=100_000 * len(windows),
            cost_ns=0,
            has_memory=has_memory,
        )
    )


@pytest.mark.parametrize("states", [True, False], ids=["as stated", "by marks"])
def test_times_of_all_windows_count_from_the_start_of_the_cell(states):
    profile = read(
        window(0, (7, eager("MatMul", 20)), states=states),
        window(300, (7, eager("MatMul", 20)), states=states),
    )

    assert profile.events["start_ns"].tolist() == [25_000, 325_000]


def test_a_pause_is_no_time_of_the_cell():
    profile = read(
        window(0, (7, eager("MatMul", 20))), window(100, (7, eager("MatMul", 20)), paused=5_000)
    )

    assert profile.events["start_ns"].tolist() == [25_000, 125_000]


def test_a_thread_is_one_line_in_all_windows_whatever_its_place():
    profile = read(
        window(0, (7, eager("MatMul", 20)), (8, eager("Relu", 30))),
        window(100, (8, eager("Relu", 20)), (7, eager("MatMul", 30))),
    )

    events, threads = profile.events, profile.threads["name"].to_numpy()
    named = profile.nodes["op_type"].to_numpy()[events["node"]]
    ran = set(zip(named, threads[events["thread"]], strict=True))
    assert ran == {("MatMul", "thread 7"), ("Relu", "thread 8")}
    assert profile.threads["is_cell"].tolist() == [True, False]


def test_equal_texts_are_the_same_text_in_all_windows():
    profile = read(*(window(100 * number, (7, eager("MatMul", 20))) for number in range(3)))

    frame = profile.op(select="micros,occurrence").frame
    assert frame["name"].tolist() == ["MatMul"]
    assert frame[["micros", "run_count"]].to_numpy().tolist() == [[30, 3]]


def test_what_lies_between_windows_is_not_watched():
    profile = read(
        window(0, (7, eager("MatMul", 20))),
        window(500, (7, eager("MatMul", 20))),
    )

    spent = dict(zip(profile.summary()["category"], profile.summary()["micros"], strict=True))
    assert spent["ops"] == 20
    assert spent["not watched"] == 800
    assert sum(spent.values()) == 1000


def test_a_damaged_window_is_an_error():
    whole = window(0, (7, eager("MatMul", 20)))
    with pytest.raises(NbprofError, match="the trace of this cell"):
        read(whole, TraceWindow(trace=whole.trace[:-3]))


def test_moments_of_a_pause_become_its_start():
    pauses = Pauses(start_ns=np.array([100, 300]), end_ns=np.array([150, 400]))

    cut = pauses.cut(np.array([50, 100, 120, 150, 299, 350, 500]))

    assert cut.tolist() == [50, 100, 100, 100, 249, 250, 350]
    assert pauses.total_ns == 150


def test_what_the_trace_takes_grows_while_a_window_is_open_and_shrinks_to_its_bytes():
    opened = TraceWindow(trace=b"x" * 1500, event_bytes=1000, began_ns=100, ended_ns=300)
    capture = Capture(
        windows=(opened,), what="a cell", how="a trace", start_ns=0, wall_ns=1000, cost_ns=0
    )

    held = capture.held_by_tracing(np.array([0, 100, 200, 300, 301, 900]))

    assert held.tolist() == [0, 0, 4000, 8000, 1500, 1500]


def allocation(start, address, size=100):
    """An allocation at a moment in µs."""
    stats = {"addr": address, "requested_bytes": size, "allocator_name": "cpu"}
    return span("MemoryAllocation", start, 0, **stats)


def release(start, address):
    return span("MemoryDeallocation", start, 0, addr=address, allocator_name="cpu")


def test_an_allocation_lives_until_its_release_in_a_later_window():
    profile = read(
        window(0, (7, [allocation(20, 1)])),
        window(500, (7, [release(30, 1)])),
        has_memory=True,
    )

    assert profile.allocations["end_ns"].tolist() == [530_000]


def test_an_address_handed_out_again_in_a_later_window_was_released_between_the_two():
    profile = read(
        window(0, (7, [allocation(20, 1), allocation(30, 2), allocation(40, 2)])),
        window(500, (7, [allocation(30, 1), release(40, 1)])),
        has_memory=True,
    )

    ends = profile.allocations["end_ns"].tolist()
    assert ends[:2] == [100_000, 40_000]
    assert np.isnan(ends[2])
    assert ends[3] == 540_000

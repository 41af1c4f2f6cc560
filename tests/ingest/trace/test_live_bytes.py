"""`live_bytes` of hand-built traces: what was alive at the peak, by the op that allocated it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.xspace_bytes import Unsigned, event, line, plane, space

from nbprof import ingest
from nbprof.capture.capture import Capture, TraceWindow

US = 1_000_000  # ps
KIB = 1024
MIB = 1024 * KIB
VIEWS = ("op", "scope", "graph", "code", "layer")


def span(name, start, duration, **stats):
    return event(name, start * US, duration * US, stats)


def op(name, start, duration):
    shown = name.rpartition(":")[2]
    return event(name, start * US, duration * US, {}, display_name=shown)


def eager(op_type, start, duration):
    return [
        span("EagerExecute", start, duration, eager_op=op_type, is_func=0),
        span("KernelAndDeviceFunc::Run", start + 1, duration - 2),
    ]


def allocate(start, address, size, allocator="cpu"):
    stats = {"allocator_name": allocator, "addr": address, "requested_bytes": size}
    return span("MemoryAllocation", start, 0, **stats)


def free(start, address, allocator="cpu"):
    return span("MemoryDeallocation", start, 0, allocator_name=allocator, addr=address)


def read(*events, only_large=False, has_memory=True, executor=True, thread="t"):
    """Read a trace of one thread; an executor of graphs runs on it all the time."""
    around = [span("ExecutorState::Process", 0, 1000, id=7)] if executor else []
    trace = space(
        plane("/host:CPU", lines=[line(0, thread, 0, [*around, *events])]),
        plane("Task Environment", stats={"profile_start_time": Unsigned(5_000)}),
    )
    capture = Capture(
        windows=(TraceWindow(trace=trace),),
        what="In [1]",
        how="by hand",
        start_ns=5_000,
        wall_ns=1_000_000,
        cost_ns=0,
        has_memory=has_memory,
        only_large=only_large,
        traced_ns=1_000_000,
    )
    return ingest.read(capture)


def own(profile, **options):
    frame = profile.op(select="live_bytes", **options).frame
    return dict(zip(frame["name"], frame["live_bytes"], strict=True))


def sum_of_peaks(profile):
    return sum(peak["live_bytes"] for peak in profile.memory().attrs["peak"].values())


def assert_adds_up(profile):
    """Check every view against the peak that `memory()` finds."""
    peak = sum_of_peaks(profile)
    assert profile.op(max_depth=1000).frame["live_bytes"].sum() == peak
    assert profile.live_at_peak()["bytes"].sum() == peak
    for name in VIEWS[1:]:
        frame = profile.view(name, select="live_bytes").frame
        assert frame["total_live_bytes"][0] == peak, name
        assert frame["live_bytes"].sum() == peak, name


def test_a_tensor_counts_for_the_op_that_made_it_while_it_is_alive_at_the_peak():
    profile = read(
        op("a:A", 10, 10),
        allocate(11, 1, 1000),  # handed on to b and c
        allocate(12, 2, 5000),  # scratch, freed before the peak
        free(15, 2),
        op("b:B", 30, 10),
        allocate(31, 3, 9000),
        op("c:C", 50, 10),
        allocate(51, 4, 70),  # the peak: 1000 + 9000 + 70
        free(55, 1),
        free(56, 3),
        op("d:D", 70, 10),
        allocate(71, 5, 600),  # after the peak
    )

    assert own(profile) == {"A": 1000, "B": 9000, "C": 70, "D": 0}
    assert sum_of_peaks(profile) == 10070
    assert_adds_up(profile)


def test_each_device_counts_at_its_own_peak():
    profile = read(
        op("a:A", 10, 10),
        allocate(11, 1, 1000),
        allocate(12, 1, 30, "GPU_0_bfc"),
        op("b:B", 30, 10),
        free(31, 1),
        allocate(32, 2, 500, "GPU_0_bfc"),
    )

    assert profile.memory().attrs["peak"]["cpu"]["live_bytes"] == 1000
    assert profile.memory().attrs["peak"]["GPU:0"]["live_bytes"] == 530
    assert own(profile) == {"A": 1030, "B": 500}
    assert_adds_up(profile)


def test_onednns_allocator_and_the_cpus_share_one_peak():
    profile = read(
        op("a:A", 10, 10),
        allocate(11, 1, 400 * KIB, "mklcpu"),
        allocate(12, 2, 300 * KIB, "cpu"),
        free(13, 1, "mklcpu"),
        only_large=True,
    )

    assert own(profile) == {"A": 700 * KIB}
    assert_adds_up(profile)


def test_what_no_op_allocated_has_a_row_so_that_the_sum_holds():
    profile = read(op("a:A", 10, 10), allocate(11, 1, 1000), allocate(30, 2, 4000))

    assert own(profile) == {"outside ops": 4000, "A": 1000}
    assert_adds_up(profile)
    code = profile.code(select="live_bytes").frame
    assert code["name"].tolist() == ["_TFProfRoot", "no Python line known"]
    layer = profile.layer(select="live_bytes").frame
    assert layer["name"].tolist() == ["_TFProfRoot", "outside layers"]


@pytest.mark.parametrize("view", VIEWS)
def test_that_row_is_there_only_where_live_bytes_are_asked_for(view):
    profile = read(op("a:A", 10, 10), allocate(11, 1, 1000), allocate(30, 2, 4000))

    assert "outside ops" not in profile.view(view, select="micros,bytes").text
    assert len(profile.nodes) == len(profile.op(select="micros").frame) == 1


def test_a_step_has_what_its_own_runs_made_and_the_average_is_not_divided():
    profile = read(
        span("train", 100, 50, step_num=0, _r=1),
        *eager("A", 110, 10),
        allocate(115, 1, 1000),
        span("train", 200, 50, step_num=1, _r=1),
        *eager("A", 210, 10),
        allocate(215, 2, 200),
        allocate(290, 3, 50),
        executor=False,
    )
    assert len(profile.steps) == 2

    assert own(profile) == {"A": 1200, "outside ops": 50}
    assert own(profile, step=0) == {"A": 1000, "outside ops": 0}
    assert own(profile, step=1) == {"A": 200, "outside ops": 0}
    assert own(profile, step=-1) == {"A": 1200, "outside ops": 50}
    assert profile.op(step=-1).frame.set_index("name").loc["A", "run_count"] == 1


def test_without_recorded_memory_live_bytes_are_unknown():
    profile = read(op("a:A", 10, 10), has_memory=False)

    assert np.isnan(own(profile)["A"])
    assert np.isnan(profile.scope(select="live_bytes").frame["total_live_bytes"][0])


def test_with_onednn_and_no_large_tensor_live_bytes_are_unknown_and_a_note_says_why():
    profile = read(op("a:A", 10, 10), only_large=True)

    assert np.isnan(own(profile)["A"])
    (note,) = profile.op().notes
    assert "256 KiB" in note


def test_with_onednn_ops_without_a_large_tensor_are_unknown():
    profile = read(
        op("a:A", 10, 10),
        allocate(11, 1, MIB, "mklcpu"),
        free(15, 1, "mklcpu"),
        op("b:B", 30, 10),
        allocate(31, 2, 2 * MIB, "mklcpu"),
        op("some/c:C", 50, 10),
        allocate(51, 3, 3 * MIB, "mklcpu"),
        op("none/c:C", 70, 10),
        op("d:D", 90, 10),
        allocate(110, 4, MIB, "mklcpu"),
        only_large=True,
    )

    known = {"A": 0, "B": 2 * MIB, "C": 3 * MIB, "outside ops": MIB}
    assert {name: size for name, size in own(profile).items() if not np.isnan(size)} == known
    scopes = profile.scope(select="live_bytes,bytes").frame.set_index("name")
    unknown = ["none", "none/c", "d"]
    assert scopes.loc[unknown, ["total_live_bytes", "total_bytes"]].isna().all(axis=None)
    assert_adds_up(profile)


def test_on_a_gpu_ops_without_an_allocation_hold_none_even_with_onednn():
    profile = read(
        *(op("a:A", 10, 10), allocate(11, 1, MIB, "GPU_0_bfc"), op("b:B", 30, 10)),
        only_large=True,
        thread="tf_gpu_private_0/1",
    )

    assert own(profile) == {"A": MIB, "B": 0}


@pytest.mark.parametrize(
    ("size", "select", "is_noted"),
    [
        (MIB, "micros,live_bytes,occurrence", True),
        (100 * MIB, "bytes", True),
        (100 * MIB, "peak_bytes,micros", True),
        (MIB, "micros,occurrence", False),
        (MIB, "output_bytes,float_ops", False),
    ],
)
def test_small_allocations_are_noted_in_one_line_where_they_matter(size, select, is_noted):
    profile = read(op("a:A", 10, 10), allocate(11, 1, size, "mklcpu"), only_large=True)

    notes = [note for note in profile.op(select=select).notes if "256 KiB" in note]

    assert len(notes) == is_noted
    assert all(len(note) < 125 for note in notes)


def test_a_cell_without_ops_has_no_note_on_small_allocations():
    profile = read(allocate(11, 1, MIB, "mklcpu"), only_large=True)

    assert profile.notes == ("no TensorFlow op ran in this cell",)
    assert len(profile.op().frame) == 0


CHANGES = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(1, 10**9)), max_size=40
)


@settings(max_examples=40)
@given(CHANGES)
def test_the_rows_of_every_view_add_up_to_the_peak(changes):
    """Allocate at one of six addresses in one of five ops or between them, else release it."""
    events, held = [], set()
    for place, (number, address, size) in enumerate(changes):
        start = 20 * place
        if number:
            events.append(op(f"{'abcde'[number - 1]}:Op{number % 3}", start, 10))
        allocator = ("cpu", "GPU_0_bfc")[address % 2]
        if address in held:
            events.append(free(start + 5, address, allocator))
        else:
            events.append(allocate(start + 5, address, size, allocator))
        held ^= {address}
    profile = read(op("first:First", 0, 1), *events)

    assert_adds_up(profile)

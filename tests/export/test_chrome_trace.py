"""The timeline as a Chrome trace: rules of the format, lanes, flows, and nothing made up."""

import gzip
import io
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.by_hand import ALLOCATION, node, profile
from support.chrome_trace_rules import arrows, check, lane_names, ns, of_phase, slices

from nbprof.errors import NbprofError
from nbprof.export import chrome_trace

NASTY = 'a"b\\c\n\x00\x1f</script><script>alert(1)</script>\u2028\ud800é😀%d%s'

MAIN, POOL, STREAM, OTHER = range(4)
THREADS = pd.DataFrame(
    {
        "name": ["pool", "python", "stream"],
        "device": ["/host:CPU", "/host:CPU", "/device:GPU:0"],
        "is_cell": [False, True, False],
    }
).loc[[1, 0, 2]]
THREADS.index = range(3)


def timed(made, *times, threads=THREADS, steps=None, **tables):
    """Return the profile with each event at (thread, start, duration), in ns."""
    events = made.events.copy()
    columns = ["thread", "start_ns", "duration_ns"]
    events[columns] = np.array(times, dtype=np.int64).reshape(-1, 3)
    events["accelerator"] = events["thread"] == STREAM
    steps = made.steps if steps is None else step_table(*steps)
    return replace(made, events=events, threads=threads, steps=steps, **tables)


def step_table(*times):
    """Return steps from (start, duration) in ns."""
    start, duration = np.array(times, dtype=float).T / 1e3
    columns = {"start_micros": start, "micros": duration, "function": "train", "traced": False}
    return pd.DataFrame({"step": range(len(times)), **columns})


@pytest.fixture
def exported(tmp_path):
    def export(made):
        path = tmp_path / "x.trace.json"
        made.export(path)
        return check(path.read_bytes())

    return export


def ops(trace):
    return [event for event in of_phase(trace, "X") if event["cat"] not in ("step", "span")]


def marked(made, spans, counts=()):
    """Return the profile with spans of (name, start, duration, thread) in ns, and counts."""
    columns = ["name", "start_ns", "duration_ns", "thread"]
    spans = pd.DataFrame(spans, columns=columns, dtype=object).assign(parent=-1)
    names = ["MainThread", "worker"]
    spans["thread_name"] = [names[thread] for thread in spans["thread"]]
    counts = pd.DataFrame(counts, columns=["name", "start_ns", "value"])
    return made.with_values(spans=spans, counts=counts)


def test_spans_have_a_lane_for_each_thread_and_counters_a_curve(exported):
    spans = [("outer", 0, 900, 0), ("inner", 100, 200, 0), (NASTY, 50, 100, 1)]
    counts = [("batch", 70, 32.0), ("batch", 80, 0.5), ("batch", 90, np.nan)]
    made = timed(profile(node("a", micros=1)), (MAIN, 5, 1000))

    trace = exported(marked(made, spans, counts))

    shown = [event for event in of_phase(trace, "X") if event["cat"] == "span"]
    names = lane_names(trace)
    assert [(e["name"], ns(e["ts"]), ns(e["dur"]), *names[e["pid"], e["tid"]]) for e in shown] == [
        ("outer", 0, 900, "spans", "MainThread"),
        ("inner", 100, 200, "spans", "MainThread"),
        (NASTY, 50, 100, "spans", "worker"),
    ]
    values = [(ns(e["ts"]), float(e["args"]["value"])) for e in of_phase(trace, "C")]
    assert values == [(70, 32), (80, 0.5)]


def test_spans_of_tasks_that_overlap_have_lanes_of_their_own(exported):
    made = timed(profile(node("a", micros=1)), (MAIN, 5, 1000))

    trace = exported(marked(made, [("first", 0, 500, 0), ("second", 100, 600, 0)]))

    names = [name for process, name in lane_names(trace).values() if process == "spans"]
    assert names == ["MainThread", "MainThread (overlapping)"]


def test_marks_alone_make_a_timeline(exported):
    trace = exported(marked(profile(steps=0), [("only", 0, 500, 0)], [("batch", 1, 2.0)]))

    assert [event["name"] for event in of_phase(trace, "X")] == ["only"]
    assert len(of_phase(trace, "C")) == 1


def test_an_op_run_is_a_slice_with_everything_known_about_it(exported):
    stack = (("In [1]", 3, "<module>"), ("/keras/layer.py", 9, "call"))
    described = node(
        "dense/MatMul",
        "MatMul",
        micros=12.345,
        size=64,
        stack=stack,
        flops=100,
        shapes=("2x3", "3x4"),
        layer="dense",
        backward=True,
    )

    (op,) = ops(exported(profile(described)))

    assert (op["name"], op["cat"]) == ("dense/MatMul", "MatMul")
    assert (ns(op["ts"]), ns(op["dur"]), ns(op["args"].pop("self_micros"))) == (0, 12345, 12345)
    assert op["args"] == {
        **{"op_type": "MatMul", "step": 0, "input_shapes": "2x3, 3x4", "layer": "dense"},
        **{"bytes": 64, "peak_bytes": 64, "residual_bytes": 64, "live_bytes": 64},
        "float_ops": 100,
        **{"backward": True, "line": "In [1]:3", "source": "line 3"},
    }


def test_unknown_values_are_left_out(exported):
    made = profile(node("a", micros=1))
    made.events[["bytes", "peak_bytes", "residual_bytes", "live_bytes", "float_ops"]] = np.nan
    made.events["layer"] = -1

    (op,) = ops(exported(made))

    assert set(op["args"]) == {"op_type", "step", "self_micros"}


def test_work_that_a_run_does_elsewhere_is_not_marked_as_a_run(exported):
    trace = exported(profile(node("a", micros=2, accelerator_micros=1)))

    assert [op["args"].get("is_run", True) for op in ops(trace)] == [True, False]


def test_names_may_be_any_text(exported):
    described = node(NASTY, NASTY, layer="x", shapes=(NASTY,), stack=((NASTY, 1, NASTY),))
    made = profile(described, notes=(NASTY,))
    threads, steps = (
        table.assign(**{column: pd.Series([NASTY] * len(table), dtype=object)})
        for table, column in ((made.threads, "name"), (made.steps, "function"))
    )

    trace = exported(replace(made, threads=threads, steps=steps))

    (op,) = ops(trace)
    assert (op["name"], op["cat"], op["args"]["input_shapes"]) == (NASTY, NASTY, NASTY)
    assert op["args"]["line"] == f"{NASTY}:1"
    assert trace["otherData"]["notes"] == [NASTY]
    assert {name for _, name in lane_names(trace).values()} >= {f"{NASTY} (the cell's thread)"}


def test_the_headline_and_the_notes_are_in_the_file(exported):
    made = profile(node("a"), notes=("cheap ops are missing",))

    about = exported(made)["otherData"]

    assert about == {
        "nbprof": made.headline,
        "notes": ["cheap ops are missing"],
        "cell_start_micros": 0,
    }


def test_each_device_is_a_process_and_the_cells_thread_comes_first(exported):
    made = profile(node("a"), node("b"), node("c"))
    # The profile lists its threads in a different order from the trace.
    threads = THREADS.loc[[2, 1, 0]].reset_index(drop=True)

    trace = exported(timed(made, (0, 5, 1), (1, 1, 1), (2, 2, 1), threads=threads))

    assert list(lane_names(trace).items()) == [
        ((1, 1), ("steps", "steps")),
        ((2, 2), ("/host:CPU", "python (the cell's thread)")),
        ((2, 4), ("/host:CPU", "pool")),
        ((3, 3), ("/device:GPU:0", "stream")),
    ]


def test_a_profile_that_is_not_of_a_cell_has_lanes_too(exported):
    threads = THREADS.drop(columns="is_cell")

    trace = exported(timed(profile(node("a")), (MAIN, 0, 1), threads=threads))

    assert ("/host:CPU", "python") in lane_names(trace).values()


def test_a_step_has_its_function_and_whether_it_was_traced(exported):
    made = profile(node("a"), steps=2)
    steps = made.steps.assign(start_micros=[1.5, 4.0], micros=[2.0, 3.0], traced=[True, False])

    trace = exported(replace(made, steps=steps))

    found = [event for event in of_phase(trace, "X") if event["cat"] == "step"]
    assert [(step["name"], step["args"]) for step in found] == [
        ("train", {"step": 0, "traced": True}),
        ("train", {"step": 1, "traced": False}),
    ]
    assert [(ns(step["ts"]), ns(step["dur"])) for step in found] == [(1500, 2000), (4000, 3000)]


def test_overlapping_steps_are_drawn_side_by_side(exported):
    made = profile(node("a"))

    trace = exported(timed(made, (MAIN, 0, 1), steps=[(0, 100), (10, 20), (50, 100), (100, 1)]))

    found = [event for event in of_phase(trace, "X") if event["cat"] == "step"]
    assert [step["tid"] for step in found] == [1, 3, 3, 1]


def test_partly_overlapping_ops_get_another_lane_and_keep_their_times(exported):
    made = profile(*[node(name) for name in "abcd"])
    times = [(MAIN, 0, 100), (MAIN, 50, 100), (MAIN, 60, 20), (MAIN, 200, 5)]

    trace = exported(timed(made, *times))

    names = lane_names(trace)
    on = {op["name"]: names[op["pid"], op["tid"]][1] for op in ops(trace)}
    own = "python (the cell's thread)"
    assert on == {"a": own, "b": f"{own} (overlapping)", "c": own, "d": own}
    assert [(ns(op["ts"]), ns(op["dur"])) for op in ops(trace)] == [time[1:] for time in times]


def test_an_inner_op_that_outlasts_the_outer_by_rounding_stays_inside(exported):
    made = profile(node("outer"), node("inner"))

    trace = exported(timed(made, (MAIN, 0, 9), (MAIN, 1, 9)))

    assert [(op["tid"], ns(op["dur"])) for op in ops(trace)] == [(2, 9), (2, 8)]


def test_an_arrow_leads_from_a_step_to_its_first_op_on_each_other_thread(exported):
    made = profile(
        *[node(name, step=0) for name in "abc"], *[node(name, step=1) for name in "defg"]
    )
    times = [
        *[(MAIN, 10, 5), (POOL, 30, 5), (POOL, 20, 5)],
        *[(POOL, 90, 5), (POOL, 120, 5), (MAIN, 130, 5), (OTHER, 160, 5)],
    ]

    threads = THREADS.loc[[MAIN, POOL, STREAM, POOL]].reset_index(drop=True)

    trace = exported(timed(made, *times, threads=threads, steps=[(0, 50), (100, 50)]))

    led = [(begin["args"]["step"], end["name"]) for begin, end in arrows(trace)]
    assert led == [(0, "c"), (1, "e")]  # d and g belong to step 1 but ran before and after it


def test_an_arrow_leads_from_a_run_to_the_first_kernel_it_launched(exported):
    made = profile(*[node(name) for name in ("a", "b", "a", "a", "a", "a", "b", "c")])
    times = [
        *[(MAIN, 10, 5), (MAIN, 20, 5), (MAIN, 30, 5)],
        *[(STREAM, 15, 3), (STREAM, 18, 3), (STREAM, 40, 3)],
        *[(STREAM, 5, 1), (STREAM, 70, 1)],  # before any run of b; c never ran on the host
    ]

    trace = exported(timed(made, *times))

    launches = [(b, e) for b, e in arrows(trace) if b["cat"] != "step"]
    led = [(b["name"], ns(b["ts"]), e["name"], ns(e["ts"])) for b, e in launches]
    assert led == [("a", 10, "a", 15), ("a", 30, "a", 40)]


def test_live_memory_is_a_counter_per_device(exported):
    rows = [
        (0, 0, "cpu", 1_000, 5_000.0, 100, "", "", ""),
        (0, 0, "gpu", 2_000, np.nan, 7, "", "", ""),
        (0, 0, "cpu", 5_000, np.nan, 1, "", "", ""),
    ]
    allocations = pd.DataFrame(rows, columns=ALLOCATION)

    trace = exported(timed(profile(node("a")), (MAIN, 0, 1), allocations=allocations))

    found = [(e["name"], ns(e["ts"]), e["args"]["bytes"]) for e in of_phase(trace, "C")]
    assert found == [
        ("live memory of cpu", 0, 0),
        ("live memory of gpu", 0, 0),
        ("live memory of cpu", 1_000, 100),
        ("live memory of gpu", 2_000, 7),
        ("live memory of cpu", 5_000, 101),  # even a short peak is kept
        ("live memory of cpu", 5_000, 1),
    ]


def test_an_event_before_the_cell_moves_the_zero_so_that_no_time_is_negative(exported):
    trace = exported(timed(profile(node("a")), (MAIN, -1_500, 500)))

    (op,) = ops(trace)
    assert (op["ts"], op["dur"]) == (0, pytest.approx(0.5))
    assert float(trace["otherData"]["cell_start_micros"]) == 1.5


def test_a_profile_without_op_runs_is_a_valid_trace(exported):
    trace = exported(profile())

    assert ops(trace) == []
    assert len(of_phase(trace, "X")) == 1


def test_no_steps_and_no_ops_is_a_valid_trace(exported):
    made = profile()

    assert exported(replace(made, steps=made.steps.iloc[:0]))["traceEvents"] == []


interval = st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(0, 12))


@given(st.lists(interval, max_size=25))
def test_slices_nest_and_none_is_lost_whatever_the_times(times):
    made = timed(profile(*[node("a")] * len(times)), *times)
    file = io.BytesIO()

    chrome_trace.write(made, file)

    trace = check(file.getvalue())
    assert sorted(ns(op["ts"]) for op in ops(trace)) == sorted(start for _, start, _ in times)
    drawn = sum(ns(op["dur"]) for op in ops(trace))
    assert 0 <= sum(duration for _, _, duration in times) - drawn <= len(times)


def test_the_compressed_file_has_the_same_content(tmp_path):
    made = profile(node("a", micros=3))

    made.export(tmp_path / "x.trace.json")
    made.export(str(tmp_path / "x.trace.json.gz"))
    made.export(tmp_path / "y.trace.json.gz")

    packed = (tmp_path / "x.trace.json.gz").read_bytes()
    assert gzip.decompress(packed) == (tmp_path / "x.trace.json").read_bytes()
    assert packed == (tmp_path / "y.trace.json.gz").read_bytes()


@pytest.mark.parametrize("name", ["x.json", "x", "x.trace.json.bz2", "x.pb"])
def test_an_unknown_suffix_is_refused_with_the_known_ones(tmp_path, name):
    with pytest.raises(
        NbprofError,
        match=r"\.trace\.json or \.trace\.json\.gz or \.pb\.gz or \.tfprof or .* or \.dot\.$",
    ):
        profile(node("a")).export(tmp_path / name)

    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(NbprofError, match=r"missing/x\.trace\.json cannot be written"):
        profile(node("a")).export(tmp_path / "missing" / "x.trace.json")


def test_a_failed_export_leaves_the_old_file_in_place(tmp_path):
    path = tmp_path / "x.trace.json"
    path.write_text("as it was")
    broken = replace(profile(node("a")), nodes=None)

    with pytest.raises(TypeError):
        broken.export(path)

    assert [file.read_text() for file in tmp_path.iterdir()] == ["as it was"]


def test_each_event_is_one_line_for_tools_that_read_line_by_line(tmp_path):
    path = tmp_path / "x.trace.json"
    profile(node("a"), node("b")).export(path)

    first, *lines, last = path.read_text(encoding="ascii").splitlines()

    assert (first, last[:2]) == ('{"traceEvents":[', "],")
    assert all(json.loads(line.rstrip(","))["ph"] for line in lines)


def test_slices_of_one_lane_add_up_to_the_durations_of_its_thread(exported):
    made = timed(
        profile(*[node("a")] * 4), *[(MAIN, 0, 9), (MAIN, 1, 3), (POOL, 4, 5), (POOL, 9, 0)]
    )

    found = slices(exported(made))

    sums = {lane: sum(end - start for start, end, _ in rows) for lane, rows in found.items()}
    assert (sums[2, 2], sums[2, 3]) == (12, 5)

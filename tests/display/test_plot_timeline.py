"""The timeline: lanes filled in proportion to how busy their threads were, with steps marked."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgb
from support.by_hand import profile
from support.paths import DATA
from support.plots_by_hand import (
    CELL,
    OTHER,
    POOL,
    STREAM,
    assert_all_text_is_inside,
    labels,
    timed,
    written,
)
from support.trace_files import host_trace

import nbprof
from nbprof.display import lane_load
from nbprof.display.lane_load import Range
from nbprof.display.plots import layout
from nbprof.display.plots.colours import PALETTE
from nbprof.errors import NbprofError

pytestmark = pytest.mark.usefixtures("figures_closed")


def lanes(ax):
    """Return the polygons of each op type by name."""
    return {
        found.get_label().removeprefix("_"): found
        for found in ax.collections
        if isinstance(found, PolyCollection) and found.get_label() != "_steps"
    }


def area(polygons):
    """Add up the areas of polygons."""
    return sum(
        abs(np.sum(x[:-1] * y[1:] - x[1:] * y[:-1])) / 2
        for x, y in (path.vertices.T for path in polygons.get_paths())
    )


def with_spans(made, *spans):
    """Return the profile with spans of (name, start ns, duration ns, thread, parent)."""
    columns = ["name", "start_ns", "duration_ns", "thread", "parent"]
    table = pd.DataFrame(spans, columns=columns)
    names = ["MainThread", "worker"]
    return made.with_values(spans=table.assign(thread_name=[names[n] for n in table["thread"]]))


def test_the_spans_of_each_thread_have_a_lane_below_the_ops():
    made = with_spans(
        timed(("MatMul", CELL, 0, 40_000)),
        *(("load", 0, 50_000, 0, -1), ("parse $", 10_000, 40_000, 0, 0)),
        ("work", 60_000, 20_000, 1, -1),
    )

    ax = made.plot_timeline()

    assert labels(ax)[-2:] == ["spans: MainThread", "spans: worker"]
    boxes = [path.get_extents() for path in lanes(ax)["spans"].get_paths()]
    assert [(box.x0, box.x1) for box in boxes] == [(0, 50), (10, 50), (60, 80)]
    assert boxes[0].y0 < boxes[1].y0 < boxes[1].y1 == boxes[0].y1 < boxes[2].y0
    assert {"parse $", "work"} <= set(written(ax))
    assert "load" not in written(ax)  # it has another one inside
    assert_all_text_is_inside(ax)


def test_zooming_in_draws_the_spans_of_that_range():
    made = with_spans(
        timed(("MatMul", CELL, 0, 40_000)),
        *(("load", 0, 50_000, 0, -1), ("work", 60_000, 20_000, 1, -1)),
    )
    ax = made.plot_timeline()

    ax.set_xlim(55, 90)

    assert len(lanes(ax)["spans"].get_paths()) == 1


def test_each_op_type_fills_its_lane_in_proportion_to_its_own_time():
    made = timed(
        *(("MatMul", CELL, 0, 40_000), ("Relu", CELL, 50_000, 10_000)),
        *(("MatMul", STREAM, 60_000, 30_000), ("While", POOL, 0, 80_000, 0.25)),
    )

    ax = made.plot_timeline()

    areas = {name: area(polygons) / 0.8 for name, polygons in lanes(ax).items()}
    assert areas == pytest.approx({"MatMul": 70, "While": 20, "Relu": 10})


def test_the_area_of_a_type_is_about_its_time_in_the_op_view():
    made = nbprof.load(DATA / "traces" / "small.xplane.pb")

    ax = made.plot_timeline()

    micros = made.op().frame.set_index("name")["micros"]
    drawn = {name: area(found) / 0.8 for name, found in lanes(ax).items() if name in micros}
    assert len(drawn) == 6
    assert all(drawn[name] <= micros[name] * (1 + 1e-6) for name in drawn)
    # In two columns the outer ops of this trace would take more than the whole lane.
    assert drawn == pytest.approx({name: micros[name] for name in drawn}, rel=0.02)


def test_a_long_run_is_drawn_from_its_start_to_its_end():
    ax = timed(("MatMul", CELL, 20_000, 40_000)).plot_timeline()

    x = lanes(ax)["MatMul"].get_paths()[0].vertices[:, 0]
    column = 100 / (2 * layout.size(ax)[0])
    assert x.min() == pytest.approx(20, abs=column)
    assert x.max() == pytest.approx(60, abs=column)


def test_lanes_are_threads_with_ops_the_cells_own_first_then_by_device():
    times = [("MatMul", thread, 0, 9) for thread in (STREAM, POOL, CELL, OTHER)]

    ax = timed(*times).plot_timeline()

    assert labels(ax) == [
        "1 step",
        "CPU the cell's thread",
        "CPU pool 1",
        "CPU pool 2",
        "GPU:0 stream",
    ]


def test_streams_of_a_gpu_are_named_by_number_and_by_what_they_did():
    profile = timed(("MatMul", STREAM, 0, 9), ("MatMul", CELL, 0, 9))
    names = profile.threads["name"].mask(
        profile.threads["name"] == "stream", "Stream #14(MemcpyH2D)"
    )

    ax = profile.with_values(threads=profile.threads.assign(name=names)).plot_timeline()

    assert labels(ax)[-1] == "GPU:0 #14 MemcpyH2D"


def test_a_thread_that_ran_nothing_has_no_lane():
    assert labels(timed(("MatMul", CELL, 0, 9)).plot_timeline()) == ["1 step", "the cell's thread"]


def test_the_legend_names_the_longest_types_and_counts_the_others():
    times = [(f"Type{row}", CELL, 1000 * row, 900 - row) for row in range(20)]

    ax = timed(*times).plot_timeline()

    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == [*(f"Type{row}" for row in range(6)), "14 other op types"]
    colours = [to_rgb(patch.get_facecolor()) for patch in ax.get_legend().get_patches()]
    assert colours[:6] == list(PALETTE[:6])


def test_seven_types_are_all_named():
    ax = timed(*((f"Type{row}", CELL, 1000 * row, 900) for row in range(7))).plot_timeline()

    assert len(set(map(to_rgb, (found.get_facecolor()[0] for found in lanes(ax).values())))) == 7
    assert "other" not in ax.get_legend().get_texts()[-1].get_text()


def test_the_caption_says_how_many_runs_are_merged():
    short = [("Relu", CELL, 10 * row, 5) for row in range(3000)]

    ax = timed(*short, ("MatMul", CELL, 50_000, 40_000)).plot_timeline()

    caption = ax.get_legend().get_title().get_text().replace("\n", " ")
    assert caption.startswith("3,001 op runs, 3,000 of them under ")


def test_many_runs_become_few_polygons():
    random = np.random.default_rng(1)
    count = 200_000
    made = timed(("MatMul", CELL, 0, 9), ("Relu", POOL, 5, 9))
    events = made.events.loc[np.arange(count) % 2].reset_index(drop=True)
    events["start_ns"] = np.sort(random.integers(0, 99_000, count))
    events["duration_ns"] = events["self_ns"] = 3

    ax = made.with_values(events=events).plot_timeline()

    columns = 2 * layout.size(ax)[0]
    assert sum(len(found.get_paths()) for found in lanes(ax).values()) <= 2 * columns


def test_zooming_in_draws_the_new_range_in_detail():
    ax = timed(("MatMul", CELL, 0, 50_000), ("Relu", CELL, 50_010, 4)).plot_timeline()

    ax.set_xlim(50, 50.02)

    assert area(lanes(ax)["Relu"]) / 0.8 == pytest.approx(0.004)
    assert ax.get_legend().get_title().get_text().startswith("2 op runs")
    assert ax.get_xlabel() == "time (µs)"
    assert len(lanes(ax)) == 2


def test_zooming_keeps_a_label_set_by_the_user():
    ax = timed(("MatMul", CELL, 0, 50_000)).plot_timeline()

    ax.set_xlabel("seconds since lift-off")
    ax.set_xlim(0, 5)

    assert ax.get_xlabel() == "seconds since lift-off"


def test_steps_are_bars_with_their_numbers_and_lines_where_they_begin():
    times = [(0, 20_000), (30_000, 20_000), (60_000, 30_000)]

    ax = timed(("MatMul", CELL, 0, 9), steps=times).plot_timeline()

    (marked,) = [found for found in ax.collections if found.get_label() == "_steps"]
    spans = [(path.vertices[:, 0].min(), path.vertices[:, 0].max()) for path in marked.get_paths()]
    assert spans == [(0, 20), (30, 50), (60, 90)]
    assert written(ax) == ["0", "1", "2"]
    (lines,) = [found for found in ax.collections if found.get_label() == "_step starts"]
    assert isinstance(lines, LineCollection)
    assert [segment[0][0] for segment in lines.get_segments()] == [0, 30, 60]


def test_steps_too_narrow_to_tell_apart_are_one_strip():
    ax = timed(
        ("MatMul", CELL, 0, 9), steps=[(20 * row, 15) for row in range(5000)]
    ).plot_timeline()

    (marked,) = [found for found in ax.collections if found.get_label() == "_steps"]
    assert len(marked.get_paths()) < 2000
    assert not written(ax)
    assert labels(ax)[0] == "5,000 steps"


def test_overlapping_runs_never_fill_more_than_their_lane():
    ax = timed(("A", STREAM, 0, 60_000), ("B", STREAM, 30_000, 60_000)).plot_timeline()

    y = np.concatenate(
        [path.vertices[:, 1] for found in lanes(ax).values() for path in found.get_paths()]
    )
    assert y.min() >= 0.1 - 1e-9
    assert y.max() <= 0.9 + 1e-9


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 1), st.floats(0, 90), st.floats(0, 10)),
        min_size=1,
        max_size=30,
    ),
    st.integers(1, 50),
)
def test_filled_areas_add_up_where_runs_do_not_overlap(described, columns):
    lane, colour, start, lasts = map(np.array, zip(*described, strict=True))
    share = np.full(len(lane), 1 / len(lane))  # so that no column overflows
    runs = lane_load.Runs(lane, colour, start, start + lasts, share)

    filled = lane_load.fill(runs, 3, 2, Range(0.0, 100.0, columns))

    for one in range(3):
        for other in range(2):
            of_both = (lane == one) & (colour == other)
            expected = (lasts * share)[of_both].sum()
            assert filled[one, other].sum() * 100 / columns == pytest.approx(expected, abs=1e-5)


def test_tfprofs_inputs_begin_at_zero_and_have_a_lane_per_device_and_stream():
    folder = DATA / "tfprof"
    made = nbprof.load_tfprof(folder / "graph.pbtxt", [folder / "run_meta"])

    ax = made.plot_timeline()

    assert ax.get_xlim()[0] == 0
    assert ax.get_xlim()[1] < 10_000
    assert labels(ax)[1:] == ["gpu:0", "cpu:0", "gpu:0/stream:all"]


def test_lanes_of_many_hosts_begin_with_the_host(tmp_path):
    for number in range(2):
        (tmp_path / f"host{number}.xplane.pb").write_bytes(host_trace(0, start_ns=5_000_000))

    ax = nbprof.load(tmp_path).plot_timeline()

    assert {name.split()[0] for name in labels(ax)[1:]} == {"host0", "host1"}
    assert_all_text_is_inside(ax)


def test_the_busiest_of_hundreds_of_threads_have_lanes_and_the_rest_are_counted():
    threads = pd.DataFrame(
        {"name": "pool", "device": "/host:CPU", "is_cell": False}, index=range(300)
    )

    ax = timed(*(("Op", row, 0, 1000 - row) for row in range(300)), threads=threads).plot_timeline()

    assert len(labels(ax)) == 41
    assert "260 more lanes with" in ax.get_legend().get_title().get_text().replace("\n", " ")


def test_a_timeline_without_ops_is_refused_with_the_reason():
    with pytest.raises(NbprofError, match="no timeline: no TensorFlow op ran in this cell"):
        profile(notes=("no TensorFlow op ran in this cell",)).plot_timeline()


def test_a_profile_without_single_runs_has_no_timeline_and_no_memory_over_time():
    made = timed(("MatMul", CELL, 0, 9))
    sums = made.with_values(recording=replace(made.recording, single_runs=False))

    with pytest.raises(NbprofError, match="single runs"):
        sums.plot_timeline()
    with pytest.raises(NbprofError, match="engine='dask' does not keep memory"):
        sums.plot_memory()

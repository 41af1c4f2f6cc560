"""Plots: bars as long as the frame says, lanes as full as threads were busy, no text cut off."""

import math
import pickle
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from by_hand import ALLOCATION, node, profile, variable
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text
from trace_files import host_trace

import nbprof
from nbprof.display.plots import busy, room
from nbprof.display.plots.colours import PALETTE, theme_of
from nbprof.display.plots.zoom import Range
from nbprof.errors import NbprofError
from nbprof.units import format_bytes, format_count, format_micros, format_short

mpl.use("Agg")
from matplotlib import pyplot as plt

DATA = Path(__file__).parent / "data"
LONG = "model/encoder/layer_with_quite_a_long_name_07/attention/self/query/MatMul"
THREADS = pd.DataFrame(
    {
        "name": ["pool/1234567890", "python", "stream", "pool/-9876543210"],
        "device": ["/host:CPU", "/host:CPU", "/device:GPU:0", "/host:CPU"],
        "is_cell": [False, True, False, False],
    }
)
POOL, CELL, STREAM, OTHER = range(4)


@pytest.fixture(autouse=True)
def _no_figures_left():
    yield
    plt.close("all")


def made(*nodes, **more):
    return profile(*(nodes or (node("a", "MatMul", micros=30), node("b", "Relu", 10))), **more)


def many(count=30):
    return profile(*(node(f"n{row}", f"Type{row:02}", 10 * (count - row)) for row in range(count)))


def tree():
    """A scope of two parts, of which one has ops, and a scope of its own."""
    return profile(
        node("net/conv/Conv2D", "Conv2D", micros=50),
        node("net/conv/BiasAdd", "BiasAdd", micros=20),
        node("net/dense/MatMul", "MatMul", micros=15),
        node("adam/Mul", "Mul", micros=5),
    )


def timed(*times, steps=((0, 100_000),), threads=THREADS, **values):
    """Make a profile of one run for each (op type, thread, start, duration, own share) in ns."""
    nodes = [node(f"n{row}", one[0]) for row, one in enumerate(times)]
    events = profile(*nodes).events.copy()
    columns = ["thread", "start_ns", "duration_ns"]
    events[columns] = np.array([one[1:4] for one in times], dtype=np.int64).reshape(-1, 3)
    shares = [one[4] if len(one) > 4 else 1.0 for one in times]
    events["self_ns"] = (events["duration_ns"] * shares).astype(int)
    events["accelerator"] = events["thread"] == STREAM
    start, micros = np.array(steps, dtype=float).reshape(-1, 2).T / 1e3
    table = {"start_micros": start, "micros": micros, "function": "train", "traced": False}
    made = profile(*nodes).with_values(
        events=events,
        threads=threads,
        steps=pd.DataFrame({"step": range(len(start)), **table}),
        **values,
    )
    return made.with_values(recording=replace(made.recording, wall_ns=100_000))


def with_memory(*rows, **values):
    """Make a profile with allocations (device, start, end, bytes)."""
    table = pd.DataFrame(
        [(-1, -1, device, start, end, size, 0, "", "") for device, start, end, size in rows],
        columns=ALLOCATION,
    ).astype({"end_ns": float})
    return timed(("MatMul", CELL, 0, 50_000), allocations=table, **values)


def bars(ax):
    """Give the bars of each group that was drawn, from the top down."""
    return [[bar.get_width() for bar in group] for group in ax.containers]


def labels(ax):
    return [label.get_text().strip() for label in ax.get_yticklabels()]


def written(ax):
    return [text.get_text() for text in ax.texts]


def lanes(ax):
    """Give the polygons of each op type, by its name."""
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


def assert_all_text_is_inside(ax):
    """Draw in some resolutions, and look where each text is."""
    figure = ax.get_figure()
    for dpi in (100, 144):
        figure.set_dpi(dpi)
        figure.canvas.draw()
        assert_inside(figure, ax.get_tightbbox(), "the Axes")
        for text in (*ax.texts, ax.xaxis.label, ax.yaxis.label):
            if text.get_text():
                assert_inside(figure, text.get_window_extent(), text.get_text())
        if ax.get_legend():
            assert_inside(figure, ax.get_legend().get_window_extent(), "the legend")


def assert_inside(figure, box, what):
    edges = figure.bbox.padded(1)
    assert edges.x0 <= box.x0, what
    assert box.x1 <= edges.x1, what
    assert edges.y0 <= box.y0, what
    assert box.y1 <= edges.y1, what


# Bars


def test_bars_are_the_rows_with_the_most_and_as_long_as_the_frame_says():
    view = many().op()

    ax = view.plot(top=5)

    assert bars(ax)[0] == view.frame["micros"].head(5).tolist()
    assert labels(ax)[:5] == view.frame["name"].head(5).tolist()
    assert ax.yaxis_inverted()


def test_the_other_rows_are_one_bar_with_their_sum_and_their_number():
    view = many().op()

    ax = view.plot(top=5)

    assert bars(ax)[1] == [view.frame["micros"].iloc[5:].sum()]
    assert labels(ax)[5:] == ["25 more rows"]


def test_one_other_row_is_called_a_row():
    assert labels(made().op().plot(top=1)) == ["MatMul", "1 more row"]


def test_without_a_column_it_is_the_one_the_view_is_ordered_by():
    nodes = (node("a", "MatMul", micros=30, size=8), node("b", "Relu", micros=10, size=4000))
    made = profile(*nodes)

    ax = made.op(order_by="bytes").plot()

    assert bars(ax) == [[4000, 8]]
    assert ax.get_xlabel() == "requested bytes (KB)"


@pytest.mark.parametrize("name", ["occurrence", "run_count"])
def test_run_counts_are_drawn_by_either_name(name):
    ax = made(node("a", "MatMul", 5, runs=7), node("b", "Relu", 9, runs=2)).op().plot(name)

    assert bars(ax) == [[7, 2]]
    assert ax.get_xlabel() == "run count"


def test_every_number_of_every_view_can_be_drawn():
    made = tree()
    for name in ("op", "scope", "graph", "code", "layer"):
        view = made.view(name, select="bytes,cpu_micros,occurrence")
        columns = [metric for column in view.columns for metric in column.metrics]
        for column in columns + [f"total_{metric}" for metric in columns] * view.is_tree:
            assert view.plot(column, top=2, ax=Figure().add_subplot()).patches


def test_in_a_tree_totals_are_drawn_with_their_own_part_in_the_order_of_the_tree():
    view = tree().scope()

    ax = view.plot()

    shown = view.frame[view.frame["parent"] >= 0]
    assert bars(ax)[0] == shown["total_micros"].tolist()
    assert bars(ax)[1] == shown["micros"].tolist()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["total", "self"]


def test_in_a_tree_a_row_is_indented_below_its_parent_and_named_without_it():
    ax = tree().scope().plot()

    texts = [label.get_text() for label in ax.get_yticklabels()]
    assert labels(ax)[:3] == ["net", "conv", "Conv2D"]
    indents = [len(text) - len(text.lstrip()) for text in texts]
    assert indents[0] < indents[1] < indents[2]


def test_in_a_tree_the_own_parts_and_the_rest_add_up_to_all():
    view = tree().scope()

    for top in range(1, len(view.frame)):
        drawn = bars(view.plot(top=top))
        assert sum(map(sum, drawn[1:])) == view.frame["total_micros"].iloc[0]


def test_in_a_tree_rows_can_be_ranked_by_their_own_numbers():
    ax = tree().scope().plot("micros", top=2)

    assert labels(ax) == ["net/conv/Conv2D", "net/conv/BiasAdd", "6 more rows"]
    assert bars(ax) == [[50, 20], [20]]


def test_rows_without_any_are_not_drawn_but_counted():
    ax = made(node("a", "MatMul", 30), node("b", "Relu", 0), node("c", "Mul", 0)).op().plot()

    assert labels(ax) == ["MatMul", "2 more rows"]


def test_a_column_of_nothing_but_zeros_is_drawn():
    ax = made().op().plot("accelerator_micros")

    assert bars(ax)[0] == [0]
    assert written(ax) == ["0 µs", "0 µs"]


def test_rows_that_are_not_known_are_counted_apart_and_have_no_number():
    view = made().op(select="float_ops,micros")
    view.frame.loc[1, "float_ops"] = math.nan

    ax = view.plot("float_ops")

    assert labels(ax) == ["MatMul", "1 more row"]
    assert written(ax)[-1] == "n/a"


def test_a_column_that_was_not_recorded_is_refused_with_the_reason():
    unknown = made(notes=("-light: memory is not recorded",))
    events = unknown.events.assign(bytes=math.nan)

    with pytest.raises(NbprofError, match=r"^bytes was not recorded.*: -light: memory is not"):
        unknown.with_values(events=events).op().plot("bytes")


@pytest.mark.parametrize("column", ["name", "params", "total_micros", "no such"])
def test_a_column_that_is_not_there_is_refused_with_those_that_are(column):
    with pytest.raises(NbprofError, match=f"{column}.*it has bytes, .*run_count, defined_count"):
        made().op().plot(column)


def test_a_view_without_rows_or_numbers_and_a_top_of_none_are_refused_in_a_sentence():
    with pytest.raises(NbprofError, match="no rows to plot: nothing ran"):
        profile(notes=("nothing ran",)).scope().plot()
    with pytest.raises(NbprofError, match="no rows to plot"):
        profile().op().plot()
    with pytest.raises(NbprofError, match="no numbers to plot"):
        made().op(select="device").plot()
    with pytest.raises(NbprofError, match="from 1 on"):
        made().op().plot(top=0)


def test_each_bar_has_its_number_behind_it_inside_the_axes():
    ax = many(5).op().plot()

    assert written(ax)[0] == "50 µs"
    ax.figure.canvas.draw()
    assert all(text.get_window_extent().x1 <= ax.bbox.x1 + 1 for text in ax.texts)


@pytest.mark.parametrize(
    ("micros", "unit"), [(3, "µs"), (999, "µs"), (4000, "ms"), (2_500_000, "s")]
)
def test_the_axis_has_one_unit_that_suits_the_longest_bar(micros, unit):
    ax = made(node("a", "MatMul", micros), node("b", "Relu", 1)).op().plot()

    ax.figure.canvas.draw()
    assert ax.get_xlabel() == f"total execution time ({unit})"
    assert all(len(label.get_text()) < 5 for label in ax.get_xticklabels())


def test_a_printed_report_that_was_read_back_can_be_drawn():
    view = nbprof.parse_text((DATA / "printed" / "inception_op.txt").read_text(encoding="utf-8"))

    ax = view.plot(top=3)

    assert len(bars(ax)[0]) == 3
    assert_all_text_is_inside(ax)


def test_variables_are_drawn_by_their_parameters():
    made = profile(node("a", micros=1), variables=[variable("dense/kernel", "64x32")])

    ax = made.scope(select="params").plot()

    assert bars(ax)[0][0] == 2048
    assert ax.get_xlabel() == "parameters (k)"


# Names and room


def long_names():
    return profile(*(node(f"{LONG}_{row}", "MatMul", 1000 + row) for row in range(8)))


def test_a_long_name_is_cut_in_the_middle():
    ax = long_names().scope().plot("micros", top=2)

    assert all(
        "…" in name and name.endswith(end) for name, end in zip(labels(ax), "76", strict=False)
    )
    assert labels(ax)[0].startswith("model/")


@given(st.text(max_size=60), st.floats(0, 200))
def test_a_text_is_cut_to_what_fits_and_never_more_than_to_a_letter(text, width):
    cut = room.shorten(text, width, len)

    assert cut == text or "…" in cut
    assert len(cut) <= max(width, 2, 0) or cut == text[:0]
    if len(text) <= width:
        assert cut == text


NASTY = ["$a_b$", r"\frac{1}{2}$", "a\nb\tc", "\ud800", "%d{}", "", "<b>", "x" * 500, "名前", "_x"]


@pytest.mark.filterwarnings("ignore:Glyph .* missing:UserWarning")
@pytest.mark.parametrize("name", NASTY)
def test_any_name_can_be_drawn_and_is_no_formula(name):
    view = made(node("scope/" + name, name or "Op", 5), node("b", "Relu", 3)).op()

    ax = view.plot()

    assert_all_text_is_inside(ax)
    timeline = timed((name or "Op", CELL, 0, 9), ("Relu", POOL, 3, 9)).plot_timeline()
    assert_all_text_is_inside(timeline)
    if len(name) < 9 and name.isprintable():
        assert (name or "Op") in labels(ax)


def own_axes():
    return None


def narrow_axes():
    return plt.subplots(figsize=(3.3, 2.5))[1]


def low_axes():
    return plt.subplots(figsize=(6, 1.5))[1]


def constrained_axes():
    return plt.subplots(figsize=(3.3, 2.5), layout="constrained")[1]


def tight_axes():
    return plt.subplots(figsize=(4, 3), layout="tight")[1]


def one_of_four():
    return plt.subplots(2, 2, figsize=(7, 5))[1][1, 1]


def axes_of_a_bare_figure():
    return Figure(figsize=(3.3, 2.5)).add_subplot()


def axes_of_a_subfigure():
    return plt.figure(figsize=(7, 3)).subfigures(1, 2)[1].subplots()


AXES = [
    *(own_axes, narrow_axes, low_axes, constrained_axes, tight_axes),
    *(one_of_four, axes_of_a_bare_figure, axes_of_a_subfigure),
]
PLOTS = {
    "names": lambda ax: long_names().scope().plot("micros", ax=ax),
    "types": lambda ax: many().op().plot(ax=ax),
    "tree": lambda ax: long_names().scope().plot(ax=ax),
    "timeline": lambda ax: busy_profile().plot_timeline(ax=ax),
    "memory": lambda ax: with_memory(("cpu", 0, 90_000, 123_456_789)).plot_memory(ax=ax),
    "memory of two": lambda ax: of_two_devices().plot_memory(ax=ax),
}


def busy_profile():
    times = [(f"AnOpTypeWithAName{row % 12}", row % 4, 900 * row, 800) for row in range(100)]
    return timed(*times, steps=[(10_000 * row, 9_000) for row in range(10)])


def of_two_devices():
    rows = [("/job:worker/task:0/cpu", 0, 90_000, 5000), ("/job:worker/task:0/gpu", 1, math.nan, 9)]
    return with_memory(*rows)


@pytest.mark.parametrize("plot", PLOTS)
@pytest.mark.parametrize("make", AXES, ids=lambda make: make.__name__)
def test_no_text_is_outside_the_figure(plot, make):
    ax = PLOTS[plot](make())

    assert_all_text_is_inside(ax)


@pytest.mark.parametrize("plot", PLOTS)
def test_no_text_is_outside_a_figure_of_a_column_of_a_paper(plot):
    with plt.rc_context({"figure.figsize": (3.3, 2.2), "font.size": 8}):
        ax = PLOTS[plot](None)

    assert ax.figure.get_size_inches()[0] == pytest.approx(3.3)
    assert_all_text_is_inside(ax)


@pytest.mark.parametrize("plot", PLOTS)
def test_two_plots_side_by_side_leave_each_other_alone(plot):
    left, right = plt.subplots(1, 2, figsize=(7, 3))[1]

    PLOTS[plot](left)
    PLOTS[plot](right)

    left.figure.canvas.draw()
    assert left.get_tightbbox().x1 <= right.get_tightbbox().x0


@pytest.mark.parametrize("plot", PLOTS)
def test_rows_and_lanes_do_not_stand_upon_each_other(plot):
    for make in (own_axes, narrow_axes, low_axes):
        ax = PLOTS[plot](make())

        ax.figure.canvas.draw()
        boxes = [label.get_window_extent() for label in ax.get_yticklabels() if label.get_text()]
        middles = sorted((box.y0 + box.y1) / 2 for box in boxes)
        letters = min(label.get_fontsize() for label in ax.get_yticklabels())
        assert min(np.diff(middles), default=99) >= 0.8 * letters * ax.figure.dpi / 72


def test_in_a_low_axes_fewer_rows_are_drawn_and_the_others_are_in_the_sum():
    view = many().op()

    ax = view.plot(ax=low_axes())

    drawn = bars(ax)
    assert 1 <= len(drawn[0]) < 20
    assert sum(map(sum, drawn)) == view.frame["micros"].sum()


def test_a_figure_of_more_rows_is_higher():
    few, more = many(3).op().plot(), many(20).op().plot()

    assert few.figure.get_size_inches()[1] < more.figure.get_size_inches()[1]


# Manners


@pytest.mark.parametrize("plot", PLOTS)
def test_where_an_axes_is_given_pyplot_is_not_touched(plot):
    ax = Figure(figsize=(5, 4)).add_subplot()
    other = plt.subplots()[1]
    figures = plt.get_fignums()

    given = PLOTS[plot](ax)

    assert given is ax
    assert plt.get_fignums() == figures
    assert plt.gca() is other


@pytest.mark.parametrize("plot", PLOTS)
def test_nothing_is_shown_and_no_setting_changed(plot, monkeypatch):
    shown = []
    monkeypatch.setattr(plt, "show", lambda *_, **__: shown.append(1))
    before = dict(mpl.rcParams)

    PLOTS[plot](None)

    assert dict(mpl.rcParams) == before
    assert not shown


@pytest.mark.parametrize("plot", PLOTS)
def test_text_in_a_dark_figure_is_light_also_when_the_style_is_over(plot):
    with plt.style.context("dark_background"):
        ax = plt.subplots()[1]

    PLOTS[plot](ax)

    ax.figure.canvas.draw()
    ticks = [*ax.get_xticklabels(), *ax.get_yticklabels()]
    numbers = [text for text in ax.texts if text.get_text() and not text.get_text().isdigit()]
    legend = ax.get_legend().findobj(Text) if ax.get_legend() else []
    for text in filter(Text.get_text, (*ticks, *numbers, *legend, ax.xaxis.label)):
        assert to_rgb(text.get_color()) == (1, 1, 1), text.get_text()


@pytest.mark.parametrize("plot", PLOTS)
def test_a_figure_can_be_pickled(plot):
    ax = PLOTS[plot](None)

    again = pickle.loads(pickle.dumps(ax.figure))

    again.canvas.draw()
    assert again.axes[0].get_xlabel() == ax.get_xlabel()


def test_ground_and_ink_are_those_of_the_axes():
    with plt.style.context("dark_background"):
        theme = theme_of(plt.subplots()[1])

    assert theme.ground == (0, 0, 0)
    assert theme.ink == (1, 1, 1)
    assert theme.main == PALETTE[5]
    assert theme_of(plt.subplots()[1]).main == PALETTE[0]


def test_neighbours_in_the_palette_differ_in_grey():
    greys = [
        0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2 for red, green, blue in PALETTE
    ]
    lightness = [116 * grey ** (1 / 3) - 16 for grey in greys]

    assert np.abs(np.diff(lightness)).min() > 8


# The timeline


def test_a_lane_is_as_full_as_its_thread_was_busy_with_ops_of_a_type():
    made = timed(
        *(("MatMul", CELL, 0, 40_000), ("Relu", CELL, 50_000, 10_000)),
        *(("MatMul", STREAM, 60_000, 30_000), ("While", POOL, 0, 80_000, 0.25)),
    )

    ax = made.plot_timeline()

    areas = {name: area(polygons) / 0.8 for name, polygons in lanes(ax).items()}
    assert areas == pytest.approx({"MatMul": 70, "While": 20, "Relu": 10})


def test_the_area_of_a_type_is_its_time_in_the_op_view_but_for_what_is_cut():
    made = nbprof.load(DATA / "traces" / "small.xplane.pb")

    ax = made.plot_timeline()

    micros = made.op().frame.set_index("name")["micros"]
    drawn = {name: area(found) / 0.8 for name, found in lanes(ax).items() if name in micros}
    assert len(drawn) == 6
    assert all(drawn[name] <= micros[name] * (1 + 1e-6) for name in drawn)
    # Outer ops of this trace over-fill two columns.
    assert drawn == pytest.approx({name: micros[name] for name in drawn}, rel=0.02)


def test_a_long_run_is_drawn_from_its_start_to_its_end():
    ax = timed(("MatMul", CELL, 20_000, 40_000)).plot_timeline()

    x = lanes(ax)["MatMul"].get_paths()[0].vertices[:, 0]
    column = 100 / (2 * room.size(ax)[0])
    assert x.min() == pytest.approx(20, abs=column)
    assert x.max() == pytest.approx(60, abs=column)


def test_lanes_are_the_threads_that_ran_something_the_cells_first_and_devices_together():
    times = [("MatMul", thread, 0, 9) for thread in (STREAM, POOL, CELL, OTHER)]

    ax = timed(*times).plot_timeline()

    assert labels(ax) == [
        "1 step",
        "CPU the cell's thread",
        "CPU pool 1",
        "CPU pool 2",
        "GPU:0 stream",
    ]


def test_a_thread_that_ran_nothing_has_no_lane():
    assert labels(timed(("MatMul", CELL, 0, 9)).plot_timeline()) == ["1 step", "the cell's thread"]


def test_the_legend_has_the_types_with_the_most_time_and_how_many_others_there_are():
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


def test_what_is_merged_is_said():
    short = [("Relu", CELL, 10 * row, 5) for row in range(3000)]

    ax = timed(*short, ("MatMul", CELL, 50_000, 40_000)).plot_timeline()

    said = ax.get_legend().get_title().get_text().replace("\n", " ")
    assert said.startswith("3,001 op runs, 3,000 of them under ")


def test_many_runs_come_to_few_polygons():
    random = np.random.default_rng(1)
    count = 200_000
    made = timed(("MatMul", CELL, 0, 9), ("Relu", POOL, 5, 9))
    events = made.events.loc[np.arange(count) % 2].reset_index(drop=True)
    events["start_ns"] = np.sort(random.integers(0, 99_000, count))
    events["duration_ns"] = events["self_ns"] = 3

    ax = made.with_values(events=events).plot_timeline()

    columns = 2 * room.size(ax)[0]
    assert sum(len(found.get_paths()) for found in lanes(ax).values()) <= 2 * columns


def test_another_range_is_drawn_anew_in_its_own_detail():
    ax = timed(("MatMul", CELL, 0, 50_000), ("Relu", CELL, 50_010, 4)).plot_timeline()

    ax.set_xlim(50, 50.02)

    assert area(lanes(ax)["Relu"]) / 0.8 == pytest.approx(0.004)
    assert ax.get_legend().get_title().get_text().startswith("2 op runs")
    assert ax.get_xlabel() == "time (µs)"
    assert len(lanes(ax)) == 2


def test_a_label_of_the_users_stays_when_another_range_is_drawn():
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


def test_steps_too_many_to_be_told_apart_are_one_strip():
    ax = timed(
        ("MatMul", CELL, 0, 9), steps=[(20 * row, 15) for row in range(5000)]
    ).plot_timeline()

    (marked,) = [found for found in ax.collections if found.get_label() == "_steps"]
    assert len(marked.get_paths()) < 2000
    assert not written(ax)
    assert labels(ax)[0] == "5,000 steps"


def test_runs_that_cross_never_fill_more_than_their_lane():
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
def test_what_is_filled_adds_up_wherever_runs_do_not_cross(described, columns):
    lane, colour, start, lasts = map(np.array, zip(*described, strict=True))
    share = np.full(len(lane), 1 / len(lane))  # so that no column is more than full
    runs = busy.Runs(lane, colour, start, start + lasts, share)

    filled = busy.fill(runs, 3, 2, Range(0.0, 100.0, columns))

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


def test_lanes_of_many_hosts_say_which(tmp_path):
    for number in range(2):
        (tmp_path / f"host{number}.xplane.pb").write_bytes(host_trace(0, start_ns=5_000_000))

    ax = nbprof.load(tmp_path).plot_timeline()

    assert {name.split()[0] for name in labels(ax)[1:]} == {"host0", "host1"}
    assert_all_text_is_inside(ax)


def test_of_hundreds_of_threads_the_busiest_have_lanes_and_the_others_are_said():
    threads = pd.DataFrame(
        {"name": "pool", "device": "/host:CPU", "is_cell": False}, index=range(300)
    )

    ax = timed(*(("Op", row, 0, 1000 - row) for row in range(300)), threads=threads).plot_timeline()

    assert len(labels(ax)) == 41
    assert "260 more lanes with" in ax.get_legend().get_title().get_text().replace("\n", " ")


def test_a_profile_in_which_nothing_ran_has_no_timeline_and_says_why():
    with pytest.raises(NbprofError, match="no timeline: no TensorFlow op ran in this cell"):
        profile(notes=("no TensorFlow op ran in this cell",)).plot_timeline()


def test_a_profile_of_sums_has_no_timeline_and_no_memory_over_time():
    made = timed(("MatMul", CELL, 0, 9))
    sums = made.with_values(recording=replace(made.recording, single_runs=False))

    with pytest.raises(NbprofError, match="single runs"):
        sums.plot_timeline()
    with pytest.raises(NbprofError, match="not kept by engine='dask'"):
        sums.plot_memory()


# Memory


def curve(ax, device="cpu"):
    (line,) = [line for line in ax.lines if line.get_label() == f"_{device}"]
    return line


def test_memory_goes_up_and_down_in_steps_as_the_frame_says():
    made = with_memory(("cpu", 10_000, 60_000, 4000), ("cpu", 20_000, math.nan, 1000))

    ax = made.plot_memory()

    frame = made.memory()
    line = curve(ax)
    assert line.get_drawstyle() == "steps-post"
    assert line.get_xdata().tolist() == [0, *frame["micros"], 100]
    assert line.get_ydata().tolist() == [0, *frame["live_bytes"], 1000]
    assert ax.get_ylabel() == "live memory (KB)"


def test_the_peak_is_marked_and_named():
    made = with_memory(("cpu", 10_000, 60_000, 4000), ("cpu", 20_000, math.nan, 1000))

    ax = made.plot_memory()

    (mark,) = [line for line in ax.lines if line.get_label() == "_peak of cpu"]
    assert (mark.get_xdata()[0], mark.get_ydata()[0]) == (20, 5000)
    assert "peak 5 KB at 20 µs" in written(ax)


@pytest.mark.parametrize("moment", [0, 50_000, 99_000])
def test_the_words_on_the_peak_are_inside_the_axes(moment):
    ax = with_memory(("cpu", moment, math.nan, 4000)).plot_memory(ax=narrow_axes())

    ax.figure.canvas.draw()
    (words,) = [text for text in ax.texts if text.get_text().startswith("peak")]
    box = words.get_window_extent()
    assert ax.bbox.x0 - 1 <= box.x0
    assert box.x1 <= ax.bbox.x1 + 1
    assert box.y1 <= ax.bbox.y1


def test_a_curve_of_many_changes_keeps_its_peak_its_lows_and_its_ends():
    random = np.random.default_rng(2)
    start = np.sort(random.integers(0, 90_000, 20_000))
    rows = [
        ("cpu", int(one), int(one) + 100, int(size))
        for one, size in zip(start, random.integers(1, 999, 20_000), strict=True)
    ]
    made = with_memory(*rows)

    ax = made.plot_memory()

    frame, line = made.memory(), curve(ax)
    assert len(line.get_xdata()) < 6 * room.size(ax)[0] * 2
    assert line.get_ydata().max() == frame["live_bytes"].max()
    assert line.get_ydata()[-1] == frame["live_bytes"].iloc[-1]
    points = set(zip(frame["micros"], frame["live_bytes"], strict=True))
    drawn = zip(line.get_xdata()[1:-1], line.get_ydata()[1:-1], strict=True)
    assert set(drawn) <= points


def test_devices_have_a_line_each_and_their_peaks_in_the_legend():
    ax = of_two_devices().plot_memory()

    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts[0].endswith("peak 5 KB at 0 µs")
    assert texts[1].endswith("peak 9 B at 0.001 µs")
    styles = {line.get_linestyle() for line in ax.lines if "peak" not in line.get_label()}
    assert len(styles) == 2


def test_steps_are_marked_over_the_memory():
    made = with_memory(("cpu", 0, 9, 9), steps=[(0, 20_000), (30_000, 20_000)])

    ax = made.plot_memory()

    (marked,) = [found for found in ax.collections if found.get_label() == "_steps"]
    assert len(marked.get_paths()) == 2
    assert {"0", "1"} <= set(written(ax))


def test_without_recorded_memory_the_reason_is_said():
    with pytest.raises(NbprofError, match="no memory over time was recorded: -light"):
        made(notes=("-light: no memory",)).plot_memory()
    folder = DATA / "tfprof"
    with pytest.raises(NbprofError, match="tfprof's inputs hold no single allocations"):
        nbprof.load_tfprof(folder / "graph.pbtxt", [folder / "run_meta"]).plot_memory()


def test_only_notes_that_concern_it_are_the_reason_why_something_is_not_drawn():
    notes = (
        *("no allocations in this trace: memory was not recorded", "run counts are lower bounds"),
        "no thread of Python is in this trace: profile.summary() cannot tell where time went",
    )
    trace = made(notes=notes)

    with pytest.raises(NbprofError) as refused:
        trace.plot_memory()
    assert str(refused.value) == f"no memory over time was recorded: {notes[0]}."
    events = trace.events.assign(bytes=np.nan)
    with pytest.raises(NbprofError) as refused:
        replace(trace, events=events).scope().plot("total_bytes")
    assert str(refused.value) == (f"total_bytes was not recorded, so there is no plot: {notes[0]}.")
    with pytest.raises(NbprofError) as refused:
        trace.op(show_name_regexes="zzz").plot()
    assert str(refused.value).startswith("this view has no rows to plot: -show_name_regexes zzz ")
    assert "lower bounds" not in str(refused.value)


# Units


@pytest.mark.parametrize(
    ("number", "written_by", "text"),
    [
        *((0, format_micros, "0 µs"), (12.345, format_micros, "12.3 µs")),
        *((999.4, format_micros, "999 µs"), (999.6, format_micros, "1 ms")),
        *((4.5e6, format_micros, "4.5 s"), (7.2e9, format_micros, "7200 s")),
        *((999, format_bytes, "999 B"), (73_734_640, format_bytes, "73.7 MB")),
        *((7_324_474_000, format_bytes, "7.32 GB"), (12, format_count, "12")),
        *((1_234_567, format_count, "1.23 M"), (math.nan, format_count, "n/a")),
    ],
)
def test_numbers_in_figures_have_three_digits_and_their_own_unit(number, written_by, text):
    assert format_short(number, written_by) == text

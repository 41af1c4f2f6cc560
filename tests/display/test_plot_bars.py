"""Bars: the rows with the highest numbers, each bar as long as its number in the frame."""

import math

import pytest
from matplotlib.figure import Figure
from support.by_hand import node, profile, variable
from support.paths import DATA
from support.plots_by_hand import assert_all_text_is_inside, bars, labels, made, many, written

import nbprof
from nbprof.errors import NbprofError

pytestmark = pytest.mark.usefixtures("figures_closed")


def tree():
    """Return a profile with nested scopes."""
    return profile(
        node("net/conv/Conv2D", "Conv2D", micros=50),
        node("net/conv/BiasAdd", "BiasAdd", micros=20),
        node("net/dense/MatMul", "MatMul", micros=15),
        node("adam/Mul", "Mul", micros=5),
    )


def test_bars_are_the_highest_rows_and_as_long_as_the_frame_says():
    view = many().op()

    ax = view.plot(top=5)

    assert bars(ax)[0] == view.frame["micros"].head(5).tolist()
    assert labels(ax)[:5] == view.frame["name"].head(5).tolist()
    assert ax.yaxis_inverted()


def test_the_other_rows_are_one_bar_with_their_sum_and_count():
    view = many().op()

    ax = view.plot(top=5)

    assert bars(ax)[1] == [view.frame["micros"].iloc[5:].sum()]
    assert labels(ax)[5:] == ["25 more rows"]


def test_a_single_other_row_is_in_the_singular():
    assert labels(made().op().plot(top=1)) == ["MatMul", "1 more row"]


def test_the_default_column_is_the_one_the_view_is_ordered_by():
    nodes = (node("a", "MatMul", micros=30, size=8), node("b", "Relu", micros=10, size=4000))
    made = profile(*nodes)

    ax = made.op(order_by="live_bytes").plot()

    assert bars(ax) == [[4000, 8]]
    assert ax.get_xlabel() == "live bytes (KB)"


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


def test_tree_totals_are_drawn_in_tree_order_with_their_own_part():
    view = tree().scope()

    ax = view.plot()

    shown = view.frame[view.frame["parent"] >= 0]
    assert bars(ax)[0] == shown["total_micros"].tolist()
    assert bars(ax)[1] == shown["micros"].tolist()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["total", "self"]


def test_a_tree_row_is_indented_and_named_without_its_parent():
    ax = tree().scope().plot()

    texts = [label.get_text() for label in ax.get_yticklabels()]
    assert labels(ax)[:3] == ["net", "conv", "Conv2D"]
    indents = [len(text) - len(text.lstrip()) for text in texts]
    assert indents[0] < indents[1] < indents[2]


def test_own_parts_and_the_rest_of_a_tree_add_up_to_the_total():
    view = tree().scope()

    for top in range(1, len(view.frame)):
        drawn = bars(view.plot(top=top))
        assert sum(map(sum, drawn[1:])) == view.frame["total_micros"].iloc[0]


def test_tree_rows_can_be_ranked_by_their_own_numbers():
    ax = tree().scope().plot("micros", top=2)

    assert labels(ax) == ["net/conv/Conv2D", "net/conv/BiasAdd", "6 more rows"]
    assert bars(ax) == [[50, 20], [20]]


def test_rows_of_zero_are_counted_but_not_drawn():
    ax = made(node("a", "MatMul", 30), node("b", "Relu", 0), node("c", "Mul", 0)).op().plot()

    assert labels(ax) == ["MatMul", "2 more rows"]


def test_a_column_of_zeros_is_drawn():
    ax = made().op().plot("accelerator_micros")

    assert bars(ax)[0] == [0]
    assert written(ax) == ["0 µs", "0 µs"]


def test_rows_with_unknown_numbers_are_counted_separately():
    view = made().op(select="float_ops,micros")
    view.frame.loc[1, "float_ops"] = math.nan

    ax = view.plot("float_ops")

    assert labels(ax) == ["MatMul", "1 more row"]
    assert written(ax)[-1] == "n/a"


def test_a_column_that_was_not_recorded_is_refused_with_the_reason():
    unknown = made(notes=("-light: memory is not recorded",))
    events = unknown.events.assign(live_bytes=math.nan)

    with pytest.raises(NbprofError, match=r"^live_bytes was not recorded.*: -light: memory is not"):
        unknown.with_values(events=events).op().plot("live_bytes")


@pytest.mark.parametrize("column", ["name", "params", "total_micros", "no such"])
def test_an_unknown_column_is_refused_with_a_list_of_the_columns(column):
    with pytest.raises(NbprofError, match=f"{column}.*it has micros, .*run_count, defined_count"):
        made().op().plot(column)


def test_a_plot_without_rows_or_numbers_is_refused_in_a_sentence():
    with pytest.raises(NbprofError, match="no rows to plot: nothing ran"):
        profile(notes=("nothing ran",)).scope().plot()
    with pytest.raises(NbprofError, match="no rows to plot"):
        profile().op().plot()
    with pytest.raises(NbprofError, match="no numbers to plot"):
        made().op(select="device").plot()
    with pytest.raises(NbprofError, match="at least 1, not 0"):
        made().op().plot(top=0)


def test_each_bar_is_followed_by_its_number_inside_the_axes():
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


def test_a_parsed_report_can_be_drawn():
    view = nbprof.parse_text((DATA / "printed" / "inception_op.txt").read_text(encoding="utf-8"))

    ax = view.plot(top=3)

    assert len(bars(ax)[0]) == 3
    assert_all_text_is_inside(ax)


def test_variables_are_drawn_by_their_parameters():
    made = profile(node("a", micros=1), variables=[variable("dense/kernel", "64x32")])

    ax = made.scope(select="params").plot()

    assert bars(ax)[0][0] == 2048
    assert ax.get_xlabel() == "parameters (k)"

"""All plots: no text is cut off, given Axes are respected, no setting changes."""

import math
import pickle

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text
from support.by_hand import node, profile
from support.plots_by_hand import (
    CELL,
    POOL,
    assert_all_text_is_inside,
    bars,
    labels,
    made,
    many,
    narrow_axes,
    of_two_devices,
    timed,
    with_memory,
)

from nbprof.display.plots import layout
from nbprof.display.plots.colours import PALETTE, theme_of
from nbprof.units import BYTES, COUNT, MICROS, format_short

pytestmark = pytest.mark.usefixtures("figures_closed")

LONG = "model/encoder/layer_with_quite_a_long_name_07/attention/self/query/MatMul"


def long_names():
    return profile(*(node(f"{LONG}_{row}", "MatMul", 1000 + row) for row in range(8)))


def test_a_long_name_is_cut_in_the_middle():
    ax = long_names().scope().plot("micros", top=2)

    assert all(
        "…" in name and name.endswith(end) for name, end in zip(labels(ax), "76", strict=False)
    )
    assert labels(ax)[0].startswith("model/")


@given(st.text(max_size=60), st.floats(0, 200))
def test_a_text_is_cut_to_fit_but_keeps_at_least_a_letter(text, width):
    cut = layout.shorten(text, width, len)

    assert cut == text or "…" in cut
    assert len(cut) <= max(width, 2)
    assert not text or set(cut) & set(text)
    if len(text) <= width:
        assert cut == text


NASTY = ["$a_b$", r"\frac{1}{2}$", "a\nb\tc", "\ud800", "%d{}", "", "<b>", "x" * 500, "名前", "_x"]


@pytest.mark.filterwarnings("ignore:Glyph .* missing:UserWarning")
@pytest.mark.parametrize("name", NASTY)
def test_any_name_can_be_drawn_and_is_not_read_as_a_formula(name):
    view = made(node("scope/" + name, name or "Op", 5), node("b", "Relu", 3)).op()

    ax = view.plot()

    assert_all_text_is_inside(ax)
    timeline = timed((name or "Op", CELL, 0, 9), ("Relu", POOL, 3, 9)).plot_timeline()
    assert_all_text_is_inside(timeline)
    if len(name) < 9 and name.isprintable():
        assert (name or "Op") in labels(ax)


def own_axes():
    return None


def short_axes():
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
    *(own_axes, narrow_axes, short_axes, constrained_axes, tight_axes),
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


@pytest.mark.parametrize("plot", PLOTS)
@pytest.mark.parametrize("make", AXES, ids=lambda make: make.__name__)
def test_no_text_is_outside_the_figure(plot, make):
    ax = PLOTS[plot](make())

    assert_all_text_is_inside(ax)


@pytest.mark.parametrize("plot", PLOTS)
def test_no_text_is_outside_a_figure_as_wide_as_a_papers_column(plot):
    with plt.rc_context({"figure.figsize": (3.3, 2.2), "font.size": 8}):
        ax = PLOTS[plot](None)

    assert ax.figure.get_size_inches()[0] == pytest.approx(3.3)
    assert_all_text_is_inside(ax)


@pytest.mark.parametrize("plot", PLOTS)
def test_two_plots_side_by_side_do_not_overlap(plot):
    left, right = plt.subplots(1, 2, figsize=(7, 3))[1]

    PLOTS[plot](left)
    PLOTS[plot](right)

    left.figure.canvas.draw()
    assert left.get_tightbbox().x1 <= right.get_tightbbox().x0


@pytest.mark.parametrize("plot", PLOTS)
def test_labels_of_rows_and_lanes_do_not_overlap(plot):
    for make in (own_axes, narrow_axes, short_axes):
        ax = PLOTS[plot](make())

        ax.figure.canvas.draw()
        boxes = [label.get_window_extent() for label in ax.get_yticklabels() if label.get_text()]
        middles = sorted((box.y0 + box.y1) / 2 for box in boxes)
        font = min(label.get_fontsize() for label in ax.get_yticklabels())
        assert min(np.diff(middles), default=99) >= 0.8 * font * ax.figure.dpi / 72


def test_a_short_axes_gets_fewer_rows_and_the_sum_of_the_others():
    view = many().op()

    ax = view.plot(ax=short_axes())

    drawn = bars(ax)
    assert 1 <= len(drawn[0]) < 20
    assert sum(map(sum, drawn)) == view.frame["micros"].sum()


def test_a_figure_with_more_rows_is_taller():
    few, more = many(3).op().plot(), many(20).op().plot()

    assert few.figure.get_size_inches()[1] < more.figure.get_size_inches()[1]


@pytest.mark.parametrize("plot", PLOTS)
def test_plotting_into_an_axes_does_not_touch_pyplot(plot):
    ax = Figure(figsize=(5, 4)).add_subplot()
    other = plt.subplots()[1]
    figures = plt.get_fignums()

    given = PLOTS[plot](ax)

    assert given is ax
    assert plt.get_fignums() == figures
    assert plt.gca() is other


@pytest.mark.parametrize("plot", PLOTS)
def test_plotting_shows_nothing_and_changes_no_setting(plot, monkeypatch):
    shown = []
    monkeypatch.setattr(plt, "show", lambda *_, **__: shown.append(1))
    before = dict(mpl.rcParams)

    PLOTS[plot](None)

    assert dict(mpl.rcParams) == before
    assert not shown


@pytest.mark.parametrize("plot", PLOTS)
def test_text_in_a_dark_figure_is_light_even_after_the_style_ended(plot):
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


def test_the_theme_has_the_colours_of_the_axes():
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


@pytest.mark.parametrize(
    ("number", "unit", "text"),
    [
        *((0, MICROS, "0 µs"), (12.345, MICROS, "12.3 µs")),
        *((999.4, MICROS, "999 µs"), (999.6, MICROS, "1 ms")),
        *((4.5e6, MICROS, "4.5 s"), (7.2e9, MICROS, "7200 s")),
        *((999, BYTES, "999 B"), (73_734_640, BYTES, "73.7 MB")),
        *((7_324_474_000, BYTES, "7.32 GB"), (12, COUNT, "12")),
        *((1_234_567, COUNT, "1.23 M"), (math.nan, COUNT, "n/a")),
    ],
)
def test_numbers_in_figures_have_three_digits_and_their_own_unit(number, unit, text):
    assert format_short(number, unit) == text

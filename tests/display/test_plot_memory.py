"""Memory over time: the curve of the frame, with its peak named."""

import math
from dataclasses import replace

import numpy as np
import pytest
from support.paths import DATA
from support.plots_by_hand import made, narrow_axes, of_two_devices, with_memory, written

import nbprof
from nbprof.display.plots import layout
from nbprof.errors import NbprofError

pytestmark = pytest.mark.usefixtures("figures_closed")


def curve(ax, device="cpu"):
    (line,) = [line for line in ax.lines if line.get_label() == f"_{device}"]
    return line


def test_the_curve_has_the_steps_of_the_frame():
    made = with_memory(("cpu", 10_000, 60_000, 4000), ("cpu", 20_000, math.nan, 1000))

    ax = made.plot_memory()

    frame = made.memory()
    line = curve(ax)
    assert line.get_drawstyle() == "steps-post"
    assert line.get_xdata().tolist() == [*frame["micros"], 100]
    assert line.get_ydata().tolist() == [*frame["live_bytes"], 1000]
    assert ax.get_ylabel() == "live memory (KB)"


def test_the_peak_is_marked_and_named():
    made = with_memory(("cpu", 10_000, 60_000, 4000), ("cpu", 20_000, math.nan, 1000))

    ax = made.plot_memory()

    (mark,) = [line for line in ax.lines if line.get_label() == "_peak of cpu"]
    assert (mark.get_xdata()[0], mark.get_ydata()[0]) == (20, 5000)
    assert "peak 5 KB at 20 µs" in written(ax)


@pytest.mark.parametrize("moment", [0, 50_000, 99_000])
def test_the_label_of_the_peak_is_inside_the_axes(moment):
    ax = with_memory(("cpu", moment, math.nan, 4000)).plot_memory(ax=narrow_axes())

    ax.figure.canvas.draw()
    (words,) = [text for text in ax.texts if text.get_text().startswith("peak")]
    box = words.get_window_extent()
    assert ax.bbox.x0 - 1 <= box.x0
    assert box.x1 <= ax.bbox.x1 + 1
    assert box.y1 <= ax.bbox.y1


def test_a_simplified_curve_keeps_its_peak_and_its_end():
    random = np.random.default_rng(2)
    start = np.sort(random.integers(0, 90_000, 20_000))
    rows = [
        ("cpu", int(one), int(one) + 100, int(size))
        for one, size in zip(start, random.integers(1, 999, 20_000), strict=True)
    ]
    made = with_memory(*rows)

    ax = made.plot_memory()

    frame, line = made.memory(), curve(ax)
    assert len(line.get_xdata()) < 6 * layout.size(ax)[0] * 2
    assert line.get_ydata().max() == frame["live_bytes"].max()
    assert line.get_ydata()[-1] == frame["live_bytes"].iloc[-1]
    points = set(zip(frame["micros"], frame["live_bytes"], strict=True))
    drawn = zip(line.get_xdata()[1:-1], line.get_ydata()[1:-1], strict=True)
    assert set(drawn) <= points


def test_each_device_has_a_line_and_its_peak_in_the_legend():
    ax = of_two_devices().plot_memory()

    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts[0].endswith("peak 5 KB at 0 µs")
    assert texts[1].endswith("peak 9 B at 0.001 µs")
    styles = {line.get_linestyle() for line in ax.lines if "peak" not in line.get_label()}
    assert len(styles) == 2


def test_steps_are_marked_above_the_curve():
    made = with_memory(("cpu", 0, 9, 9), steps=[(0, 20_000), (30_000, 20_000)])

    ax = made.plot_memory()

    (marked,) = [found for found in ax.collections if found.get_label() == "_steps"]
    assert len(marked.get_paths()) == 2
    assert {"0", "1"} <= set(written(ax))


def test_a_plot_without_recorded_memory_is_refused_with_the_reason():
    with pytest.raises(NbprofError, match="no memory over time was recorded: -light"):
        made(notes=("-light: no memory",)).plot_memory()
    folder = DATA / "tfprof"
    with pytest.raises(NbprofError, match="tfprof's inputs have no single allocations"):
        nbprof.load_tfprof(folder / "graph.pbtxt", [folder / "run_meta"]).plot_memory()


def test_only_related_notes_are_given_as_the_reason():
    notes = (
        *("no allocations in this trace: memory was not recorded", "run counts are lower bounds"),
        "no thread of Python is in this trace: profile.summary() cannot tell where time went",
    )
    trace = made(notes=notes)

    with pytest.raises(NbprofError) as refused:
        trace.plot_memory()
    assert str(refused.value) == f"no memory over time was recorded: {notes[0]}."
    events = trace.events.assign(live_bytes=np.nan)
    with pytest.raises(NbprofError) as refused:
        replace(trace, events=events).scope().plot("total_live_bytes")
    assert str(refused.value) == (
        f"total_live_bytes was not recorded, so there is no plot: {notes[0]}."
    )
    with pytest.raises(NbprofError) as refused:
        trace.op(show_name_regexes="zzz").plot()
    assert str(refused.value).startswith("this view has no rows to plot: -show_name_regexes zzz ")
    assert "lower bounds" not in str(refused.value)

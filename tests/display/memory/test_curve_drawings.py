"""The curve as inline SVG and as a matplotlib figure."""

import math
import re

import pytest
from support.memory_cases import marked_by_hand, result_by_hand
from support.memory_spikes import MIB

from nbprof.display.memory.curve_svg import TALL
from nbprof.memory.result import MemoryResult, MemoryRun
from nbprof.memory.sampler import Curve


@pytest.mark.parametrize("rise", [0, 0.02, 3, 200])
def test_the_label_of_the_peak_is_at_its_line_however_small_the_rise(rise):
    curve = Curve()
    curve.add(0, 100 * MIB, 100 * MIB, 0)
    curve.add(0.2, 100 * MIB, (100 + rise) * MIB, 0.2)
    peak = (100 + rise) * MIB
    run = MemoryRun(
        before=100 * MIB, peak=peak, after=100 * MIB, exact=True, seconds=0.2, curve=curve
    )

    html = MemoryResult((run,))._repr_html_()

    top, height = map(float, re.search(r'viewBox="0 (\S+) 600 (\S+)"', html).groups())
    label = float(re.search(r'y="(\S+)">peak', html)[1])
    dashed = float(re.search(r'd="M8 (\S+)H592"', html)[1])
    assert top < label < dashed <= label + 25
    assert height == pytest.approx(TALL - top)


def test_statements_are_drawn_with_their_line_numbers():
    html = result_by_hand()._repr_html_()

    assert re.findall(r"<title>(line .*?)</title>", html) == ["line 2 at 0 µs", "line 3 at 10 ms"]
    assert re.findall(r'fill-opacity=".6">(\d+)</text>', html) == ["2", "3"]


def test_gaps_break_the_line_of_the_drawing():
    html = result_by_hand()._repr_html_()

    line = re.search(r'<path d="(M[^"]+)" fill="none"', html)[1]
    assert line.count("M") == 2


@pytest.mark.usefixtures("figures_closed")
def test_gaps_break_the_line_of_the_figure():
    ax = result_by_hand().plot()

    held = ax.get_lines()[0].get_ydata()
    assert sum(math.isnan(size) for size in held) == 1
    assert ax.get_ylabel() == "MiB in RAM"
    assert result_by_hand().plot(ax=ax) is ax


def test_the_drawing_has_bands_for_steps_and_ops():
    html = marked_by_hand()._repr_html_()

    assert "<title>step 0: &lt;f&gt; at 20 ms for 170 ms</title>" in html
    assert "<title>MatMul (MatMul) at 30 ms for 150 ms, held up to 200.0 MiB</title>" in html
    assert re.findall(r">(steps|ops)</text>", html) == ["steps", "ops"]
    assert ">steps<" not in result_by_hand()._repr_html_()


@pytest.mark.usefixtures("figures_closed")
def test_the_figure_has_bands_for_steps_and_ops():
    ax = marked_by_hand().plot()

    bands = {band.get_gid(): band for band in ax.collections if band.get_gid()}
    starts = {
        kind: [path.vertices[:, 0].min() for path in band.get_paths()]
        for kind, band in bands.items()
    }
    assert starts == {"step": pytest.approx([0.02, 0.195]), "op": pytest.approx([0.03])}
    assert bands["op"].get_paths()[0].vertices[:, 0].max() == pytest.approx(0.18)


@pytest.mark.usefixtures("figures_closed")
def test_a_sample_between_two_gaps_is_a_dot():
    (run,) = result_by_hand().runs
    run.curve.gap[3] = 1
    result = MemoryResult((run,))

    html, ax = result._repr_html_(), result.plot()

    line = re.search(r'<path d="(M[^"]+)" fill="none"', html)[1]
    assert line.count("h0") == 2
    dots = ax.get_lines()[1]
    assert list(zip(*dots.get_data(), strict=True)) == [(0.2, 110), (0.21, 90)]

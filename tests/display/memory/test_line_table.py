"""Memory line by line, as memory_profiler's table, as HTML and as a frame."""

import math

from support.memory_spikes import MIB

from nbprof.memory.line_result import Line, LineMemory, Table

BY_HAND = LineMemory(
    (
        Table(
            "inference",
            "In [7]",
            (
                Line(126, "def inference(path):", 1, usage=243.2 * MIB, defines=True),
                Line(127, "    top = 5", 1, 0.0, 0.0, 243.2 * MIB),
                Line(128, "", 0),
                Line(129, "    graph = parse('<b>')", 3, 640.4 * MIB, 700 * MIB, 883.6 * MIB),
                Line(130, "    return graph", 1, -1.5 * MIB, 0.0, 882.1 * MIB),
            ),
        ),
    ),
    ("a <note>.",),
)


def test_the_text_is_memory_profilers_table(golden):
    golden.check("mprun.txt", BY_HAND.text)


def test_the_html_has_a_heat_map_and_escapes():
    html = BY_HAND._repr_html_()

    assert "parse(&#x27;&lt;b&gt;&#x27;)" in html
    assert "a &lt;note&gt;." in html
    assert html.count("background:rgba(217") == 1
    assert html.count("background:rgba(66") == 1
    assert "<script" not in html


def test_the_frame_has_nan_where_a_line_did_not_run():
    frame = BY_HAND.frame

    assert list(frame.columns[:5]) == ["line", "source", "hits", "growth_bytes", "peak_bytes"]
    assert math.isnan(frame["growth_bytes"][0])
    assert math.isnan(frame["growth_bytes"][2])
    assert frame["growth_bytes"][1] == 0

"""The curve as a live widget."""

import json
from array import array

from support.memory_cases import marked_by_hand
from support.memory_spikes import MIB


def test_the_widget_has_samples_and_marks_and_knows_what_is_shown():
    result = marked_by_hand()

    shown = result.explore()

    described = json.loads(shown.data)
    assert (described["peak"], described["exact"]) == (300 * MIB, True)
    assert [mark["short"] for mark in described["marks"]] == ["2", "3", "0", "MatMul", "1"]
    assert [mark["end"] for mark in described["marks"]] == [None, None, 0.19, 0.18, None]
    seconds, resident, most, gap = shown.buffers
    assert array("d", seconds).tolist() == [0, 0.01, 0.2, 0.21]
    assert (array("d", most)[2], array("b", gap).tolist()) == (300 * MIB, [0, 0, 1, 0])
    assert len(resident) == len(seconds)
    assert (shown.time_range, len(shown.selection)) == (None, 4)
    shown.chosen = {"range": [0.005, 0.2]}
    assert shown.time_range == (0.005, 0.2)
    assert shown.selection["seconds"].tolist() == [0.01, 0.2]
    bundle, _ = shown._repr_mimebundle_()
    assert "<svg" in bundle["text/html"]
    assert bundle["text/plain"].startswith("peak memory: 300.00 MiB")
    assert bundle["text/plain"].endswith(
        "needs a notebook; result.plot() draws the curve anywhere."
    )
    shown.close()
    assert shown.buffers == []

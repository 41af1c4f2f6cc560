"""A cell that ran out of memory: what its report leads with, from profiles made by hand."""

import math
from dataclasses import replace

import pandas as pd
import pytest
from support.by_hand import ALLOCATION, node, profile

import nbprof
from nbprof.display import html, text
from nbprof.display.explorer.payload import whole_payload
from nbprof.views.memory_errors import read_message
from nbprof.views.report import report_of

MADE, FAILED = (("In [2]", 5, "grow"),), (("In [3]", 4, "<module>"),)
IN_GRAPH = (
    "Graph execution error:\n\nDetected at node wide/MatMul defined at (most recent call last):\n"
    "<stack traces unavailable>\nOOM when allocating tensor with shape[4096,512] and type float on "
    "/job:localhost/replica:0/task:0/device:GPU:1 by allocator GPU_1_bfc\n"
    "\t [[{{node wide/MatMul}}]]\nHint: …\n [Op:__inference_step_33]"
)
EAGER = (
    "{{function_node __wrapped__Fill_device_/job:localhost/replica:0/task:0/device:CPU:0}} OOM "
    "when allocating tensor with shape[7,3] and type double on /job:localhost/replica:0/task:0/"
    "device:CPU:0 by allocator mklcpu [Op:Fill] name: "
)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (IN_GRAPH, (4096 * 512 * 4, "[4096,512]", "float", "GPU:1", "wide/MatMul", "")),
        (EAGER, (7 * 3 * 8, "[7,3]", "double", "CPU:0", "", "Fill")),
        (
            "OOM when allocating tensor with shape[] and type bfloat16 on CPU by allocator cpu",
            (2, "[]", "bfloat16", "CPU", "", ""),
        ),
        (
            "Unable to allocate 8.00 TiB for an array with shape (1024, 2) and data type float64",
            (1024 * 2 * 8, "[1024,2]", "float64", "", "", ""),
        ),
        (
            "Out of memory while trying to allocate 4.00TiB. [Op:__inference_f_238]",
            (4 * 2**40, "", "", "", "f", ""),
        ),
        (
            "Out of memory while trying to allocate 68719476736 bytes.",
            (68_719_476_736, "", "", "", "", ""),
        ),
        ("failed to allocate memory [Op:AddV2]", (math.nan, "", "", "", "", "AddV2")),
        ("", (math.nan, "", "", "", "", "")),
    ],
)
def test_a_message_says_what_was_asked_for_and_by_what(message, expected):
    found = read_message(message)

    size, *texts = expected
    assert found.asked_bytes == pytest.approx(size, nan_ok=True)
    assert [found.shape, found.dtype, found.device, found.op, found.op_type] == texts


def failed_cell(message=IN_GRAPH, error="ResourceExhaustedError", traced_ns=2_500_000, rows=()):
    """Return a cell whose second run of wide/MatMul, from 1,000 to 2,000 µs, failed."""
    cell = profile(
        node("noise", "RandomUniform", micros=10, stack=MADE, layer="model/noise"),
        node("wide/MatMul", "MatMul", micros=5, stack=MADE, layer="model/wide"),
        node("wide/MatMul", "MatMul", micros=1000, stack=MADE, layer="model/wide"),
    )
    cell.events.loc[2, "start_ns"] = 1_000_000
    cell.layers.loc[cell.layers["name"] == "outside layers", "kind"] = ""
    return cell.with_values(
        allocations=pd.DataFrame(rows, columns=ALLOCATION),
        recording=replace(
            cell.recording,
            traced_ns=traced_ns,
            error=error,
            error_message=message,
            error_line="In [3]:4:<module>",
        ),
    )


LIVED = [
    (0, 0, "GPU:1", 100_000, math.nan, 3000, "output", "[750]", "float32"),
    (0, 0, "GPU:1", 200_000, 900_000, 90_000, "output", "[22500]", "float32"),
    (0, 0, "GPU:1", 1_200_000, 1_700_000, 5000, "output", "[1250]", "float32"),
    (-1, -1, "GPU:1", 1_800_000, math.nan, 2000, "", "", ""),
]
"""Alive before and during the failed run; only before; during, at its fullest; during its end."""


def test_it_names_the_op_the_layer_and_the_line_that_made_it_and_the_line_that_ran_it():
    found = failed_cell(rows=LIVED).out_of_memory()

    assert (found.op, found.op_type, found.layer) == ("wide/MatMul", "MatMul", "model/wide")
    assert (found.made_at, found.raised_at) == ("In [2]:5:grow", "In [3]:4:<module>")


def test_what_was_alive_is_what_filled_memory_while_the_run_asked():
    found = failed_cell(rows=LIVED).out_of_memory()

    assert found.is_then
    assert found.alive["bytes"].tolist() == [5000, 3000]
    assert found.alive["source"].tolist() == ["In [2]:5:grow"] * 2
    assert found.alive["layer"].tolist() == ["model/noise"] * 2


def test_only_memory_of_the_device_that_ran_out_is_listed():
    elsewhere = (0, 0, "cpu", 100, math.nan, 70_000, "output", "[17500]", "float32")

    found = failed_cell(rows=[*LIVED, elsewhere]).out_of_memory()
    unknown = failed_cell("", "MemoryError", rows=[*LIVED, elsewhere]).out_of_memory()

    assert found.alive["bytes"].tolist() == [5000, 3000]
    assert unknown.alive["bytes"].tolist() == [70_000, 3000, 2000]


def test_without_a_trace_of_that_moment_it_is_what_was_alive_at_the_peak():
    served = (2, 1, "GPU:1", 1_000_500, 1_900_000, 8_388_608, "output", "[4096,512]", "float32")

    found = failed_cell(rows=[*LIVED, served]).out_of_memory()
    lead = failed_cell(rows=[*LIVED, served]).op().lead

    assert not found.is_then
    assert found.alive["bytes"].max() == 8_388_608
    assert "the trace does not reach that moment" in lead.sentences[-1]


def test_pythons_own_memory_error_has_what_was_alive_at_the_end():
    found = failed_cell("", "MemoryError", rows=LIVED).out_of_memory()
    cut = failed_cell("", "MemoryError", traced_ns=1000, rows=LIVED).out_of_memory()

    assert found.alive["bytes"].tolist() == [3000, 2000]
    assert found.is_then
    assert not cut.is_then


@pytest.mark.parametrize("rows", [(), LIVED])
def test_every_face_of_a_report_leads_with_it(rows, tmp_path):
    view = failed_cell(rows=rows).op()
    title = "out of memory: MatMul asked for 8.39 MB for float [4096,512] on GPU:1"
    place = "layer model/wide, made at In [2]:5:grow, run at In [3]:4:<module>"

    view.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    described = whole_payload(report_of(view)).described["lead"]

    assert text.report(view).splitlines()[1] == title
    assert place in text.report(view).splitlines()[2]
    assert title in html.report(view)
    assert "In [3]:4:&lt;module&gt;" in html.report(view)
    assert page.index("raised ResourceExhaustedError after") < page.index(title)
    assert described["title"] == title
    assert len(described["rows"]) == len(view.lead.rows) == (2 if rows else 0)


def test_small_tensors_are_counted_but_not_listed():
    small = (0, 0, "GPU:1", 1, math.nan, 4, "output", "[1]", "float32")

    lead = failed_cell(rows=[*LIVED, *[small] * 20]).op().lead

    assert "8.08 KB in 22 tensors, the 2 largest" in lead.sentences[-1]
    assert len(lead.rows) == 2


def test_the_text_with_a_lead_can_be_read_back():
    view = failed_cell(rows=LIVED).op()

    assert list(nbprof.parse_text(view.text).frame["name"]) == list(view.frame["name"])


def test_a_saved_profile_leads_with_the_same(tmp_path):
    cell = failed_cell(rows=LIVED)
    cell.save(tmp_path / "cell.nbprof")

    loaded = nbprof.load(tmp_path / "cell.nbprof")

    assert loaded.headline == cell.headline
    assert loaded.op().lead == cell.op().lead


@pytest.mark.parametrize("error", ["", "ValueError", "KeyboardInterrupt"])
def test_other_cells_have_no_lead(error):
    cell = failed_cell(error=error, rows=LIVED)

    assert cell.out_of_memory() is None
    assert cell.op().lead is None


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ("ValueError", "raised ValueError after 2.5 ms wall"),
        ("KeyboardInterrupt", "interrupted after 2.5 ms wall"),
        ("", "2.5 ms wall"),
    ],
)
def test_the_headline_says_how_the_cell_ended(error, expected):
    assert f" · {expected} · " in failed_cell(error=error).headline

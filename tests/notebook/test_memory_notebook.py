"""The notebook about memory runs and shows what its text and docs/memory.md promise."""

import re

import nbformat
import pytest
from nbclient import NotebookClient
from support.front_ends import Shell
from support.paths import TOP

from nbprof.flags import MEMORY, flags_of

pytestmark = pytest.mark.notebook

NOTEBOOK = TOP / "examples" / "notebooks" / "memory.ipynb"


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    resources = {"metadata": {"path": str(tmp_path_factory.mktemp("notebook"))}}
    NotebookClient(notebook, timeout=300, resources=resources).execute()
    return {cell.id: cell.outputs for cell in notebook.cells if cell.cell_type == "code"}


def text(output):
    return output.get("data", {}).get("text/plain", output.get("text", ""))


def amount(words, report):
    return float(re.search(rf"{words} ([\d.]+) MiB", report)[1])


def test_a_momentary_peak_is_found(outputs):
    report = text(outputs["spike"][0])

    assert amount("increment:", report) == pytest.approx(200, abs=2)
    assert amount("after", report) - amount("before", report) < 5
    assert "<svg" in outputs["spike"][0]["data"]["text/html"]


def test_freed_memory_is_not_returned_although_nobody_holds_it(outputs):
    kept = text(outputs["keep"][0])
    names = text(outputs["who"][0])
    again = text(outputs["again"][0])

    assert amount("freed but kept by the allocator", kept) > 150
    assert amount("before", kept) - amount("after", kept) < 40
    assert re.search(r"pieces \| +list \| +3\.\d\d MB", names)
    assert amount("increment:", again) < 60


def test_a_trim_returns_memory_that_nobody_held(outputs):
    report = text(outputs["v"][0])

    assert amount("returned by trimming the allocator", report) > 50


def test_after_a_trim_the_same_pieces_count_in_full(outputs):
    trimmed = amount("increment:", text(outputs["trimmed"][0]))

    assert trimmed > 100
    assert trimmed > amount("increment:", text(outputs["again"][0])) + 50


def test_the_curve_is_shown_with_and_without_widgets(outputs):
    (shown,) = outputs["curve"]

    assert "application/vnd.jupyter.widget-view+json" in shown["data"]
    assert "<svg" in shown["data"]["text/html"]


def test_the_report_shows_what_a_cell_left_behind(outputs):
    left, deleted = text(outputs["left"][0]), text(outputs["delete"][0])

    assert re.search(r"first_rows .* new$", left, re.M)
    assert re.search(r"measurements .* gone$", deleted, re.M)
    assert re.search(r"first_rows .* grown$", deleted, re.M)


def test_no_cell_fails_and_the_file_has_no_outputs(outputs):
    kinds = {output.output_type for cell in outputs.values() for output in cell}
    bare = nbformat.read(NOTEBOOK, as_version=4)

    assert "error" not in kinds
    assert not any(cell.get("outputs") for cell in bare.cells)


@pytest.mark.parametrize("magic", MEMORY)
def test_the_page_names_every_flag(magic):
    page = (TOP / "docs" / "memory.md").read_text(encoding="utf-8")

    for flag in flags_of(magic):
        assert f"`-{flag}" in page


@pytest.mark.tensorflow
def test_a_profiled_cell_reports_the_same_memory_as_memit_around_it():
    pytest.importorskip("tensorflow")
    shell = Shell()
    try:
        shell.run("%load_ext nbprof")
        shell.run("import tensorflow as tf, numpy as np\ntf.ones([2])")

        outcome = shell.run("%%memit\n%%tfprof\nnp.ones(26_214_400).sum()\ntf.ones([2]);")

        profiled, around = outcome.shown
        found = re.search(r"peak memory \d+ MiB, \+(\d+) MiB", profiled.splitlines()[0])
        assert float(found[1]) == pytest.approx(200, abs=20)
        assert amount("increment:", around) >= float(found[1]) - 1
    finally:
        shell.close()

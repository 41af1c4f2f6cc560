"""The live widgets in a real kernel, without a browser."""

import json

import nbformat
import pytest
from support.front_ends import Kernel
from support.paths import TOP

pytestmark = pytest.mark.notebook

WIDGET = "application/vnd.jupyter.widget-view+json"
VIEW = f"""
import sys
sys.path.append({str(TOP / "tests")!r})
from support.by_hand import node, profile
view = profile(
    node("dense/MatMul", "MatMul", micros=3),
    node("dense/BiasAdd", "BiasAdd", micros=2),
    node("loss", "Sum", micros=1),
).scope()
"""


@pytest.fixture(scope="module")
def kernel():
    opened = Kernel()
    opened.run("%load_ext nbprof")
    opened.run(VIEW)
    yield opened
    opened.close()


def shown(kernel, source):
    """Run a cell and return its only output, by mime type."""
    cell = nbformat.v4.new_code_cell(source)
    kernel.notebook.cells.append(cell)
    kernel.client.execute_cell(cell, len(kernel.notebook.cells) - 1)
    (output,) = cell.outputs
    return output.data


@pytest.mark.parametrize("show", ["view.explore()", "display(view.explore())"])
def test_the_widget_and_a_plain_table_are_shown(kernel, show):
    data = shown(kernel, show)

    assert data[WIDGET]["model_id"] == eval(kernel.run("view.explore().model_id").value)
    assert "<table>" in data["text/html"]
    assert "the explorer needs a notebook" in data["text/plain"]


def test_the_front_end_receives_every_row_and_the_raw_columns(kernel):
    model = shown(kernel, "view.explore()")[WIDGET]["model_id"]

    state = kernel.client.widget_state[model]
    described = json.loads(state["data"])
    assert state["_model_module"] == "anywidget"
    assert "export default" in state["_esm"]
    assert [packed["rows"] for packed in described["views"]] == [
        packed["of"] for packed in described["views"]
    ]
    sent = kernel.client.widget_buffers[model]
    assert sum(path[0] == "buffers" for path in sent) == int(
        kernel.run("len(view.explore().buffers)").value
    )


def test_what_is_selected_in_the_front_end_is_a_frame_in_python(kernel):
    model = shown(kernel, "view.explore()")[WIDGET]["model_id"]
    place = kernel.run("view.explore().chosen['view']").value

    kernel.tell_widget(
        model, chosen={"view": int(place), "rows": [1, 3], "line": "%tfprof scope", "range": [1, 2]}
    )

    assert (
        kernel.run("list(view.explore().selection['name'])").value
        == kernel.run("list(view.frame['name'].iloc[[1, 3]])").value
    )
    assert kernel.run("view.explore().time_range").value == "(1, 2)"
    assert kernel.run("view.explore().line").value == "'%tfprof scope'"


def test_a_closed_widget_says_so(kernel):
    outcome = kernel.run("closed = view.explore()\nclosed.close()\nclosed")

    assert outcome.value == "<Explorer: closed>"
    assert outcome.error is None


def test_the_curve_of_a_cells_memory_is_a_widget_too(kernel):
    data = shown(kernel, "curve = %memit -oq bytearray(2**22)\ncurve.explore()")

    assert WIDGET in data

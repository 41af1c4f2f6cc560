"""The widget without a browser: what Python sends, and how it answers."""

import gc
import json
import subprocess
import sys
import weakref
from dataclasses import replace

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from support.by_hand import node, profile

from nbprof.errors import NbprofError

pytestmark = pytest.mark.core("explorer")

SMALL = profile(
    node("dense/MatMul", "MatMul", micros=3),
    node("dense/BiasAdd", "BiasAdd", micros=2),
    node("loss", "Sum", micros=1),
)


@pytest.fixture
def view():
    shown = SMALL.scope()
    yield shown
    shown.explore().close()


def test_the_selection_is_part_of_the_frame_of_the_shown_view(view):
    explorer = view.explore()
    assert explorer.view is view
    assert list(explorer.selection.columns) == list(view.frame.columns)
    assert len(explorer.selection) == 0

    assert explorer.time_range is None
    explorer.chosen = {"view": 0, "rows": [0, 2], "line": "%tfprof op", "range": [1, 2.5]}

    assert explorer.time_range == (1, 2.5)
    assert list(explorer.selection["name"]) == ["MatMul", "Sum"]
    assert explorer.line == "%tfprof op"


def test_the_selection_has_averages_if_the_view_is_per_step():
    steps = profile(
        node("a/slow", "Slow", micros=6, step=0),
        node("a/often", "Often", micros=4, step=0),
        node("a/often", "Often", micros=4, step=1),
        steps=2,
    )
    view = steps.scope()
    explorer = view.explore()
    row = list(view.frame["name"]).index("a/often")

    explorer.chosen = {"view": 1, "per_step": True, "rows": [row], "line": "", "range": None}

    assert explorer.view.options.step == -1
    assert explorer.selection[["name", "micros"]].to_numpy().tolist() == [["a/often", 4.0]]
    assert list(view.frame["name"]) != list(explorer.view.frame["name"])
    explorer.close()


def test_the_kernel_answers_with_the_amounts_of_a_stretch_of_time(monkeypatch):
    timed = replace(SMALL, events=SMALL.events.assign(start_ns=[1000, 2000, 3000]))
    explorer = timed.scope().explore()
    sent = []
    monkeypatch.setattr(explorer, "send", sent.append)

    explorer._answer(explorer, {"range": [2, 3]}, [])

    names = [timed.nodes["name"][node] for node in timed.events["node"]]
    ran = dict(zip(names, sent[0]["events"], strict=True))
    assert ran == {"dense/MatMul": 0, "dense/BiasAdd": 1, "loss": 0}
    assert sum(sent[0]["micros"]) == 2
    explorer.close()


def test_a_view_has_one_explorer_until_it_is_closed(view):
    first = view.explore()

    assert view.explore() is first
    first.close()
    assert view.explore() is not first


def test_closing_frees_what_the_widget_holds():
    view = SMALL.op()
    explorer = view.explore()
    frame = weakref.ref(view.frame)

    explorer.close()
    del view
    gc.collect()

    assert (explorer.data, explorer.buffers) == ("", [])
    assert frame() is None
    assert repr(explorer) == "<Explorer: closed>"
    with pytest.raises(NbprofError, match="this explorer is closed"):
        _ = explorer.selection


def test_the_widget_receives_raw_buffers_and_every_row(view):
    explorer = view.explore()
    data = json.loads(explorer.data)

    assert "sizes" not in data
    assert all(isinstance(buffer, bytes) for buffer in explorer.buffers)
    assert all(packed["rows"] == packed["of"] for packed in data["views"])


def test_front_ends_without_widgets_get_a_plain_table(view):
    data, _ = view.explore()._repr_mimebundle_()

    assert "application/vnd.jupyter.widget-view+json" in data
    assert "<table>" in data["text/html"]
    assert "<script" not in data["text/html"]


def test_a_terminal_gets_the_text_of_the_report_and_a_hint(view):
    data, _ = view.explore()._repr_mimebundle_()
    InteractiveShell.clear_instance()

    assert data["text/plain"].startswith(view.text)
    assert data["text/plain"].endswith(
        "the explorer needs a notebook. view.to_html(path) writes it as a page.\n"
    )
    assert repr(view.explore()) == data["text/plain"]
    InteractiveShell.instance()
    assert repr(view.explore()).startswith("<Explorer of the scope view: nbprof In [1]")
    InteractiveShell.clear_instance()


def test_the_default_output_has_no_widget(view):
    assert set(view._repr_mimebundle_()) == {"text/plain", "text/html"}


def test_the_flag_explore_shows_the_widget_of_the_bound_view(tmp_path):
    SMALL.save(tmp_path / "small.nbprof")
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "nbprof")

    with capture_output() as captured:
        shell.run_line_magic(
            "tfprof", f"scope -from {tmp_path / 'small.nbprof'} -explore -o kept", 1
        )

    (shown,) = captured.outputs
    assert "application/vnd.jupyter.widget-view+json" in shown.data
    explorer = shell.user_ns["kept"].explore()
    model = shown.data["application/vnd.jupyter.widget-view+json"]["model_id"]
    assert explorer.model_id == model
    explorer.close()
    InteractiveShell.clear_instance()


def test_loading_the_extension_imports_no_widgets():
    heavy = {"numpy", "pandas", "tensorflow", "ipywidgets", "anywidget"}
    program = (
        "import sys\n"
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "InteractiveShell.instance().run_line_magic('load_ext', 'nbprof')\n"
        f"print(sorted({heavy!r} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert done.stdout == "[]\n", done.stderr

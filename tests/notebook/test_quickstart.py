"""The quickstart notebook and `make demo` do what the README says."""

import re
import shutil
import subprocess
import sys

import nbformat
import pytest
from support.front_ends import Shell
from support.paths import TOP

pytestmark = [pytest.mark.core("notebook"), pytest.mark.tensorflow, pytest.mark.notebook]

NOTEBOOK = TOP / "examples" / "notebooks" / "quickstart.ipynb"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return a copy of the examples, so that no other run of the demo overwrites the results."""
    place = tmp_path_factory.mktemp("demo")
    shutil.copytree(TOP / "examples", place / "examples")
    return place


@pytest.fixture(scope="module")
def demo(place):
    return subprocess.run(
        [sys.executable, place / "examples" / "demo.py"],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_demo_runs_and_prints_tables(demo):
    assert demo.returncode == 0, demo.stdout + demo.stderr
    assert demo.stdout.count("Profile:\nnode name | ") >= 5
    assert "Conv2D" in demo.stdout


def test_the_demo_prints_what_each_cell_shows(demo):
    steps = re.split(r"^\[\d+/\d+\] .*s$", demo.stdout, flags=re.MULTILINE)[1:]
    install, imports, data, *rest = steps

    assert not install.strip() + imports.strip() + data.strip()
    assert all(text.strip() for text in rest)
    assert "high: retracing" in demo.stdout
    assert "a figure: see the notebook or the page" in demo.stdout
    assert "cpu_micros_percent" in demo.stdout
    assert "a live widget: make lab" in demo.stdout
    assert "needs a notebook" not in demo.stdout


def test_the_demo_names_its_results_and_the_next_step(demo):
    assert "build/demo/quickstart.ipynb" in demo.stdout
    assert "build/demo/quickstart.html" in demo.stdout
    assert "make lab" in demo.stdout


def test_the_executed_notebook_and_the_page_contain_the_reports(demo, place):
    notebook = nbformat.read(place / "build" / "demo" / "quickstart.ipynb", as_version=4)
    page = (place / "build" / "demo" / "quickstart.html").read_text(encoding="utf-8")

    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert sum("text/html" in output.get("data", {}) for output in outputs) >= 5
    assert page.count('class="nbprof"') >= 5
    assert "cdn" not in page.partition("<body")[0].lower()


def test_the_executed_notebook_contains_a_plot_and_advice(demo, place):
    notebook = nbformat.read(place / "build" / "demo" / "quickstart.ipynb", as_version=4)

    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    texts = [output.get("data", {}).get("text/plain", "") for output in outputs]
    assert any("high: retracing" in text and "largest_eigenvalue" in text for text in texts)


def test_the_widget_is_in_the_notebook_and_its_table_on_the_page(demo, place):
    notebook = nbformat.read(place / "build" / "demo" / "quickstart.ipynb", as_version=4)
    page = (place / "build" / "demo" / "quickstart.html").read_text(encoding="utf-8")

    (widget,) = (cell for cell in notebook.cells if cell.id == "explore-code")
    (shown,) = (output.data for output in widget.outputs)
    assert "application/vnd.jupyter.widget-view+json" in shown
    assert re.search(r"nbprof In \[\d+\]", shown["text/html"])[0] in page
    assert "widget-view" not in page
    reports = [cell for cell in notebook.cells if "data-nbprof" in str(cell.get("outputs"))]
    assert len(reports) >= 5
    assert "make lab opens the notebook" in demo.stdout


def test_the_notebook_is_committed_without_outputs():
    assert not any(cell.get("outputs") for cell in nbformat.read(NOTEBOOK, as_version=4).cells)


@pytest.mark.parametrize(
    ("nbprof", "installed"), [("there", []), ("missing", ["install -q nbprof"])]
)
def test_the_notebook_installs_nbprof_only_where_it_is_missing(monkeypatch, nbprof, installed):
    source = {cell.id: cell.source for cell in nbformat.read(NOTEBOOK, as_version=4).cells}
    if nbprof == "missing":
        monkeypatch.setitem(sys.modules, "nbprof", None)
    asked = []
    shell = Shell()
    shell.shell.register_magic_function(asked.append, "line", "pip")

    outcome = shell.run(source["install-code"])
    shell.close()

    assert outcome.error is None
    assert asked == installed


def test_the_badge_opens_this_notebook_in_colab():
    title = nbformat.read(NOTEBOOK, as_version=4).cells[0].source

    address = re.search(r"\(https://colab\.research\.google\.com/github/(.+)\)", title)[1]
    owner, repository, blob, branch, path = address.split("/", 4)
    assert (repository, blob, branch) == ("nbprof", "blob", "main")
    assert TOP / path == NOTEBOOK
    assert f"`{owner}/{repository}`" in (TOP / "CONTRIBUTING.md").read_text(encoding="utf-8")

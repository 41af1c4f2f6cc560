"""A column is one entry and a view is one file and one entry, as CONTRIBUTING.md shows them."""

import json
import re
import runpy
from dataclasses import replace

import pytest
from IPython.core.interactiveshell import InteractiveShell
from support.by_hand import node, profile
from support.paths import TOP

import nbprof
import nbprof.columns
import nbprof.view_kinds
import nbprof.views
from nbprof.columns import COLUMNS
from nbprof.display import html
from nbprof.display.explorer.payload import whole_payload
from nbprof.errors import NbprofError
from nbprof.magics.help_and_completion import completions, help_text
from nbprof.view_kinds import VIEWS, op_views
from nbprof.views.report import report_of

pytestmark = pytest.mark.core("reports")

CONTRIBUTING = (TOP / "CONTRIBUTING.md").read_text(encoding="utf-8")


def code_in_contributing(name):
    """Return the code below a comment in CONTRIBUTING.md."""
    return re.search(rf"<!-- {name} -->\n```python\n(.*?)```", CONTRIBUTING, re.DOTALL)[1]


def page_written_by(script, function):
    """Return the page that a script in docs/ writes."""
    return runpy.run_path(str(TOP / "docs" / script))[function]()


@pytest.fixture
def column(monkeypatch):
    """Declare the column of CONTRIBUTING.md."""
    declared = eval(code_in_contributing("column"), vars(nbprof.columns))
    monkeypatch.setitem(COLUMNS, declared.name, declared)
    return declared


@pytest.fixture
def view(monkeypatch, tmp_path):
    """Add the view of CONTRIBUTING.md: a file in nbprof/views and an entry in VIEWS."""
    (tmp_path / "device.py").write_text(code_in_contributing("view"), encoding="utf-8")
    monkeypatch.setattr(nbprof.views, "__path__", [*nbprof.views.__path__, str(tmp_path)])
    declared = eval(code_in_contributing("entry"), vars(nbprof.view_kinds))
    monkeypatch.setitem(VIEWS, declared.name, declared)
    return declared


@pytest.fixture
def cell():
    """Return a profile whose ops missed the cache 3 and 4 times, on two devices."""
    made = profile(
        node("dense/MatMul", "MatMul", micros=30),
        node("dense/Relu", "Relu", micros=10, device="/device:GPU:0"),
    )
    return made.with_values(events=made.events.assign(cache_misses=[3.0, 4.0]))


@pytest.fixture
def shell(cell, monkeypatch):
    """Return a shell whose last profile is that cell."""
    monkeypatch.setattr("nbprof.magics.profiling_magics.last", lambda: cell)
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "nbprof")
    yield shell
    InteractiveShell.clear_instance()


def explorer_of(shown):
    """Return the description that the explorer of a view receives."""
    return whole_payload(report_of(shown)).described


# A column


def test_a_new_column_adds_up_in_every_view(column, cell):
    assert cell.op(select="cache_misses").frame["cache_misses"].sum() == 7
    for name in ("scope", "graph", "code", "layer"):
        frame = cell.view(name, select="cache_misses").frame
        assert frame["total_cache_misses"][0] == 7


def test_a_new_column_is_not_recorded_in_profiles_without_it(column):
    frame = profile(node("a", micros=1)).op(select="cache_misses").frame

    assert frame["cache_misses"].isna().all()


def test_the_magic_selects_sorts_and_filters_by_a_new_column(column, shell, capsys):
    line = "op -select cache_misses -order_by cache_misses -min_cache_misses 4 -o shown"
    shell.run_line_magic("tfprof", line)

    assert shell.user_ns["shown"].frame["name"].tolist() == ["Relu"]
    assert "node name | cache misses" in capsys.readouterr().out


def test_a_new_column_is_completed_and_in_the_help(column):
    assert completions("%tfprof op -select cache", "cache") == ["cache_misses"]
    assert completions("%tfprof op -order_by cache", "cache") == ["cache_misses"]
    assert "-min_cache_misses" in completions("%tfprof op -min_c", "-min_c")
    assert "-min_cache_misses N" in help_text("tfprof")


def test_a_new_column_is_in_the_text_and_is_read_back_from_it(column, cell):
    for name in ("op", "scope"):
        shown = cell.view(name, select="micros,cache_misses")

        again = nbprof.parse_text(shown.text)

        assert f"{column.title}: {column.help}" in shown.text
        assert again.frame["cache_misses"].equals(shown.frame["cache_misses"])


def test_a_new_column_is_in_the_script_free_page_and_in_the_explorer(column, cell):
    shown = cell.scope(select="cache_misses")

    described = explorer_of(shown)

    assert f'title="{column.help}">{column.title}' in html.report(shown)
    packed = [packed for view in described["views"] for packed in view["columns"]]
    assert {entry["help"] for entry in packed if entry["column"] == "cache_misses"} == {column.help}
    assert "cache_misses" in described["kinds"]["weights"]


def test_a_new_column_is_in_csv_and_json(column, cell, tmp_path):
    shown = cell.op(select="cache_misses")
    shown.to_csv(tmp_path / "x.csv")
    shown.to_json(tmp_path / "x.json")

    header, first, _ = (tmp_path / "x.csv").read_text(encoding="utf-8").splitlines()
    fields = json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))["schema"]["fields"]
    assert header.split(",")[1] == "cache_misses"
    assert first.split(",")[:2] == ["MatMul", "3.0"]
    (field,) = [field for field in fields if field["name"] == "cache_misses"]
    assert (field["type"], field["description"]) == ("number", column.help)


def test_a_new_column_survives_saving_and_loading(column, cell, tmp_path):
    cell.save(tmp_path / "x.nbprof")

    loaded = nbprof.load(tmp_path / "x.nbprof")

    assert loaded.op(select="cache_misses").text == cell.op(select="cache_misses").text


def test_a_file_whose_new_column_holds_text_is_refused(column, cell, tmp_path):
    cell.with_values(events=cell.events.assign(cache_misses="many")).save(tmp_path / "x.nbprof")

    with pytest.raises(NbprofError, match=r"events\.cache_misses should hold numbers"):
        nbprof.load(tmp_path / "x.nbprof")


def test_a_new_column_is_in_the_generated_docs(column):
    page = page_written_by("make_columns.py", "columns_page")
    reference = page_written_by("make_reference.py", "reference_page")

    assert f"| `cache_misses` | cache misses | `cache_misses` |  | {column.help}. |" in page
    assert "`-min_cache_misses N`" in reference


def test_a_column_can_be_limited_to_some_views(column, cell, monkeypatch):
    monkeypatch.setitem(COLUMNS, column.name, replace(column, views=("op",)))

    op, scope = (cell.view(name, select="micros,cache_misses") for name in ("op", "scope"))

    assert "cache_misses" in op.frame
    assert op.notes == ()
    assert "cache_misses" not in scope.frame
    assert scope.notes == ("the scope view has no cache_misses; these have it: op",)


@pytest.mark.parametrize("name", [name for name in COLUMNS if len(COLUMNS[name].metrics) == 1])
def test_the_only_metric_of_a_column_has_the_columns_name(name):
    assert COLUMNS[name].metrics == (name,)


# A view


def test_a_new_view_is_a_method_of_profiles(view, cell):
    shown = cell.device()

    assert shown.name == "device"
    assert "device:GPU:0/dense/Relu" in shown.frame["name"].tolist()
    assert shown.frame["total_micros"][0] == 40
    assert "device" in dir(cell)
    assert view.doc in cell.device.__doc__


def test_the_magic_shows_a_new_view(view, shell, capsys):
    shell.run_line_magic("tfprof", "device -max_depth 2 -o shown")

    assert shell.user_ns["shown"].name == "device"
    assert "device:CPU:0 (" in capsys.readouterr().out


def test_a_new_view_is_completed_and_in_the_help(view):
    assert "device" in completions("%tfprof de", "de")
    assert "device" in help_text("tfprof").split("[options]")[0]


def test_a_new_view_is_in_the_text_and_is_read_back_from_it(view, cell):
    shown = cell.device()

    again = nbprof.parse_text(shown.text)

    assert f"\ndevice: {view.doc}\n" in shown.text
    assert again.name == "device"
    assert again.frame["name"].tolist() == shown.frame["name"].tolist()


def test_a_new_view_is_in_the_script_free_page_and_in_the_explorer(view, cell):
    described = explorer_of(cell.op())

    assert "<b>device</b>, 7 rows" in html.report(cell.device())
    assert [packed["name"] for packed in described["views"]] == list(op_views())
    assert view.doc in [packed["doc"] for packed in described["views"]]


def test_a_new_view_is_in_csv_and_json(view, cell, tmp_path):
    cell.device().to_csv(tmp_path / "x.csv")
    cell.device().to_json(tmp_path / "x.json")

    assert "device:GPU:0/dense/Relu" in (tmp_path / "x.csv").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))["name"] == "device"


def test_a_new_view_draws_a_timeline(view, cell, tmp_path):
    (path,) = cell.device(output=f"timeline:outfile={tmp_path / 'x'}").write_output()

    assert "dense/Relu" in path.read_text(encoding="utf-8")


def test_a_new_view_is_in_the_generated_docs(view):
    reference = page_written_by("make_reference.py", "reference_page")

    assert f"| `device` | {view.doc} |" in reference


def test_an_unknown_view_is_neither_a_method_nor_listed(cell):
    with pytest.raises(AttributeError, match="device"):
        cell.device()
    assert "device" not in dir(cell)


def test_an_error_inside_a_table_is_not_mistaken_for_a_missing_view():
    def fail():
        raise AttributeError("the table could not be made")

    broken = profile(node("a")).with_values(values=fail)

    with pytest.raises(AttributeError, match="the table could not be made"):
        _ = broken.values

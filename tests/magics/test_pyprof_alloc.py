"""`%%pyprof alloc`: the cell runs as the bare one would, and the report shows its lines."""

import tracemalloc

import pytest
from IPython.core.interactiveshell import InteractiveShell

import nbprof

pytestmark = pytest.mark.core("magics")


@pytest.fixture
def shell():
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "nbprof")
    shell.run_cell("before = []")
    yield shell
    InteractiveShell.clear_instance()
    assert not tracemalloc.is_tracing()


def left_behind(profile, **options):
    frame = profile.alloc(**options).frame
    return dict(zip(frame["source"], frame["total_alloc_bytes"].tolist(), strict=True))


def test_the_lines_of_the_cell_have_what_they_left_behind(shell):
    done = shell.run_cell(
        "%%pyprof alloc -q -o shown\n\nkept = bytes(300_000)\nbytes(200_000)\n'value'",
        store_history=True,
    )

    assert done.result == "value"
    left = left_behind(nbprof.last())
    assert left["kept = bytes(300_000)"] == pytest.approx(300_000, rel=0.01)
    assert left.get("bytes(200_000)", 0) < 2000
    names = shell.user_ns["shown"].frame["name"].tolist()
    assert names[2].startswith("In [")
    assert names[2].endswith("]:3:<module>")
    assert nbprof.last().recording.watched == ("samples", "sites")


def test_what_a_function_in_a_cell_allocates_is_on_its_line(shell):
    shell.run_cell("def load():\n    return [bytes(100_000)]", store_history=True)

    shell.run_cell("%%pyprof alloc -q\nkept = load()", store_history=True)

    sites = nbprof.last().sites
    (function,) = sites["function"][sites["source"] == "return [bytes(100_000)]"]
    assert function == "load"


def test_an_exception_leaves_the_cell_and_the_report_shows_what_it_had(shell, capsys):
    done = shell.run_cell("%%pyprof alloc\nkept = bytes(300_000)\n1 / 0", store_history=True)

    assert isinstance(done.error_in_exec, ZeroDivisionError)
    printed = capsys.readouterr().out
    assert " · raised ZeroDivisionError after " in printed
    assert ":2:<module> (300.03KB/300.03KB" in printed


def test_other_views_of_the_same_cell_are_there(shell):
    shell.run_cell("%%pyprof alloc -q\nkept = bytes(300_000)", store_history=True)

    shell.run_cell("%pyprof alloc -q -max_depth 2 -o files\n%pyprof call -q -o calls")

    assert shell.user_ns["files"].frame["depth"].max() == 1
    assert shell.user_ns["calls"].name == "call"
    assert nbprof.last().recording.wall_ns > 0


def test_an_interrupt_leaves_the_cell_and_tracemalloc_is_off(shell, capsys):
    done = shell.run_cell("%%pyprof alloc\nkept = bytes(300_000)\nraise KeyboardInterrupt")

    assert isinstance(done.error_in_exec, KeyboardInterrupt)
    assert not tracemalloc.is_tracing()
    assert "interrupted after " in capsys.readouterr().out


def test_a_cell_with_spans_shows_them_in_its_profile(shell):
    shell.run_cell("%%pyprof -q\nimport nbprof\nwith nbprof.span('load'):\n    rows = 1")

    assert nbprof.last().spans["name"].tolist() == ["load"]

"""`%%pyprof function` in a shell: counts, the bare cell, others at work."""

import cProfile

import pytest
from IPython.core.interactiveshell import InteractiveShell

pytestmark = pytest.mark.notebook


@pytest.fixture
def shell():
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "nbprof")
    yield shell
    InteractiveShell.clear_instance()


def run(shell, cell):
    return shell.run_cell(cell, store_history=True)


def calls(shell, name="shown"):
    frame = shell.user_ns[name].frame
    rows = frame[frame["depth"] == 1]
    return dict(zip(rows["name"], rows["calls"].astype(int), strict=True))


def test_a_cell_has_its_functions_with_the_names_of_cells(shell):
    run(shell, "def double(x):\n    return 2 * x")

    outcome = run(shell, "%%pyprof function -q -o shown\na = double(1)\nsum(map(double, [1, 2]))")

    assert outcome.result == 6
    assert calls(shell) == {
        "In [1]:1(double)": 3,
        "In [2]:1(<module>)": 1,
        "{built-in method builtins.sum}": 1,
    }


def test_an_exec_of_the_users_is_counted_and_that_of_the_cell_is_not(shell):
    run(shell, "%%pyprof function -q -o shown\nx = 1\nexec('y = 2')\neval('y')")

    assert calls(shell)["{built-in method builtins.exec}"] == 1
    assert calls(shell)["{built-in method builtins.eval}"] == 1


def test_an_exception_leaves_the_report_of_what_ran(shell, capsys):
    outcome = run(shell, "%%pyprof function -o shown\nlen('abc')\n1 / 0")

    assert isinstance(outcome.error_in_exec, ZeroDivisionError)
    assert "{built-in method builtins.len}" in calls(shell)
    assert "nbprof" not in capsys.readouterr().out.partition("Traceback")[2]


def test_a_profiler_that_is_there_is_named_and_the_cell_runs(shell, capsys):
    theirs = cProfile.Profile()
    theirs.enable()
    try:
        outcome = run(shell, "%%pyprof function\nvalue = 3\nvalue")
    finally:
        theirs.disable()

    assert outcome.result == 3
    printed = capsys.readouterr()
    assert "cProfile is already profiling Python" in printed.out + printed.err


def test_a_profiler_in_the_cell_works_and_the_note_names_its_line(shell):
    cell = "import cProfile\np = cProfile.Profile()\np.enable()\nlen('a')\np.disable()"

    outcome = run(shell, f"%%pyprof function -q -o shown\n{cell}\nlen(p.getstats()) > 0")

    assert outcome.result is True
    (note,) = [note for note in shell.user_ns["shown"].notes if "gave way" in note]
    assert "by the statement on line 4" in note


def test_the_line_magic_looks_again_in_another_order(shell):
    run(shell, "%%pyprof function -q\nsorted([2, 1], key=lambda x: -x)")

    run(shell, "%pyprof function -order_by total_wall_micros -q -o shown")

    assert next(iter(calls(shell))) == "In [1]:1(<module>)"

"""`%%pyprof line` in a shell: hits of the cell's lines, of earlier cells and of files."""

import sys

import pytest
from IPython.core.interactiveshell import InteractiveShell

import nbprof

pytestmark = pytest.mark.notebook

EARLIER = "def halve(n):\n    if n < 2:\n        return 0\n    return 1 + halve(n // 2)"


@pytest.fixture
def shell():
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "nbprof")
    yield shell
    InteractiveShell.clear_instance()


def run(shell, cell):
    return shell.run_cell(cell, store_history=True)


def hits(shell):
    frame = shell.user_ns["shown"].frame
    rows = frame[frame["depth"] == 2]
    return dict(zip(rows["name"], rows["hits"].astype(int), strict=True))


def test_lines_of_the_cell_and_of_functions_from_earlier_cells_are_counted(shell):
    run(shell, EARLIER)

    outcome = run(shell, "%%pyprof line -q -o shown\nfor n in range(3):\n    halve(8)\nhalve(1)")

    assert outcome.result == 0
    assert hits(shell) == {
        **{"In [2]:2": 4, "In [2]:3": 3, "In [2]:4": 1},
        **{"In [1]:1": 0, "In [1]:2": 13, "In [1]:3": 4, "In [1]:4": 9},
    }


def test_statements_on_one_line_are_one_hit(shell):
    run(shell, "%%pyprof line -q -o shown\na = 1; b = 2; c = 3\na")

    assert hits(shell) == {"In [1]:2": 1, "In [1]:3": 1}


def test_functions_and_modules_of_files_are_added(shell):
    run(shell, "import textwrap, bisect\nimport json.decoder")

    run(
        shell,
        "%%pyprof line -q -o shown -f textwrap.TextWrapper.wrap -m json.decoder\n"
        "textwrap.fill('a b'); json.loads('[1]')",
    )

    files = {name.rpartition(":")[0] for name in hits(shell)}
    assert files == {"In [2]", "textwrap.py", "decoder.py"}


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("line -f missing", "-f missing cannot be found"),
        ("line -f len", "-f takes a function or method that is written in Python"),
        ("line -m no_such_module", "-m no_such_module cannot be imported"),
        ("line -m sys", "-m sys has no lines"),
        ("function -f run", "-f is for the line view"),
    ],
)
def test_what_cannot_be_watched_is_refused_in_a_sentence(shell, capsys, line, error):
    run(shell, f"%%pyprof {line}\nran = True")

    printed = capsys.readouterr()
    assert error in printed.out + printed.err
    assert "ran" not in shell.user_ns


def test_an_exception_leaves_the_report_and_the_bare_traceback(shell, capsys):
    outcome = run(shell, "%%pyprof line -o shown\nx = 1\n1 / 0\nx = 2")

    assert isinstance(outcome.error_in_exec, ZeroDivisionError)
    assert hits(shell) == {"In [1]:2": 1, "In [1]:3": 1}
    assert "nbprof/" not in capsys.readouterr().out
    assert sys.gettrace() is None


def test_the_text_is_read_back(shell):
    run(shell, EARLIER)
    run(shell, "%%pyprof line -q -o shown\nhalve(8)")
    shown = shell.user_ns["shown"]

    again = nbprof.parse_text(shown.text)

    assert again.frame["name"].tolist() == shown.frame["name"].tolist()
    assert again.frame["hits"].tolist() == shown.frame["hits"].tolist()


@pytest.mark.tensorflow
def test_with_tensorflow_the_ops_of_a_line_stand_beside_its_hits(shell):
    run(shell, "import tensorflow as tf\nx = tf.ones([64, 64])")

    run(
        shell,
        "%%tfprof line -q -o shown -select hits,wall_micros,micros,occurrence\n"
        "for _ in range(5):\n    y = tf.matmul(x, x)\nz = tf.add(x, x)",
    )
    run(shell, "%tfprof op -q -o ops -select micros,occurrence")

    frame, ops = shell.user_ns["shown"].frame, shell.user_ns["ops"].frame
    line = frame[frame["name"] == "In [2]:3"].iloc[0]
    assert (line["hits"], line["run_count"]) == (5, 5)
    assert frame["micros"].sum() == pytest.approx(ops["micros"].sum())
    assert frame["run_count"].sum() == ops["run_count"].sum()

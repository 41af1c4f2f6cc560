import pytest

from nbprof.ingest.trace.attribution.notebook_source import typed_line, typed_lines

TYPED = [
    "%load_ext nbprof",
    "%time model.fit(x, y)",
    "    %timeit -n 3 f('a')",
    "took = %timeit -o f()",
    "!pip install 'nbprof[all]'",
    "files = !ls *.py",
    "!!ls",
    "model.fit?",
    "model.fit??",
    "y = f(x)  # %time",
    "print('get_ipython().system(1)')",
]


@pytest.mark.parametrize("line", TYPED)
def test_a_line_is_shown_as_it_was_typed(line):
    manager = pytest.importorskip("IPython.core.inputtransformer2").TransformerManager()
    # An indented line is only transformed inside a block.
    block = f"if x:\n{line}\n" if line.startswith(" ") else f"{line}\n"
    compiled = manager.transform_cell(block).splitlines()

    assert typed_line(compiled[-1]) == line


def test_a_call_of_the_shell_that_no_magic_makes_stays():
    line = "get_ipython().run_line_magic(name, 'x')"

    assert typed_line(line) == line


def test_the_body_of_a_cell_magic_is_shown_below_it():
    manager = pytest.importorskip("IPython.core.inputtransformer2").TransformerManager()
    cell = "%%time\nx = 1\n\ny = 'two'\n"

    compiled = manager.transform_cell(cell).splitlines(keepends=True)

    assert typed_lines(compiled) == ["%%time", "x = 1", "", "y = 'two'"]


def test_the_line_of_nbprofs_own_magic_is_no_comment():
    assert typed_lines(["# %%tfprof code\n", "x = 1\n"]) == ["%%tfprof code", "x = 1"]
    assert typed_lines([]) == []

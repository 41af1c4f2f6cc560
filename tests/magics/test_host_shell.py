"""Shells that keep no table of their cells, as IPython 7.34's on Colab."""

import linecache
from types import SimpleNamespace

import pytest

from nbprof.magics.host_shell import cell_names, name_cell


class Compiler:
    """The compiler of an old shell: names files, but keeps no numbers."""

    def __init__(self, file_name):
        self._file_name = file_name

    def cache(self, source, number, raw_code=None):
        name = self._file_name(number, raw_code or source)
        lines = source.splitlines(keepends=True)
        linecache._ipython_cache[name] = (len(source), 0.0, lines, name)
        return name


class OldShell:
    def __init__(self, file_name):
        self.compile = Compiler(file_name)
        self.history_manager = SimpleNamespace(input_hist_parsed=[""])
        self.displayhook = SimpleNamespace(prompt_count=0)

    def run(self, source):
        """Do what a shell does with a cell, but for running it."""
        self.history_manager.input_hist_parsed.append(source.rstrip("\n"))
        self.displayhook.prompt_count += 1
        return self.compile.cache(source, self.displayhook.prompt_count)


@pytest.fixture(autouse=True)
def own_cache(monkeypatch):
    monkeypatch.setattr(linecache, "_ipython_cache", {}, raising=False)
    monkeypatch.setattr("nbprof.magics.host_shell._own_cells", {})


def with_number(number, source):
    return f"/tmp/ipython-input-{number}-{hash(source)}.py"


def without_number(number, source):
    return f"/tmp/ipykernel_1/{hash(source)}.py"


@pytest.mark.parametrize("file_name", [with_number, without_number])
def test_cells_are_named_by_their_numbers(file_name):
    shell = OldShell(file_name)

    files = [shell.run(source) for source in ("x = 1\n", "y = 2\n\n", "def f():\n    pass\n")]

    assert cell_names(shell) == {files[0]: "In [1]", files[1]: "In [2]", files[2]: "In [3]"}


def test_equal_cells_with_files_of_their_own_keep_their_numbers():
    shell = OldShell(with_number)

    first, between, last = (shell.run(source) for source in ("x = 1\n", "y = 2\n", "x = 1\n"))

    assert cell_names(shell) == {first: "In [1]", between: "In [2]", last: "In [3]"}


def test_equal_cells_with_one_file_have_the_number_of_the_last():
    shell = OldShell(without_number)

    first, _, last = (shell.run(source) for source in ("x = 1\n", "y = 2\n", "x = 1\n"))

    assert first == last
    assert cell_names(shell)[last] == "In [3]"


def test_the_body_of_a_cell_magic_has_the_number_of_its_cell():
    shell = OldShell(with_number)
    shell.run("x = 1\n")
    shell.run("get_ipython().run_cell_magic('tfprof', '', 'y = 2\\n')\n")

    body = name_cell(shell, "# %%tfprof\ny = 2\n", "%%tfprof\ny = 2")

    assert list(cell_names(shell).items())[-1] == (body, "In [2]")

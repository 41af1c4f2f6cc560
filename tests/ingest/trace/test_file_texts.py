"""The lines of the user's files that a profile keeps."""

import linecache

import pytest

from nbprof.ingest.trace.attribution import python_lines
from nbprof.ingest.trace.attribution.python_lines import cell_table, file_texts


@pytest.fixture
def script(tmp_path):
    file = tmp_path / "work.py"
    file.write_text("".join(f"x = {number}  \n" for number in range(1, 301)))
    linecache.checkcache()
    return str(file)


def test_lines_that_ran_are_kept_with_those_around_them(script, monkeypatch):
    monkeypatch.setattr(python_lines, "AROUND", 2)
    stack = ((script, 1, "<module>"), (script, 99, "f"), (script, 300, "g"))

    kept = file_texts([stack], {})

    assert list(kept) == [script]
    assert [number for number, _ in kept[script]] == [1, 2, 3, 97, 98, 99, 100, 101, 298, 299, 300]
    assert kept[script][0] == (1, "x = 1")


def test_neither_installed_files_nor_cells_nor_lost_files_are_kept(tmp_path):
    stack = (
        (linecache.__file__, 9, "f"),
        ("In [3]", 1, "<module>"),
        (str(tmp_path / "gone"), 1, ""),
    )

    assert file_texts([stack], {"/tmp/ipykernel_1/3.py": "In [3]"}) == {}


def test_files_met_in_most_stacks_are_kept_if_there_is_no_room_for_all(
    script, tmp_path, monkeypatch
):
    monkeypatch.setattr(python_lines, "MOST_LINES", 100)
    other = tmp_path / "other.py"
    other.write_text("y = 1\n" * 60)
    often = ((script, 150, "f"),)

    kept = file_texts([often, ((str(other), 30, "g"), *often)], {})

    assert list(kept) == [script]


def test_the_table_has_the_cells_first():
    table = cell_table({"In [3]": ["a = 1\n", "b = 2\n"]}, {"work.py": [(7, "c = 3")]})

    assert table.to_numpy().tolist() == [
        ["In [3]", 1, "a = 1"],
        ["In [3]", 2, "b = 2"],
        ["work.py", 7, "c = 3"],
    ]

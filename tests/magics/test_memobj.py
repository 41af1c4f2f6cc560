"""`%memobj` and `%%memobj`: what names hold, and what a cell left behind."""

import pytest
from support.front_ends import shell_with_nbprof
from support.memory_spikes import MIB

pytestmark = [pytest.mark.core("memory magics"), pytest.mark.notebook]


@pytest.fixture
def run():
    with shell_with_nbprof("import numpy as np") as run:
        yield run


def test_names_and_types_are_listed_largest_first(run):
    run("small = bytearray(10_000)\nlarge = np.ones(2**18)\n_hidden = np.ones(2**19)")

    (text,) = run("%memobj").shown

    assert text.startswith("names hold 2.0 MiB of the ")
    lines = text.splitlines()
    assert [line.split(" | ")[0].strip() for line in lines[2:6]] == [
        "names", "=" * 7, "large", "small",
    ]  # fmt: skip
    assert "types |   # objects |   total size" in text
    assert "_hidden" not in text
    assert run("result = %memobj -o -q large").value is None
    assert run("result.frame['name'].tolist()").value == "['large']"


def test_values_kept_in_out_are_listed(run):
    run("np.ones(2**18)")

    (text,) = run("%memobj").shown

    assert "Out[3] |   numpy.ndarray |      2.00 MB" in text


def test_a_cell_shows_what_it_left_behind_and_keeps_its_value(run):
    run("gone = bytearray(2**20)\nother = bytearray(2**20)\nsame = np.ones(5)")

    outcome = run(
        "%%memobj\nnew = np.ones(2**18)\ndel gone\nother = bytearray(2**21)\nrest = None\n'value'"
    )

    (text,) = outcome.shown
    rows = {line.split("|")[0].strip(): line for line in text.splitlines() if "|" in line}
    assert outcome.value == "'value'"
    assert rows["new"].split()[-1] == "new"
    assert "2.00 MB" in rows["new"]
    assert "-1.00 MB" in rows["gone"]
    assert rows["gone"].split()[-1] == "gone"
    assert "1.00 MB" in rows["other"]
    assert rows["other"].split()[-1] == "changed"
    assert "same" not in rows


def test_a_cell_that_raises_still_shows_what_it_left_behind(run):
    outcome = run("%%memobj\nleft = bytearray(2**20)\n1/0")

    (text,) = outcome.shown
    assert outcome.error == "ZeroDivisionError"
    assert "left" in text
    assert not outcome.of_nbprof


def test_unknown_names_and_bad_lines_are_refused(run):
    assert "there is no variable nothing in this notebook." in run("%memobj nothing").traceback
    assert "-n takes a whole number" in run("%memobj -n few").traceback
    assert "put the code in the lines below" in run("%%memobj x\ny = 1").traceback


def test_an_object_that_refers_to_the_notebook_does_not_hold_all_of_it(run):
    run("import numpy as np\nclass Tool: pass\ntool = Tool(); tool.names = globals()")
    run("tool.shell = get_ipython(); zz_array = np.ones(2**17)")

    run("r = %memobj -oq")

    held = eval(run("dict(zip(r.frame['name'], r.frame['bytes'].tolist()))").value)
    assert held["zz_array"] == pytest.approx(MIB, rel=0.01)
    assert held["tool"] < 10_000


def test_a_cell_that_leaves_large_nested_objects_alone_has_not_changed_them(run):
    run("big = {n: {'pair': (n, [n])} for n in range(400_000)}")
    run("more = {n: {'text': str(n)} for n in range(400_000)}")

    run("%%memobj -o -q\nz = np.zeros(1_000_000)")
    run("left = _")

    assert run("left.frame['name'].tolist()").value == "['z']"
    assert run("left.types['type'].tolist()").value == "['numpy.ndarray']"
    assert "shrunk" not in run("left.text").value

"""`%mprun` and `%%mprun`: memory line by line, for code in cells and in files."""

import re
import sys

import pytest
from support.front_ends import Kernel, shell_with_nbprof
from support.memory_cases import of_this_process, on_linux
from support.memory_spikes import MIB

from nbprof.errors import NbprofError
from nbprof.magics.flag_parser import parse
from nbprof.memory.line_meter import LOST

pytestmark = [pytest.mark.core("memory magics"), pytest.mark.notebook]

FUNCTION = """def work(n):
    x = np.ones(13_107_200); del x
    kept = np.ones(6_553_600)
    for i in range(n):
        y = i * 2
    return kept
"""


@pytest.fixture(scope="module")
def kernel():
    opened = Kernel()
    opened.run("%load_ext nbprof\nimport numpy as np\nbig = np.ones(26_214_400)\ndel big")
    yield opened
    opened.close()


@pytest.fixture
def run():
    with shell_with_nbprof("import numpy as np") as run:
        yield run


# Amounts are above 32 MiB, which glibc never serves from memory it kept.


def by_line(run, name="lines"):
    rows = run(f"{name}.frame.fillna(-1).values.tolist()").value
    return {row[0]: row[1:] for row in eval(rows)}


@on_linux
def test_a_function_defined_in_a_cell_is_measured_in_a_real_kernel(kernel):
    run = kernel.run
    run(FUNCTION)
    number = int(run("len(In) - 2").value)

    outcome = run("lines = %mprun -o -f work result = work(1000)")

    found = by_line(run)
    assert outcome.error is None
    assert [found[line][0] for line in (1, 5)] == ["def work(n):", "        y = i * 2"]
    assert [found[line][1] for line in range(1, 7)] == [1, 1, 1, 1001, 1000, 1]
    growth = [found[line][2] / MIB for line in (2, 3, 4, 5, 6)]
    assert growth == pytest.approx([0, 50, 0, 0, 0], abs=1)
    peaks = [found[line][3] / MIB for line in (2, 3, 4, 5, 6)]
    assert peaks == pytest.approx([100, 50, 0, 0, 0], abs=1)
    assert run("lines.frame['file'][0]").value == f"'In [{number}]'"
    assert run("result.nbytes").value == "52428800"


@on_linux
def test_the_lines_of_a_cell_are_measured_in_a_real_kernel(kernel):
    outcome = kernel.run(
        "%%mprun\ndef make():\n    return np.ones(13_107_200)\n\nmine = make()\n"
        "for i in range(3):\n    other = i\nfloat(mine.sum())"
    )

    (text,) = outcome.shown
    assert outcome.value == "13107200.0"
    rows = {line.split()[0]: line for line in text.splitlines() if line.strip()[:1].isdigit()}
    assert "%%mprun" in rows["1"]
    assert rows["3"].endswith("   " + "    return np.ones(13_107_200)")
    assert "100.0 MiB            1    100.0 MiB" in rows["5"].replace("99.9", "100.0")
    assert " 4 " in rows["6"]
    assert " 3 " in rows["7"]


@of_this_process
def test_a_function_defined_in_a_file_is_measured(run, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "mine_in_a_file.py").write_text("import numpy as np\n\n" + FUNCTION)
    run("import mine_in_a_file")

    run("lines = %mprun -r -f mine_in_a_file.work mine_in_a_file.work(10)")

    found = by_line(run)
    assert found[4][0] == "    x = np.ones(13_107_200); del x"
    assert found[4][3] / MIB == pytest.approx(100, abs=1)
    assert run("lines.frame['file'][0]").value == repr(str(tmp_path / "mine_in_a_file.py"))


def test_generators_methods_decorated_and_partial_functions_are_found(run):
    run(
        "import functools\n"
        "class Thing:\n    def method(self):\n        return 1\n"
        "    @property\n    def shown(self):\n        return 2\n"
        "    @staticmethod\n    def still():\n        return 3\n"
        "def wrap(function):\n    @functools.wraps(function)\n    def around(*args):\n"
        "        return function(*args)\n    return around\n"
        "@wrap\ndef wrapped():\n    return 4\n"
        "part = functools.partial(wrapped)\n"
        "def generate():\n    for i in range(3):\n        yield i\n"
    )
    run(
        "lines = %mprun -o -f Thing.method -f Thing.shown -f Thing.still -f part -f generate "
        "Thing().method(), Thing().shown, Thing.still(), part(), list(generate())"
    )

    hits = eval(run("lines.frame[['function', 'source', 'hits']].values.tolist()").value)
    counted = {(function, source.strip()): count for function, source, count in hits}
    assert counted["Thing.method", "return 1"] == 1
    assert counted["Thing.shown", "return 2"] == 1
    assert counted["Thing.still", "return 3"] == 1
    assert counted["wrapped", "return 4"] == 1
    assert counted["generate", "yield i"] == 3
    assert counted["generate", "def generate():"] == 1


def test_the_users_trace_function_is_restored(run):
    run("import sys\ndef mine(frame, event, arg): return None\nsys.settrace(mine)")
    try:
        run("%%mprun -q\nx = 1")
        assert run("sys.gettrace() is mine").value == "True"
        run("%%mprun -q\n1/0")
        assert run("sys.gettrace() is mine").value == "True"
    finally:
        run("sys.settrace(None)")


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="uses sys.monitoring instead")
def test_a_trace_function_set_by_the_code_stays_and_a_note_says_so(run):
    run("import sys\ndef mine(frame, event, arg): return None")
    try:
        (text,) = run("%%mprun\nsys.settrace(mine)\nx = 1").shown
        assert LOST in text
        assert run("sys.gettrace() is mine").value == "True"
    finally:
        run("sys.settrace(None)")


@pytest.mark.parametrize("error", ["1/0", "raise KeyboardInterrupt"])
def test_an_exception_is_raised_after_the_report(run, error):
    outcome = run(f"%%mprun\nbefore_it = 1\n{error}\nafter_it = 2")

    (text,) = outcome.shown
    assert outcome.error == run(error).error
    assert not outcome.of_nbprof
    assert text.splitlines()[-1].split() == ["4", "after_it", "=", "2"]
    assert run("sys.gettrace() if 'sys' in globals() else None").value is None


def test_an_interrupt_in_a_loop_shows_no_frames_of_nbprof(run):
    outcome = run(
        "%%mprun -q\nimport threading, _thread\n"
        "looping, ended = threading.Event(), threading.Event()\n"
        "def interrupt():\n    looping.wait(60)\n"
        # again and again, because Python swallows an interrupt that meets a destructor
        "    _thread.interrupt_main()\n"
        "    while not ended.wait(20):\n        _thread.interrupt_main()\n"
        "threading.Thread(target=interrupt).start()\n"
        "try:\n    while True:\n        looping.set()\nfinally:\n    ended.set()"
    )

    assert outcome.error == "KeyboardInterrupt"
    assert not outcome.of_nbprof


def test_shell_commands_and_magics_are_shown_as_typed(run):
    (text,) = run("%%mprun\n!echo there\n%memit -q pass\n1").shown

    assert "   !echo there" in text
    assert "   %memit -q pass" in text


@of_this_process
def test_memit_around_and_inside_mprun_each_have_their_own_peak(run):
    outcome = run("%%memit\n%%mprun\nx = np.ones(13_107_200); del x\n%memit np.ones(6_553_600)")

    inner, lines, outer = outcome.shown
    row = next(line for line in lines.splitlines() if "13_107_200" in line)
    increments = [float(re.search(r"increment: ([\d.]+)", text)[1]) for text in (inner, outer)]
    assert increments == pytest.approx([50, 100], abs=1)
    assert float(row.split()[6]) == pytest.approx(100, abs=1)


def test_a_line_without_a_python_function_is_refused(run):
    assert "name one with -f FUNCTION" in run("%mprun 1 + 1").traceback
    assert "-f nothing cannot be found (NameError" in run("%mprun -f nothing 1").traceback
    assert "dict is a class" in run("%mprun -f dict 1").traceback
    assert "len is of type builtin_function" in run("%mprun -f len len([])").traceback
    assert "put the code in the lines below" in run("%%mprun x = 1\ny = 2").traceback


def test_a_function_that_did_not_run_is_named(run):
    run("def idle():\n    return 1")

    (text,) = run("%mprun -f idle 1 + 1").shown

    assert "no line of idle ran in this thread." in text


def test_a_text_file_and_a_csv_file_are_written(run, tmp_path):
    run("def few():\n    return 1")
    run(f"lines = %mprun -q -r -T {tmp_path / 'l.txt'} -f few few()")

    run(f"lines.to_csv({str(tmp_path / 'l.csv')!r})")

    assert "Line #    Mem usage    Increment" in (tmp_path / "l.txt").read_text()
    header = (tmp_path / "l.csv").read_text().splitlines()[0]
    assert header.startswith("line,source,hits,growth_bytes,peak_bytes")


def test_f_can_be_given_several_times():
    assert parse("mprun", "-f a.b -f c d()").get("f") == ["a.b", "c"]
    with pytest.raises(NbprofError, match="-f needs a value"):
        parse("mprun", "-f")


def test_several_statements_on_one_line_are_one_hit(run):
    run("%%mprun -r -q\na = 1; b = 2; c = 3\nfor i in range(2):\n    a = i; b = i\nd = 4")
    run("lines = _")

    found = by_line(run)

    assert [found[line][1] for line in (2, 3, 4, 5)] == [1, 3, 2, 1]


def test_c_is_refused_with_an_alternative():
    with pytest.raises(NbprofError, match="%memit -c adds children"):
        parse("mprun", "-c -f f f()")

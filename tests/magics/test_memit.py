"""`%memit` and `%%memit` keep memory_profiler's contract, in IPython's own shell."""

import re
import subprocess
import sys
import threading

import pytest
from support.front_ends import Shell, shell_with_nbprof
from support.memory_cases import of_this_process, on_linux
from support.memory_spikes import MIB

from nbprof.errors import NbprofError
from nbprof.flags import MEMORY, flags_of
from nbprof.magics.flag_parser import parse
from nbprof.magics.help_and_completion import completions, help_text
from nbprof.memory.meter import Measurement
from nbprof.memory.sampler import held_by_children

pytestmark = [pytest.mark.core("memory magics"), pytest.mark.notebook]

LINE = re.compile(r"^peak memory: \d+\.\d\d MiB, increment: -?\d+\.\d\d MiB$", re.M)


@pytest.fixture
def run():
    with shell_with_nbprof("from support.memory_spikes import MIB, spike") as run:
        yield run


def shown(outcome):
    (text,) = outcome.shown
    return text


def increment(text):
    return float(re.search(r"increment: (?:at least )?(-?[\d.]+) MiB", text)[1])


@of_this_process
def test_a_line_reports_the_right_peak_in_memory_profilers_words(run):
    text = shown(run("%memit spike(80 * MIB)"))

    assert LINE.match(text)
    assert increment(text) == pytest.approx(80, abs=1)
    assert re.search(r"^before [\d.]+ MiB, after [\d.]+ MiB", text, re.M)


def test_a_cell_keeps_its_value_and_its_names(run):
    outcome = run("%%memit\nkept = bytearray(30 * MIB)\nlen(kept)")

    assert outcome.value == str(30 * MIB)
    assert LINE.match(shown(outcome))
    assert run("len(kept)").value == str(30 * MIB)


def test_the_line_of_a_cell_magic_is_unmeasured_setup(run):
    outcome = run("%%memit early = bytearray(50 * MIB)\nlen(early)")

    assert increment(shown(outcome)) < 25
    assert outcome.value == str(50 * MIB)


def test_the_code_runs_once_unless_r_repeats_it(run):
    run("runs = []")
    run("%memit runs.append(1)")
    assert run("len(runs)").value == "1"

    text = shown(run("%memit -r3 runs.append(1)"))

    assert run("len(runs)").value == "4"
    assert text.count("MiB, ") >= 3
    assert "peaks of the runs: " in text


def test_o_returns_a_result_with_memory_profilers_attributes(run):
    outcome = run("result = %memit -o -r 2 spike(40 * MIB)")

    assert LINE.search(outcome.printed)
    assert run("len(result.mem_usage), result.repeat, result.include_children").value == (
        "(2, 2, False)"
    )
    assert run("max(result.mem_usage) == result.peak").value == "True"
    assert run("abs(result.peak - result.baseline - result.increment) < 1e-9").value == "True"
    assert run("type(result).__name__").value == "'MemoryResult'"


@pytest.mark.parametrize(
    "code", ["%memit -o spike(MIB)", "%%memit -o\nspike(MIB)", "1\n%memit -o 1"]
)
def test_a_returned_result_is_not_printed_if_it_is_displayed_anyway(run, code):
    outcome = run(code)

    assert LINE.search(outcome.value)
    assert not LINE.search(outcome.printed.partition("Out[")[0])
    assert run("type(_).__name__").value == "'MemoryResult'"


@pytest.mark.parametrize(
    "code",
    [
        *("%memit -o spike(MIB);", "kept = %memit -o spike(MIB)", "%memit -o spike(MIB)\nx = 1"),
        "def f():\n    %memit -o spike(MIB)\nf()",
    ],
)
def test_a_returned_result_is_printed_if_it_is_not_displayed(run, code):
    outcome = run(code)

    assert outcome.value is None
    assert len(LINE.findall(outcome.printed)) == 1


def test_the_frame_is_in_bytes_and_can_be_written_as_csv(run, tmp_path):
    run("result = %memit -oq spike(40 * MIB)")

    run(f"result.to_csv({str(tmp_path / 'm.csv')!r})")
    assert run("result.to_csv('/nowhere/x.csv')").error == "NbprofError"

    header, row = (tmp_path / "m.csv").read_text().splitlines()
    found = dict(zip(header.split(","), row.split(","), strict=True))
    assert float(found["peak_bytes"]) == float(run("float(result.peak * 2**20)").value)
    assert float(found["before_bytes"]) == float(run("float(result.baseline * 2**20)").value)


def test_q_shows_nothing_and_t_saves_the_text(run, tmp_path):
    outcome = run(f"%memit -q -T {tmp_path / 'r.txt'} pass")

    assert not outcome.shown
    assert not outcome.printed
    assert LINE.match((tmp_path / "r.txt").read_text())


@pytest.mark.parametrize("error", ["1/0", "raise KeyboardInterrupt", "raise SystemExit(3)"])
def test_an_exception_is_raised_after_the_report(run, error):
    bare = run(error)
    outcome = run(f"%%memit\nbefore_it = 1\n{error}")

    assert outcome.error == bare.error
    assert LINE.match(shown(outcome))
    assert not outcome.of_nbprof
    assert "run_cell_magic" not in outcome.traceback
    assert run("before_it").value == "1"


def test_a_traceback_has_the_line_numbers_on_the_screen(run):
    outcome = run("%%memit -q\n\nx = 1\n[][0]")

    assert outcome.pointed_at == [(4, "[][0]")]


def test_a_syntax_error_is_shown_as_without_the_magic_and_nothing_runs(run):
    outcome = run("%%memit\nran = 1\nx = (")

    assert outcome.error in ("SyntaxError", "_IncompleteInputError")
    assert not outcome.shown
    assert run("ran").error == "NameError"


@pytest.mark.parametrize("line", ["%memit 1 +", "%memit x y z", "%mprun -f len f("])
def test_a_syntax_error_in_a_statement_shows_no_frames_of_nbprof(run, line):
    outcome = run(line)

    assert outcome.error in ("SyntaxError", "_IncompleteInputError")
    assert not outcome.of_nbprof
    assert "run_line_magic" not in outcome.traceback
    assert run("1/0").error == "ZeroDivisionError"


def test_a_top_level_await_is_refused_with_an_alternative(run):
    outcome = run("%%memit\nimport asyncio\nawait asyncio.sleep(0)")

    assert outcome.error == "UsageError"
    assert "`with nbprof.memory.measure() as run:`" in outcome.traceback


@of_this_process
def test_nested_magics_are_each_right(run):
    outcome = run("%%memit\nspike(120 * MIB)\n%memit spike(50 * MIB)\nNone")

    inner, outer = outcome.shown
    assert increment(inner) == pytest.approx(50, abs=2)
    assert increment(outer) == pytest.approx(120, abs=2)


def test_measuring_ends_after_the_timeout_and_the_code_runs_on(run, monkeypatch):
    timed_out = threading.Event()
    read_last = Measurement._read_last

    def read_last_and_tell(measurement):
        reading = read_last(measurement)
        timed_out.set()
        return reading

    monkeypatch.setattr(Measurement, "_read_last", read_last_and_tell)
    monkeypatch.setattr("builtins.timed_out", timed_out, raising=False)

    text = shown(run("%memit -t 0.03 timed_out.wait(60); finished = True"))

    assert "measuring ended after 0.03 s (-t); the code ran on." in text
    assert run("finished").value == "True"


HOLDS_50_MIB = "held = bytearray(50 * 2**20); print(flush=True); input()"


@pytest.fixture
def with_child(run):
    run("import subprocess, sys\nfrom subprocess import PIPE")
    run(
        f"child = subprocess.Popen([sys.executable, '-c', {HOLDS_50_MIB!r}], stdin=PIPE, "
        "stdout=PIPE)\nchild.stdout.readline()"
    )
    yield run
    run("child.kill(); child.communicate()")


@pytest.mark.parametrize("backend", ["nbprof", "memory_profiler"])
def test_child_processes_survive_a_cell_that_raises(with_child, backend):
    if backend == "memory_profiler":
        pytest.importorskip("memory_profiler")

    outcome = with_child(f"%%memit -backend {backend}\n1/0")

    assert outcome.error == "ZeroDivisionError"
    assert with_child("child.poll() is None").value == "True"


def test_the_memory_of_children_is_reported_apart_and_added_with_c(with_child):
    assert 50 * MIB <= held_by_children() < 10_000 * MIB

    apart = shown(with_child("%memit pass"))
    added = shown(with_child("%memit -c pass"))

    held = float(re.search(r"child processes at least ([\d.]+) MiB", apart)[1])
    assert held >= 50
    assert not apart.startswith("peak memory: at least")
    assert added.startswith("peak memory: at least")
    assert "a lower bound" in added
    peaks = [float(re.search(r"([\d.]+) MiB", text)[1]) for text in (apart, added)]
    assert peaks[1] - peaks[0] > 45


def test_memory_profiler_can_measure_instead(run):
    pytest.importorskip("memory_profiler")

    # What is still held at the end cannot fall between two samples.
    text = shown(run("%memit -backend memory_profiler held = bytearray(60 * MIB)"))

    assert text.startswith("peak memory: at least ")
    assert increment(text) == pytest.approx(60, abs=10)
    assert "memory_profiler sampled every 0.1 s" in text


def test_v_adds_what_objects_hold_after_the_run(run):
    text = shown(run("%memit -v spike(20 * MIB)"))

    assert re.search(r"after garbage collection [\d.]+ MiB; Python objects [\d.]+ MiB", text)


def test_a_bug_in_nbprof_costs_the_report_but_not_the_value(run, monkeypatch, capsys):
    monkeypatch.setattr("nbprof.memory.backends.combined_result", None)

    outcome = run("%%memit\n'still there'")

    assert outcome.value == "'still there'"
    assert outcome.error is None


def test_the_html_has_the_curve_with_its_lines_and_no_script(run):
    run("result = None")
    run("%%memit -q -o\nspike(20 * MIB, milliseconds=40)\nspike(30 * MIB, milliseconds=40)")

    html = run("print(_._repr_html_())").printed

    assert "<svg" in html
    assert "<title>line 3 at " in html
    assert "<script" not in html


@pytest.mark.parametrize(
    ("line", "flags", "rest"),
    [
        ("-r 3 -i .5 f(x)", {"r": 3, "i": 0.5}, "f(x)"),
        ("-r3 -i.5 f(x)", {"r": 3, "i": 0.5}, "f(x)"),
        ("-coq f('-r 3')", {"c": True, "o": True, "q": True}, "f('-r 3')"),
        ("--backend=nbprof  x  = 'a  b'", {"backend": "nbprof"}, "x  = 'a  b'"),
        ("-- -x", {}, "-x"),
        ("", {}, ""),
    ],
)
def test_flags_come_first_and_the_statement_is_kept_as_typed(line, flags, rest):
    given = parse("memit", line)

    assert (dict(given.flags), given.rest) == (flags, rest)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("-r", "-r needs a value after it."),
        ("-r none pass", "-r takes a whole number of at least 1, not 'none'."),
        ("-r0 pass", "-r takes a whole number of at least 1, not '0'."),
        ("-t soon pass", "-t takes a number of seconds above 0, not 'soon'."),
        ("-q=1 pass", "-q takes no value."),
        ("-q -q pass", "-q was given twice."),
        ("-bakend nbprof pass", "there is no option -bakend; did you mean -backend?"),
        ("-backend tracemalloc pass", "-backend takes one of nbprof, memory_profiler"),
        ("-T /no/such/folder/x pass", "-T cannot write '/no/such/folder/x'"),
        ("-5 + 3", "Put -- before a statement that starts with a dash."),
    ],
)
def test_a_line_that_cannot_be_read_is_refused_in_a_sentence(line, sentence):
    with pytest.raises(NbprofError) as refused:
        parse("memit", line)

    assert sentence in str(refused.value)


def test_a_bad_option_is_a_usage_error_and_nothing_runs(run):
    outcome = run("%%memit -bakend x\nran = True")

    assert outcome.error == "UsageError"
    assert "did you mean -backend?" in outcome.traceback
    assert run("ran").error == "NameError"
    assert "needs a statement" in run("%memit").traceback


@pytest.mark.parametrize("magic", MEMORY)
def test_the_help_of_every_magic_is_made_from_its_table(run, magic):
    for flag in flags_of(magic).values():
        assert flag.usage in help_text(magic)
    assert run(f"print(get_ipython().find_magic({magic!r}).__doc__)").printed.strip() == (
        help_text(magic)
    )


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("%memit -ba", "-backend"),
        ("%%memit -r 3 -", "-i"),
        ("%memit -backend me", "memory_profiler"),
    ],
)
def test_options_and_their_values_are_completed(typed, offered):
    shell = Shell()
    shell.run("%load_ext nbprof")

    _, found = shell.shell.complete("", typed, len(typed))

    assert offered in found
    shell.close()


def test_names_after_the_options_are_completed_by_the_shell():
    assert completions("%memit long_na", "long_na") == []
    assert completions("%memit -r 3 long_na", "long_na") == []
    assert completions("%memit f(3 -", "-") == []


def test_unloading_restores_memory_profilers_magic(run):
    def older(line, cell=None):
        return "memory_profiler's"

    shell = Shell()
    shell.shell.register_magic_function(older, "line_cell", "memit")
    shell.run("%load_ext nbprof")
    assert shell.run("%memit -q pass").value is None

    shell.run("%unload_ext nbprof")

    assert shell.run("%memit pass").value == '"memory_profiler\'s"'
    assert "mprun" not in shell.shell.magics_manager.magics["line"]
    shell.close()


def test_unloading_keeps_a_magic_registered_after_ours():
    def newer(line, cell=None):
        return "newer"

    shell = Shell()
    shell.run("%load_ext nbprof")
    shell.shell.register_magic_function(newer, "line_cell", "memit")

    shell.run("%unload_ext nbprof")

    assert shell.run("%memit").value == "'newer'"
    shell.close()


@of_this_process
def test_the_value_of_a_line_is_released_before_the_last_reading(run):
    text = shown(run("%memit bytearray(80 * MIB)"))

    before, after = re.search(r"before ([\d.]+) MiB, after ([\d.]+) MiB", text).groups()
    assert increment(text) == pytest.approx(80, abs=1)
    assert float(after) - float(before) < 20


@on_linux
def test_after_a_trim_reused_memory_counts_as_increment(run):
    run("pieces = [bytes(1000) for _ in range(100_000)]; keep = pieces[::100]; del pieces")
    again = "%memit {} x = [bytes(1000) for _ in range(80_000)]"

    hidden = increment(shown(run(again.format(""))))
    run("del x")
    trimmed = increment(shown(run(again.format("-trim"))))

    assert trimmed > 60
    assert hidden < trimmed - 20


def test_loading_the_magics_imports_no_heavy_libraries():
    script = (
        "import sys\nimport nbprof.magics\n"
        "print([name for name in ('numpy', 'pandas', 'psutil', 'memory_profiler', 'ctypes') "
        "if name in set(sys.modules)])"
    )
    bare = "import IPython.core.interactiveshell\n"

    done = subprocess.run(
        [sys.executable, "-c", bare + script], capture_output=True, text=True, check=True
    )

    assert "memory_profiler" not in done.stdout
    assert "numpy" not in done.stdout
    assert "pandas" not in done.stdout

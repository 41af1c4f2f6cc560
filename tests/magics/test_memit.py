"""`%memit` and `%%memit`: memory_profiler's contract, in IPython's own shell."""

import json
import math
import re
import subprocess
import sys
from array import array
from dataclasses import replace

import pytest
from support.front_ends import Shell, shell_with_nbprof
from support.memory_spikes import MIB

from nbprof.display.memory.curve_svg import TALL
from nbprof.errors import NbprofError
from nbprof.flags import MEMORY, flags_of
from nbprof.magics.flag_parser import parse
from nbprof.magics.help_and_completion import completions, help_text
from nbprof.memory.children import held_by_children
from nbprof.memory.device_memory import DeviceMemory, over
from nbprof.memory.malloc_stats import Heap, kept, perhaps_kept, reusable
from nbprof.memory.result import Mark, MemoryResult, MemoryRun
from nbprof.memory.sampler import Curve

pytestmark = pytest.mark.notebook

LINE = re.compile(r"^peak memory: \d+\.\d\d MiB, increment: -?\d+\.\d\d MiB$", re.M)
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="the watermark is Linux's")


@pytest.fixture
def run():
    with shell_with_nbprof("from support.memory_spikes import MIB, spike") as run:
        yield run


def shown(outcome):
    (text,) = outcome.shown
    return text


def increment(text):
    return float(re.search(r"increment: (?:at least )?(-?[\d.]+) MiB", text)[1])


@on_linux
def test_a_line_reports_in_memory_profilers_words_and_is_right(run):
    text = shown(run("%memit spike(80 * MIB)"))

    assert LINE.match(text)
    assert increment(text) == pytest.approx(80, abs=1)
    assert re.search(r"^before [\d.]+ MiB, after [\d.]+ MiB", text, re.M)


def test_the_value_of_a_cell_is_still_its_value_and_its_names_land(run):
    outcome = run("%%memit\nkept = bytearray(30 * MIB)\nlen(kept)")

    assert outcome.value == str(30 * MIB)
    assert LINE.match(shown(outcome))
    assert run("len(kept)").value == str(30 * MIB)


def test_the_line_of_a_cell_is_setup_that_is_not_measured(run):
    outcome = run("%%memit early = bytearray(50 * MIB)\nlen(early)")

    assert increment(shown(outcome)) < 25
    assert outcome.value == str(50 * MIB)


def test_the_code_runs_once_unless_it_is_to_be_repeated(run):
    run("runs = []")
    run("%memit runs.append(1)")
    assert run("len(runs)").value == "1"

    text = shown(run("%memit -r3 runs.append(1)"))

    assert run("len(runs)").value == "4"
    assert text.count("MiB, ") >= 3
    assert "peaks of the runs: " in text


def test_a_result_is_returned_on_request_with_memory_profilers_attributes(run):
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
def test_a_result_that_is_displayed_is_not_printed_before(run, code):
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
def test_a_result_that_is_not_displayed_is_printed(run, code):
    outcome = run(code)

    assert outcome.value is None
    assert len(LINE.findall(outcome.printed)) == 1


def test_the_frame_is_in_bytes_and_is_written_as_csv(run, tmp_path):
    run("result = %memit -oq spike(40 * MIB)")

    run(f"result.to_csv({str(tmp_path / 'm.csv')!r})")
    assert run("result.to_csv('/nowhere/x.csv')").error == "NbprofError"

    header, row = (tmp_path / "m.csv").read_text().splitlines()
    found = dict(zip(header.split(","), row.split(","), strict=True))
    assert float(found["peak_bytes"]) == float(run("float(result.peak * 2**20)").value)
    assert float(found["before_bytes"]) == float(run("float(result.baseline * 2**20)").value)


def test_quiet_shows_nothing_and_a_file_gets_the_text(run, tmp_path):
    outcome = run(f"%memit -q -T {tmp_path / 'r.txt'} pass")

    assert not outcome.shown
    assert not outcome.printed
    assert LINE.match((tmp_path / "r.txt").read_text())


@pytest.mark.parametrize("error", ["1/0", "raise KeyboardInterrupt", "raise SystemExit(3)"])
def test_an_exception_leaves_the_cell_after_the_report(run, error):
    bare = run(error)
    outcome = run(f"%%memit\nbefore_it = 1\n{error}")

    assert outcome.error == bare.error
    assert LINE.match(shown(outcome))
    assert not outcome.of_nbprof
    assert "run_cell_magic" not in outcome.traceback
    assert run("before_it").value == "1"


def test_the_traceback_points_at_the_lines_on_the_screen(run):
    outcome = run("%%memit -q\n\nx = 1\n[][0]")

    assert "line 4" in outcome.traceback


def test_a_syntax_error_is_that_of_the_bare_cell_and_nothing_runs(run):
    outcome = run("%%memit\nran = 1\nx = (")

    assert outcome.error in ("SyntaxError", "_IncompleteInputError")
    assert not outcome.shown
    assert run("ran").error == "NameError"


@pytest.mark.parametrize("line", ["%memit 1 +", "%memit x y z", "%mprun -f len f("])
def test_a_syntax_error_behind_a_line_magic_shows_no_frames_of_nbprof(run, line):
    outcome = run(line)

    assert outcome.error in ("SyntaxError", "_IncompleteInputError")
    assert not outcome.of_nbprof
    assert "run_line_magic" not in outcome.traceback
    assert run("1/0").error == "ZeroDivisionError"


def test_a_top_level_await_is_refused_in_a_sentence(run):
    outcome = run("%%memit\nimport asyncio\nawait asyncio.sleep(0)")

    assert outcome.error == "UsageError"
    assert "`with nbprof.memory.measure() as run:`" in outcome.traceback


@on_linux
def test_nested_magics_are_each_right(run):
    outcome = run("%%memit\nspike(120 * MIB)\n%memit spike(50 * MIB)\nNone")

    inner, outer = outcome.shown
    assert increment(inner) == pytest.approx(50, abs=2)
    assert increment(outer) == pytest.approx(120, abs=2)


def test_measuring_ends_when_it_was_asked_to_and_the_code_runs_on(run):
    text = shown(run("import time\n%memit -t 0.03 time.sleep(0.6); finished = True"))

    assert "measuring ended after 0.03 s, as -t asked; the code ran on." in text
    assert run("finished").value == "True"


WAITS = "import time; held = bytearray(50 * 2**20); print(flush=True); time.sleep(60)"


@pytest.fixture
def with_child(run):
    run("import subprocess, sys")
    run(
        f"child = subprocess.Popen([sys.executable, '-c', {WAITS!r}], stdout=subprocess.PIPE)\n"
        "child.stdout.readline()"
    )
    yield run
    run("child.kill(); child.wait(); child.stdout.close()")


@pytest.mark.parametrize("backend", ["nbprof", "memory_profiler"])
def test_child_processes_live_when_the_cell_raises(with_child, backend):
    if backend == "memory_profiler":
        pytest.importorskip("memory_profiler")

    outcome = with_child(f"%%memit -backend {backend}\n1/0")

    assert outcome.error == "ZeroDivisionError"
    assert with_child("child.poll() is None").value == "True"


def test_what_children_hold_stands_apart_and_is_added_on_request(with_child):
    assert 50 * MIB <= held_by_children() < 10_000 * MIB

    apart = shown(with_child("%memit pass"))
    added = shown(with_child("%memit -c pass"))

    held = float(re.search(r"child processes at least ([\d.]+) MiB", apart)[1])
    assert held == pytest.approx(held_by_children() / MIB, abs=1)
    assert not apart.startswith("peak memory: at least")
    assert added.startswith("peak memory: at least")
    assert "a lower bound" in added
    peaks = [float(re.search(r"([\d.]+) MiB", text)[1]) for text in (apart, added)]
    assert peaks[1] - peaks[0] > 45


def test_memory_profiler_can_measure_for_comparison(run):
    pytest.importorskip("memory_profiler")

    for milliseconds in (300, 3000):  # on a busy machine it may miss what is short
        spiked = f"spike(60 * MIB, milliseconds={milliseconds})"
        text = shown(run(f"%memit -backend memory_profiler {spiked}"))
        if increment(text) > 50:
            break

    assert text.startswith("peak memory: at least ")
    assert increment(text) == pytest.approx(60, abs=10)
    assert "memory_profiler looked every 0.1 s" in text


def test_more_is_found_out_on_request_after_the_measured_stretch(run):
    text = shown(run("%memit -v spike(20 * MIB)"))

    assert re.search(r"after garbage collection [\d.]+ MiB; Python objects [\d.]+ MiB", text)


def test_a_fault_of_ours_costs_the_report_but_not_the_value(run, monkeypatch, capsys):
    monkeypatch.setattr("nbprof.memory.backends.together", None)

    outcome = run("%%memit\n'still there'")

    assert outcome.value == "'still there'"
    assert outcome.error is None


def test_the_html_has_the_curve_and_the_lines_and_runs_no_script(run):
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
        ("-q -q pass", "-q is given twice."),
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


def test_names_behind_the_options_are_left_to_the_shell_to_complete():
    assert completions("%memit long_na", "long_na") == []
    assert completions("%memit -r 3 long_na", "long_na") == []
    assert completions("%memit f(3 -", "-") == []


def test_unloading_gives_memory_profilers_magic_back(run):
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


def test_a_magic_that_came_after_ours_stays_when_ours_go():
    def newer(line, cell=None):
        return "newer"

    shell = Shell()
    shell.run("%load_ext nbprof")
    shell.shell.register_magic_function(newer, "line_cell", "memit")

    shell.run("%unload_ext nbprof")

    assert shell.run("%memit").value == "'newer'"
    shell.close()


def test_what_was_freed_but_is_kept_is_what_grew_without_being_used():
    at_first = Heap(used=100.0, free=10.0)

    assert kept(at_first, Heap(100.0, 174.0), growth=164) == 164  # made and freed again
    assert kept(at_first, Heap(-66.0, 176.0), growth=1) == 166  # freed, made before
    assert kept(at_first, Heap(300.0, 10.0), growth=200) == 0  # in use
    assert kept(at_first, Heap(116.0, 10.0), growth=200) == 0  # in use, but not from this heap
    assert math.isnan(kept(Heap(math.nan, math.nan), Heap(math.nan, math.nan), 5))


def test_the_peak_of_a_device_is_exact_only_where_it_rose():
    before = (DeviceMemory("GPU:0", 10, 50), DeviceMemory("GPU:1", 10, 50))
    after = (DeviceMemory("GPU:0", 20, 90), DeviceMemory("GPU:1", 30, 50))

    risen, not_risen = over(before, after)

    assert (risen.peak, risen.exact) == (90, True)
    assert (not_risen.peak, not_risen.exact) == (30, False)


def result_by_hand(**changes):
    curve = Curve()
    for seconds, resident, most in (
        (0, 100, 100),
        (0.01, 150, 160),
        (0.2, 110, 300),
        (0.21, 90, 110),
    ):
        curve.add(seconds, resident * MIB, most * MIB, 0.01 if seconds else 0)
    run = MemoryRun(
        before=100 * MIB, peak=300 * MIB, after=90 * MIB, exact=True, seconds=0.21, kept=12.5 * MIB,
        curve=curve, marks=(Mark(0.0, "line 2"), Mark(0.01, "line 3")),
    )  # fmt: skip
    return MemoryResult((run,), **changes)


def marked_by_hand():
    (run,) = result_by_hand().runs
    marks = (
        *run.marks,
        Mark(0.02, "step 0: <f>", "step", 0.19),
        Mark(0.03, "MatMul (MatMul)", "op", 0.18, 200 * MIB),
        Mark(0.195, "step 1: session", "step"),
    )
    return MemoryResult((replace(run, marks=marks),))


@pytest.mark.parametrize("rise", [0, 0.02, 3, 200])
def test_the_peaks_label_stands_at_its_line_however_small_the_rise(rise):
    curve = Curve()
    curve.add(0, 100 * MIB, 100 * MIB, 0)
    curve.add(0.2, 100 * MIB, (100 + rise) * MIB, 0.2)
    peak = (100 + rise) * MIB
    run = MemoryRun(
        before=100 * MIB, peak=peak, after=100 * MIB, exact=True, seconds=0.2, curve=curve
    )

    html = MemoryResult((run,))._repr_html_()

    top, height = map(float, re.search(r'viewBox="0 (\S+) 600 (\S+)"', html).groups())
    label = float(re.search(r'y="(\S+)">peak', html)[1])
    dashed = float(re.search(r'd="M8 (\S+)H592"', html)[1])
    assert top < label < dashed <= label + 25
    assert height == pytest.approx(TALL - top)


def test_the_text_says_what_is_known_and_nothing_else(golden):
    golden.check("memit.txt", result_by_hand(notes=("a <note>.",)).text)


def test_the_html_escapes_and_draws_gaps_as_gaps():
    html = result_by_hand(notes=("a <note>.",))._repr_html_()

    assert "a &lt;note&gt;." in html
    line = re.search(r'<path d="(M[^"]+)" fill="none"', html)[1]
    assert line.count("M") == 2


def test_the_curve_is_drawn_by_matplotlib_with_gaps_as_gaps():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    ax = result_by_hand().plot()

    held = ax.get_lines()[0].get_ydata()
    assert sum(math.isnan(size) for size in held) == 1
    assert ax.get_ylabel() == "MiB in RAM"
    assert result_by_hand().plot(ax=ax) is ax
    plt.close("all")


def test_steps_and_ops_stand_in_bands_of_the_drawing():
    html = marked_by_hand()._repr_html_()

    assert "<title>step 0: &lt;f&gt; at 20 ms for 170 ms</title>" in html
    assert "<title>MatMul (MatMul) at 30 ms for 150 ms, held up to 200.0 MiB</title>" in html
    assert re.findall(r">(steps|ops)</text>", html) == ["steps", "ops"]
    assert ">steps<" not in result_by_hand()._repr_html_()


def test_steps_and_ops_stand_in_bands_of_the_figure():
    pytest.importorskip("matplotlib").use("agg")
    import matplotlib.pyplot as plt

    ax = marked_by_hand().plot()

    bands = {band.get_gid(): band for band in ax.collections if band.get_gid()}
    starts = {
        kind: [path.vertices[:, 0].min() for path in band.get_paths()]
        for kind, band in bands.items()
    }
    assert starts == {"step": pytest.approx([0.02, 0.195]), "op": pytest.approx([0.03])}
    assert bands["op"].get_paths()[0].vertices[:, 0].max() == pytest.approx(0.18)
    plt.close("all")


def test_a_sample_between_two_gaps_is_a_dot():
    pytest.importorskip("matplotlib").use("agg")
    import matplotlib.pyplot as plt

    (run,) = result_by_hand().runs
    run.curve.gap[3] = 1
    result = MemoryResult((run,))

    html, ax = result._repr_html_(), result.plot()

    line = re.search(r'<path d="(M[^"]+)" fill="none"', html)[1]
    assert line.count("h0") == 2
    dots = ax.get_lines()[1]
    assert list(zip(*dots.get_data(), strict=True)) == [(0.2, 110), (0.21, 90)]
    plt.close("all")


def test_the_marks_are_a_frame():
    marks = marked_by_hand().marks

    assert list(marks["kind"]) == ["line", "line", "step", "op", "step"]
    assert marks["end_seconds"].notna().tolist() == [False, False, True, True, False]
    assert marks["bytes"].max() == 200 * MIB


def test_the_widget_has_samples_and_marks_and_says_what_is_shown():
    result = marked_by_hand()

    shown = result.explore()

    described = json.loads(shown.data)
    assert (described["peak"], described["exact"]) == (300 * MIB, True)
    assert [mark["end"] for mark in described["marks"]] == [None, None, 0.19, 0.18, None]
    seconds, resident, most, gap = shown.buffers
    assert array("d", seconds).tolist() == [0, 0.01, 0.2, 0.21]
    assert (array("d", most)[2], array("b", gap).tolist()) == (300 * MIB, [0, 0, 1, 0])
    assert len(resident) == len(seconds)
    assert (shown.time_range, len(shown.selection)) == (None, 4)
    shown.chosen = {"range": [0.005, 0.2]}
    assert shown.time_range == (0.005, 0.2)
    assert shown.selection["seconds"].tolist() == [0.01, 0.2]
    bundle, _ = shown._repr_mimebundle_()
    assert "<svg" in bundle["text/html"]
    assert bundle["text/plain"].startswith("peak memory: 300.00 MiB")
    assert bundle["text/plain"].endswith("needs a notebook; result.plot() draws it.")
    shown.close()
    assert shown.buffers == []


@on_linux
def test_the_value_of_a_line_is_let_go_before_the_last_look(run):
    text = shown(run("%memit bytearray(80 * MIB)"))

    before, after = re.search(r"before ([\d.]+) MiB, after ([\d.]+) MiB", text).groups()
    assert increment(text) == pytest.approx(80, abs=1)
    assert float(after) - float(before) < 20


def test_what_was_free_for_reuse_is_said_where_it_could_hide_an_increment():
    (run,) = result_by_hand().runs
    said = "up to 250.0 MiB was free for reuse before"

    assert said in MemoryResult((replace(run, reusable=250 * MIB),)).text
    assert "reuse" not in MemoryResult((replace(run, reusable=150 * MIB),)).text
    assert reusable(Heap(40 * MIB, 500 * MIB), 100 * MIB) == 60 * MIB
    assert math.isnan(reusable(Heap(math.nan, math.nan), 100 * MIB))


def test_growth_in_no_use_may_be_kept_unless_python_took_it():
    before, after = Heap(40 * MIB, 500 * MIB, 1000), Heap(40 * MIB, 500 * MIB, 1100)

    assert perhaps_kept(before, after, 76 * MIB) == 76 * MIB
    assert math.isnan(perhaps_kept(before, Heap(40 * MIB, 500 * MIB, 10**6), 76 * MIB))
    (run,) = result_by_hand().runs
    unsure = replace(run, kept=0.0, perhaps_kept=76 * MIB)
    assert "freed but kept by the allocator up to 76.0 MiB" in MemoryResult((unsure,)).text


@on_linux
def test_a_trim_before_shows_what_is_used_again(run):
    run("pieces = [bytes(1000) for _ in range(100_000)]; keep = pieces[::100]; del pieces")
    again = "%memit {} x = [bytes(1000) for _ in range(80_000)]"

    hidden = increment(shown(run(again.format(""))))
    run("del x")
    trimmed = increment(shown(run(again.format("-trim"))))

    assert trimmed > 60
    assert hidden < trimmed - 20


def test_loading_the_magics_imports_nothing_heavy():
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

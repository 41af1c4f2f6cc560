"""A profiled cell behaves exactly like the bare cell, in a shell and in a kernel."""

import os
import re
import subprocess
import sys

import pytest
from support.front_ends import Kernel, Shell
from support.left_behind import LEFT_BEHIND, NOTHING, watched_place

pytestmark = [pytest.mark.core("magics"), pytest.mark.tensorflow, pytest.mark.notebook]


@pytest.fixture(scope="module", params=[Shell, Kernel], ids=["shell", "kernel"])
def place(request, tmp_path_factory):
    first = "import tensorflow as tf\ntf.ones([2])"
    with watched_place(request.param, tmp_path_factory.mktemp("tmp"), first) as opened:
        yield opened


@pytest.fixture
def run(place):
    """Run cells; check afterwards that nothing is left switched on or left behind."""
    yield place.run
    assert place.run(LEFT_BEHIND).value.replace("\n", "") == NOTHING


def test_the_last_expression_is_still_the_value_of_the_cell(run):
    outcome = run("%%tfprof\ntf.ones([2])\n'value'")

    number = int(run("len(In) - 2").value)
    assert outcome.report.startswith(f"nbprof In [{number}] · ")
    assert run(f"Out[{number}]").value == outcome.value == "'value'"
    assert "Fill" in outcome.report


def test_a_trailing_semicolon_silences_the_value_but_not_the_report(run):
    outcome = run("%%tfprof\ntf.ones([2])\n'silenced';")

    assert outcome.value is None
    assert "Fill" in outcome.report


@pytest.mark.parametrize("end", ["; # a comment", ";  \n\n# a comment\n"])
def test_a_semicolon_before_a_comment_silences_the_value(run, end):
    assert run(f"%%tfprof -q\n'silenced'{end}").value is None


def test_a_shell_command_that_is_no_python_does_not_cost_the_value(run):
    assert run("%%tfprof -q\n!echo it\\'s here\n'value'").value == "'value'"


def test_a_cell_that_ends_in_a_statement_has_no_value(run):
    assert run("%%tfprof\nnumber = 4").value is None


def test_assignments_reach_the_namespace_even_before_an_error(run):
    run("before = None")

    outcome = run("%%tfprof\nbefore = 'set'\nraise ValueError('stop')\nafter = 1")

    assert outcome.error == "ValueError"
    assert run("before").value == "'set'"
    assert run("after").error == "NameError"


def test_an_exception_leaves_the_cell_after_the_report_of_what_ran(run):
    outcome = run("%%tfprof\ntf.ones([2])\n1/0")

    assert outcome.error == "ZeroDivisionError"
    assert "Fill" in outcome.report
    assert " · raised ZeroDivisionError after " in outcome.report


def test_a_cell_that_runs_out_of_memory_leads_with_its_line_and_what_was_alive(run):
    run("import numpy as np")
    bare = run("np.zeros(1 << 45)")
    outcome = run("%%tfprof\nkept = tf.random.uniform([512, 1024])\n\nnp.zeros(1 << 45)")

    assert outcome.error == bare.error
    report = outcome.report.splitlines()
    assert " · raised MemoryError after " in report[0]
    assert report[1] == "out of memory: Python asked for 281 TB for float64 [35184372088832]"
    assert re.fullmatch(r"  run at In \[\d+\]:4:<module>", report[2])
    assert re.fullmatch(
        r" +2.1 MB  float32 \[512,1024\]  RandomUniform  In \[\d+\]:2:.*", report[5]
    )


def test_a_cell_that_runs_to_its_end_inside_a_handler_of_an_exception_did_not_fail(run):
    outcome = run(
        "try:\n    1/0\nexcept ZeroDivisionError:\n"
        "    get_ipython().run_cell_magic('tfprof', '', 'tf.ones([2])')"
    )

    assert "Fill" in outcome.report
    assert "raised" not in outcome.report


def test_a_failed_cell_keeps_none_of_its_objects_alive_longer_than_a_bare_one(run):
    run("import gc, weakref\nclass Held: pass\nalive = {}")
    for magic in ("", "%%tfprof -q\n"):
        run(
            f"{magic}def fail():\n    held = Held()\n    alive[{magic!r}] = weakref.ref(held)\n"
            "    1/0\ngc.disable()\nfail()"
        )
        run("1/0")  # IPython keeps the last exception

    bare, profiled = eval(run("gc.enable()\n[held() is None for held in alive.values()]").value)
    assert profiled or not bare  # IPython 7 keeps those of a bare cell, too


def test_the_traceback_shows_only_the_users_lines_as_on_the_screen(run):
    cell = "%%tfprof -q\n\ndef fail():\n    return 1 / 0\n\nfail()"

    outcome = run(cell)

    assert outcome.pointed_at == [(6, "fail()"), (4, "return 1 / 0")]
    assert outcome.cells <= {int(run("len(In) - 2").value)}
    assert not outcome.of_nbprof
    assert "run_cell_magic" not in outcome.traceback
    assert "hidden" not in outcome.traceback


def test_the_traceback_is_that_of_the_bare_cell_shifted_by_one_line(run):
    bare = run("def fail():\n    [][0]\nfail()")
    profiled = run("%%tfprof -q\ndef fail():\n    [][0]\nfail()")

    assert bare.pointed_at == [(3, "fail()"), (2, "[][0]")]
    assert profiled.pointed_at == [(4, "fail()"), (3, "[][0]")]
    assert len(profiled.cells) == len(bare.cells)


def test_a_traceback_shown_again_is_just_as_short(run):
    run("%%tfprof -q\n1/0")

    outcome = run("%tb")

    assert "ZeroDivisionError" in outcome.printed + outcome.traceback
    assert not outcome.of_nbprof


def test_a_syntax_error_is_shown_as_for_a_bare_cell_and_nothing_runs(run):
    bare = run("ran = True\nx = (")
    outcome = run("%%tfprof\nran = True\nx = (")

    assert outcome.error == bare.error  # a SyntaxError, or from Python 3.13 on a kind of it
    assert "line 3" in outcome.traceback
    assert not outcome.of_nbprof
    assert not outcome.reports
    assert run("ran").error == "NameError"


def test_an_indentation_error_is_shown_as_for_a_bare_cell(run):
    outcome = run("%%tfprof\nif True:\nx = 1")

    assert outcome.error == "IndentationError"
    assert not outcome.of_nbprof


def test_statements_before_one_that_cannot_be_compiled_run(run):
    bare = run("first = 1\nreturn first")
    profiled = run("%%tfprof\nsecond = 2\nreturn second")

    assert bare.error == profiled.error == "SyntaxError"
    assert run("(first, second)").value == "(1, 2)"


def test_a_keyboard_interrupt_leaves_the_cell_after_the_report(run):
    outcome = run(
        "%%tfprof\nimport os, signal, threading\ntf.ones([2])\n"
        "os.kill(os.getpid(), signal.SIGINT)\nthreading.Event().wait(60)"
    )

    assert outcome.error == "KeyboardInterrupt"
    assert "Fill" in outcome.report
    assert " · interrupted after " in outcome.report
    assert not outcome.of_nbprof


def test_an_exception_group_is_shown_without_frames_of_nbprof(run):
    bare = run("raise ExceptionGroup('group', [ValueError(1)])")
    outcome = run("%%tfprof -q\nraise ExceptionGroup('group', [ValueError(1)])")

    assert outcome.error == bare.error
    assert not outcome.of_nbprof
    for part in ("ExceptionGroup: group", "ValueError: 1"):  # IPython 7 shows no inner errors
        assert (part in outcome.traceback) == (part in bare.traceback)


def test_exceptions_that_the_cell_catches_leave_the_shell_unchanged(run):
    run(
        "for _ in range(2):\n    try:\n"
        "        get_ipython().run_cell_magic('tfprof', '-q', 'raise KeyError(6)')\n"
        "    except KeyError:\n        pass"
    )

    outcome = run("raise KeyError('later')")

    assert outcome.error == "KeyError"
    assert not outcome.of_nbprof


def test_the_frames_of_a_python_caller_are_shown(run):
    outcome = run(
        "def train():\n    get_ipython().run_cell_magic('tfprof', '-q', '1/0')\n\ntrain()"
    )

    assert outcome.error == "ZeroDivisionError"
    assert outcome.pointed_at[:2] == [
        (4, "train()"),
        (2, "get_ipython().run_cell_magic('tfprof', '-q', '1/0')"),
    ]


WRAP = """
shell = get_ipython()
bare_run_cell_magic = shell.run_cell_magic
def run_cell_magic(magic, line, cell):
    return bare_run_cell_magic(magic, line, cell or ' ')
shell.run_cell_magic = run_cell_magic
"""


def test_a_traceback_is_just_as_short_in_a_shell_that_wraps_magics_like_colabs(run):
    run(WRAP)
    try:
        outcome = run("%%tfprof -q\n1/0")
    finally:
        run("del shell.run_cell_magic")

    assert outcome.pointed_at == [(2, "1/0")]
    assert not outcome.of_nbprof


EXPLAIN = """
def explain(shell, kind, error, traceback, tb_offset=None):
    shell.showtraceback((kind, error, traceback), tb_offset=tb_offset)
    print('maybe it is not installed')
shell = get_ipython()
shell.set_custom_exc((ImportError,), explain)
"""


def test_an_exception_handler_of_the_notebook_shows_every_frame(run):
    run(EXPLAIN)
    try:
        bare = run("import no_such_module")
        outcome = run("%%tfprof -q\nimport no_such_module")
    finally:
        run("shell.set_custom_exc((), None)")

    assert bare.pointed_at == [(1, "import no_such_module")]
    assert outcome.pointed_at == [(2, "import no_such_module")]
    assert "maybe it is not installed" in outcome.printed


def test_interrupting_the_report_does_not_cost_the_cells_value(run):
    run(
        "import nbprof.ingest\nread_rightly = nbprof.ingest.read\n"
        "def interrupted(capture):\n    raise KeyboardInterrupt\n"
        "nbprof.ingest.read = interrupted"
    )
    try:
        outcome = run("%%tfprof\n'still there'")
    finally:
        run("nbprof.ingest.read = read_rightly")

    assert outcome.error is None
    assert outcome.value == "'still there'"


def test_an_unwritable_text_file_costs_neither_report_nor_value(run):
    outcome = run("%%tfprof -T /dev/full\ntf.ones([2])\n'still there'")

    assert outcome.error is None
    assert outcome.value == "'still there'"
    assert "Fill" in outcome.report


def test_a_relative_text_file_is_in_the_directory_where_the_cell_began(run, tmp_path):
    run(f"import os\nbegan = os.getcwd()\nos.chdir({str(tmp_path)!r})")
    try:
        run("%%tfprof -T here.txt -q\nos.makedirs('below')\nos.chdir('below')")
    finally:
        run("os.chdir(began)")

    assert (tmp_path / "here.txt").exists()


def test_a_system_exit_ends_the_cell_like_a_bare_one(run):
    bare = run("raise SystemExit(3)")
    outcome = run("%%tfprof\ntf.ones([2])\nraise SystemExit(3)")

    assert outcome.error == bare.error == "SystemExit"
    assert "Fill" in outcome.report


def test_shell_commands_work(run):
    assert "hello from a shell" in run("%%tfprof -q\n!echo hello from a shell").printed


def test_line_magics_work_inside(run):
    outcome = run("%%tfprof -q\n%time x_timed = 5")

    assert "Wall time" in outcome.printed
    assert run("x_timed").value == "5"


def test_a_cell_magic_works_inside(run):
    outcome = run("%%tfprof -q\n%%time\ny_timed = 6")

    assert "Wall time" in outcome.printed
    assert run("y_timed").value == "6"


def test_triple_quoted_strings_are_unchanged(run):
    run("%%tfprof -q\ntext = '''a\n  b\n\tc'''")

    assert run("text").value == repr("a\n  b\n\tc")


def test_the_source_of_a_function_defined_in_the_cell_can_be_read(run):
    run("%%tfprof -q\nimport inspect\n\ndef documented():\n    return 1  # one\n")

    source = run("inspect.getsource(documented)").value

    assert source == repr("def documented():\n    return 1  # one\n")


def test_what_the_cell_displays_comes_before_the_report(run):
    outcome = run(
        "%%tfprof\nfrom IPython.display import display\ndisplay('first')\ntf.ones([2])\n1"
    )

    assert outcome.shown[0] == "'first'"
    assert "Fill" in outcome.shown[1]
    assert outcome.value == "1"


def test_every_expression_is_shown_if_the_shell_is_set_to_do_so(run):
    run("get_ipython().ast_node_interactivity = 'all'")
    try:
        outcome = run("%%tfprof -q\n'one'\n'two'")
    finally:
        run("get_ipython().ast_node_interactivity = 'last_expr'")

    assert outcome.values == ["'one'", "'two'"]


def test_a_last_assignment_is_shown_if_the_shell_is_set_to_do_so(run):
    run("get_ipython().ast_node_interactivity = 'last_expr_or_assign'")
    try:
        outcome = run("%%tfprof -q\nshown_too = 11")
    finally:
        run("get_ipython().ast_node_interactivity = 'last_expr'")

    assert outcome.value == "11"


def test_a_top_level_await_is_refused_in_a_sentence_and_nothing_runs(run):
    outcome = run("%%tfprof\nran_await = True\nimport asyncio\nawait asyncio.sleep(0)")

    assert outcome.error == "UsageError"
    assert "%%tfprof cannot run a top-level await" in outcome.traceback
    assert run("ran_await").error == "NameError"


def test_the_alternative_that_the_refusal_of_await_names_works(run):
    outcome = run(
        "import asyncio, nbprof\nwith nbprof.profile() as awaited:\n"
        "    await asyncio.sleep(0)\n    tf.ones([2])"
    )

    assert not outcome.traceback
    assert "Fill" in run("print(awaited.profile.op())").printed


def test_nbprof_gives_way_to_a_trace_that_the_cell_starts(run, tmp_path):
    outcome = run(
        f"%%tfprof\ntf.zeros([2])\nwith tf.profiler.experimental.Profile({str(tmp_path)!r}):\n"
        "    tf.ones([2])\n"
    )

    assert outcome.error is None
    assert "gave way to it and recorded nothing from then on" in outcome.report
    assert "1|1" in outcome.report  # the Fill of tf.zeros; that of tf.ones was not seen
    assert list(tmp_path.glob("**/*.xplane.pb"))


def test_nbprof_gives_way_to_a_tensorboard_callback(run, tmp_path):
    pytest.importorskip("tensorboard", reason="TensorBoard is not installed")
    outcome = run(
        "%%tfprof\nimport keras, numpy as np\n"
        "model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])\n"
        "model.compile(loss='mse')\n"
        f"board = keras.callbacks.TensorBoard({str(tmp_path)!r}, profile_batch=(2, 3))\n"
        "model.fit(np.ones((40, 4)), np.ones((40, 2)), batch_size=8, verbose=0, callbacks=[board]);"
    )

    assert outcome.error is None
    assert "gave way to it" in outcome.report
    assert list(tmp_path.glob("**/*.xplane.pb"))


def test_nbprof_gives_way_to_a_session_run_with_full_trace(run):
    outcome = run(
        "%%tfprof\nmetadata = tf.compat.v1.RunMetadata()\n"
        "full = tf.compat.v1.RunOptions(trace_level=tf.compat.v1.RunOptions.FULL_TRACE)\n"
        "with tf.Graph().as_default(), tf.compat.v1.Session() as session:\n"
        "    fetched = session.run(tf.constant(2.0) * 3, options=full, run_metadata=metadata)\n"
        "float(fetched), len(metadata.step_stats.dev_stats) > 0"
    )

    assert outcome.value == "(6.0, True)"
    assert "gave way to it" in outcome.report


def test_a_running_profiler_is_named_and_the_cell_is_not_run(run, tmp_path):
    run(f"tf.profiler.experimental.start({str(tmp_path)!r})")
    try:
        outcome = run("%%tfprof\nran_beside = True")
    finally:
        stopped = run("tf.profiler.experimental.stop()")

    assert outcome.error == "UsageError"
    assert "tf.profiler.experimental is already profiling" in outcome.traceback
    assert stopped.error is None
    assert run("ran_beside").error == "NameError"


def test_a_nested_tfprof_is_refused_and_its_cell_is_not_run(run):
    outcome = run("%%tfprof -q\n%%tfprof\nran_nested = True")

    assert outcome.error == "UsageError"
    assert "nbprof is already profiling In [" in outcome.traceback
    assert run("ran_nested").error == "NameError"


def test_a_cell_can_be_profiled_after_a_failed_one(run):
    run("%%tfprof -q\n1/0")

    assert "Fill" in run("%%tfprof\ntf.ones([2]);").report


def test_a_cell_of_blank_lines_or_comments_has_no_ops(run):
    for body in ("\n\n", "# nothing here\n"):
        outcome = run(f"%%tfprof\n{body}")

        assert outcome.error is None
        assert "no TensorFlow op ran in this cell" in outcome.report


def test_a_cell_without_tensorflow_has_no_ops(run):
    outcome = run("%%tfprof\nsum(range(10))")

    assert outcome.value == "45"
    assert "no TensorFlow op ran in this cell" in outcome.report


def test_a_bug_in_nbprof_costs_the_report_but_not_the_cells_value(run):
    run("import nbprof.ingest\nread_rightly = nbprof.ingest.read\nnbprof.ingest.read = None")
    try:
        outcome = run("%%tfprof\ntf.ones([2])\n'still there'")
    finally:
        run("nbprof.ingest.read = read_rightly")

    assert outcome.error is None
    assert outcome.value == "'still there'"
    assert not outcome.reports


def test_a_bad_option_is_refused_in_a_sentence_and_the_cell_is_not_run(run):
    outcome = run("%%tfprof -orderby micros\nran_anyway = True")

    assert outcome.error == "UsageError"
    assert "there is no option -orderby; did you mean -order_by?" in outcome.traceback
    assert "Traceback" not in outcome.traceback
    assert run("ran_anyway").error == "NameError"


def test_a_missing_step_is_refused_in_a_sentence_after_the_cell_ran(run):
    profiled = run("%%tfprof -step 99\ntf.ones([2])\n'still there'")
    again = run("%tfprof -step 99")

    assert profiled.value == "'still there'"
    assert profiled.error is None
    assert again.error == "UsageError"
    assert "there is no step 99; steps are 0, -1 or all." in again.traceback
    assert "Fill" in run("%tfprof").report


def test_the_users_random_state_is_unchanged(run):
    draw = "import numpy as np\ntf.random.set_seed(1); np.random.seed(1)\n"
    bare = run(f"{draw}float(tf.random.uniform([])), float(np.random.rand())")
    profiled = run(f"%%tfprof -q\n{draw}float(tf.random.uniform([])), float(np.random.rand())")

    assert profiled.value == bare.value


def test_the_report_goes_to_a_name_a_file_or_nowhere(run, tmp_path):
    file = tmp_path / "report.txt"

    outcome = run(f"%%tfprof scope -o kept -T {file} -q\ntf.ones([2]);")

    assert not outcome.reports
    assert run("kept.text").value == repr(file.read_text())
    assert "Fill" in file.read_text()


def test_ops_are_found_at_their_lines_in_this_and_earlier_cells(run):
    run("def helper(x):\n    return tf.matmul(x, x)")
    run("@tf.function\ndef traced(x):\n    y = tf.sin(x)\n    return helper(y)")
    here = int(run("len(In)").value)
    helper, traced = here - 3, here - 2

    run(
        "%%tfprof code -o lines -q -select occurrence\nx = tf.ones([2, 2])\nhelper(x)\n"
        "for _ in range(3):\n    traced(x)\nmade = tf.constant([1.0, 2.0])"
    )

    frame = eval(run("lines.frame[['depth', 'name', 'run_count']].fillna(0).values.tolist()").value)
    counted = {(depth, name): count for depth, name, count in frame}
    assert counted[1, f"In [{here}]:2:<module>"] >= 1
    assert counted[1, f"In [{here}]:3:<module>"] == 0
    assert counted[2, f"In [{helper}]:2:helper"] == 1
    assert counted[2, f"In [{traced}]:3:traced"] == 3
    assert counted[3, f"In [{helper}]:2:helper"] == 3
    assert counted[1, f"In [{here}]:6:<module>"] == 1
    assert not any("interactiveshell" in name or "cell.py" in name for _, name in counted)
    cells = eval(run("lines.profile.cells.values.tolist()").value)
    assert [line for line in cells if line[0] == f"In [{helper}]"] == [
        [f"In [{helper}]", 1, "def helper(x):"],
        [f"In [{helper}]", 2, "    return tf.matmul(x, x)"],
    ]
    assert [f"In [{here}]", 1, "%%tfprof code -o lines -q -select occurrence"] in cells
    assert [f"In [{here}]", 4, "for _ in range(3):"] in cells
    assert [file for file, *_ in cells].count(f"In [{here}]") == 6


def test_a_function_of_an_earlier_cell_is_found_where_it_runs(run):
    run("@tf.function\ndef traced(x):\n    return tf.math.erf(x)")
    run("traced(tf.ones([2]))")
    here = int(run("len(In)").value)

    run("%%tfprof code -o lines -q -select occurrence\n%precision 3\ntraced(tf.ones([2]))")

    frame = eval(run("lines.frame[['depth', 'name', 'run_count']].fillna(0).values.tolist()").value)
    counted = {(depth, name): count for depth, name, count in frame}
    assert counted[2, f"In [{here - 3}]:3:traced"] == 1
    assert {name for depth, name in counted if depth == 1} == {f"In [{here}]:3:<module>"}
    assert [f"In [{here}]", 2, "%precision 3"] in eval(
        run("lines.profile.cells.values.tolist()").value
    )


def test_a_cell_run_twice_keeps_both_its_names(run):
    define = "def twice(x):\n    return tf.matmul(x, x)\nkept.append(twice)"
    run("kept = []")
    for _ in range(2):
        run(define)
    last = int(run("len(In)").value) - 2

    run("%%tfprof code -o lines -q\nfor function in kept:\n    function(tf.ones([2, 2]))")

    names = run("print(list(lines.frame['name']))").printed
    assert f"In [{last}]:2:twice" in names
    assert "ipython-input" not in names


def test_functions_traced_by_a_bare_cell_name_its_lines(run):
    run("traced_here = tf.function(lambda x: tf.sin(x))\n\ntraced_here(tf.ones([2]))")
    number = int(run("len(In)").value) - 2

    run("%%tfprof code -o lines -q\ntraced_here(tf.ones([2]))")

    names = eval(run("lines.frame['name'].tolist()").value)
    assert names[1:] == [f"In [{number + 2}]:2:<module>", f"In [{number}]:1:<lambda>"]


def test_the_last_profile_is_viewed_without_running_anything(run):
    run("runs = 0")
    run("%%tfprof -q\nruns += 1\ntf.ones([2]);")

    outcome = run("%tfprof scope -max_depth 1")

    assert "_TFProfRoot (--/" in outcome.report
    assert "Fill" not in outcome.report
    assert run("runs").value == "1"


@pytest.mark.parametrize("front_end", [Kernel])
def test_tensorflow_is_imported_before_the_clock_starts(front_end):
    kernel = front_end()
    try:
        kernel.run("%load_ext nbprof")
        outcome = kernel.run("%%tfprof\nimport tensorflow as tf\ntf.ones([2]);")

        assert "nbprof imported TensorFlow before the clock started" in outcome.report
        assert "Fill" in outcome.report
    finally:
        kernel.close()


def test_without_tensorflow_the_cell_runs_and_the_report_says_what_is_missing(tmp_path):
    hide = "import sys; sys.modules.pop('tensorflow', None)\n" + HIDE_TENSORFLOW
    kernel = Kernel()
    try:
        kernel.run(hide)
        kernel.run("%load_ext nbprof")
        outcome = kernel.run("%%tfprof\n6 * 7")

        assert outcome.value == "42"
        assert "TensorFlow is not installed, so the cell ran unprofiled" in outcome.report
        assert "pip install 'nbprof[tensorflow]'" in outcome.report
    finally:
        kernel.close()


HIDE_TENSORFLOW = """
import importlib.machinery, importlib.util
find = importlib.machinery.PathFinder.find_spec
def find_but_tensorflow(name, *rest):
    return None if name.split('.')[0] == 'tensorflow' else find(name, *rest)
importlib.machinery.PathFinder.find_spec = find_but_tensorflow
"""


def test_terminal_ipython_shows_the_text():
    pexpect = pytest.importorskip("pexpect")
    terminal = pexpect.spawn(
        sys.executable,
        ["-m", "IPython", "--simple-prompt", "--no-banner", "--colors=NoColor"],
        env={**os.environ, "TERM": "dumb"},
        encoding="utf-8",
        timeout=120,
        dimensions=(50, 200),
    )
    terminal.expect(r"In \[1\]: ")
    terminal.sendline("%load_ext nbprof")
    terminal.expect(r"In \[2\]: ")
    terminal.sendline(
        "get_ipython().run_cell('%%tfprof\\nimport tensorflow as tf\\ntf.ones([2]);');"
    )

    terminal.expect("Profile:")
    terminal.expect("Fill")
    terminal.expect(r"In \[3\]: ")
    terminal.sendline("%tfprof op -explore")
    terminal.expect("Profile:")
    terminal.expect("the explorer needs a notebook")
    terminal.expect(r"In \[4\]: ")
    terminal.sendline("exit")
    terminal.expect(pexpect.EOF)


def test_loading_imports_nothing_heavy():
    script = (
        "import sys\nfrom IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance()\nbefore = set(sys.modules)\n"
        "shell.run_line_magic('load_ext', 'nbprof')\n"
        "print(sorted({name.split('.')[0] for name in set(sys.modules) - before}))"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    heavy = {"tensorflow", "pandas", "matplotlib", "ipywidgets", "anywidget", "numpy", "keras"}
    assert "nbprof" in done.stdout
    assert not heavy & set(eval(done.stdout))

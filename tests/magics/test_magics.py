import subprocess
import sys

import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from support.by_hand import node, profile
from support.paths import DATA
from support.trace_files import host_trace

import nbprof
from nbprof.errors import NbprofError
from nbprof.flags import TFPROF
from nbprof.magics.help_and_completion import help_text
from nbprof.magics.magic_table import MAGICS
from nbprof.magics.profiling_line import parse_line
from nbprof.options import ViewOptions
from nbprof.views import VIEWS

pytestmark = pytest.mark.core("magics")


@pytest.fixture
def shell():
    InteractiveShell.clear_instance()
    yield InteractiveShell.instance()
    InteractiveShell.clear_instance()


def registered(shell):
    return {kind: shell.magics_manager.magics[kind].get(TFPROF) for kind in ("line", "cell")}


@pytest.mark.parametrize(
    "line",
    [
        "scope -max_depth 3 -order_by name -select micros",
        "scope --max_depth 3 --order_by name --select micros",
        "scope -max_depth=3 -order_by=name -select='micros'",
        'scope  -select "micros"   -order_by name -max_depth 3',
    ],
)
def test_options_may_be_spelled_as_in_tfprof_or_with_two_dashes(line):
    request = parse_line("tfprof", line)

    assert request.word == "scope"
    assert request.options == ViewOptions(max_depth=3, order_by="name", select=("micros",))


def test_an_empty_line_is_the_op_view_with_defaults():
    request = parse_line("tfprof", "")

    assert (request.word, request.options) == ("op", ViewOptions())
    assert request.flags == {}


@pytest.mark.parametrize(("magic", "shown"), {"tfprof": "call", "pyprof": "call"}.items())
def test_a_file_without_the_first_view_shows_the_first_one_it_has(shell, magic, shown):
    nbprof.load_ipython_extension(shell)

    shell.run_line_magic(magic, f"-from {DATA / 'python' / 'py-spy.collapsed'} -q -o view")

    assert shell.user_ns["view"].name == shown


def test_a_view_that_is_named_is_shown_or_refused(shell):
    nbprof.load_ipython_extension(shell)

    with pytest.raises(UsageError, match="the op view needs TensorFlow's ops"):
        shell.run_line_magic("tfprof", f"op -from {DATA / 'python' / 'py-spy.collapsed'}")


def test_flags_and_options_may_come_in_any_order(tmp_path):
    request = parse_line("tfprof", f"-q -o kept -max_depth 2 -T {tmp_path / 'r.txt'}")

    assert request.flags == {"q": True, "o": "kept", "T": tmp_path / "r.txt"}
    assert request.options == ViewOptions(max_depth=2)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("-orderby micros", "there is no option -orderby; did you mean -order_by?"),
        ("ops", "there is no view or command 'ops'; use one of op, scope, graph, code, layer"),
        ("advise -explore", "advise has no -explore, because it shows no view."),
        ("set -q", "-q is for a single line; set keeps only view options."),
        ("advise -max_depth 3", "advise has no -max_depth, because it shows no view."),
        ("-preset fast", "-preset takes one of trainable_variables_parameter"),
        ("-limit soon", "-limit takes a number of seconds above 0, not 'soon'."),
        (
            "-steps some",
            "-steps takes a number of warm steps, such as 20, or a range of steps, such as 100:120 "
            "for 100 to 119, not 'some'.",
        ),
        ("-trim_name_regexes (", "not a valid RE2 regular expression: missing )"),
        ("-max_depth", "-max_depth needs a value after it."),
        ("-max_depth 1 -max_depth 2", "-max_depth was given twice."),
        ("-o two-words", "-o takes the name of a Python variable, not 'two-words'."),
        ("-o class", "-o takes the name of a Python variable, not 'class'."),
        ("-o __builtins__", "-o takes the name of a Python variable"),
        ("-q scope", "name one view, before the options: %tfprof scope"),
        ("--help", "%tfprof help shows the help."),
        ("-q=1", "-q takes no value."),
        ("-light=1", "-light takes no value."),
        ("-explore=1", "-explore takes no value."),
        ("op extra", "'extra' is not an option; options are -o, -q"),
        ("-x", "there is no option -x"),
        ("-", "'-' is not an option"),
        ("-select 'micros", "the line cannot be read: No closing quotation."),
        ("-T /no/such/folder/r.txt", "the directory /no/such/folder does not exist."),
        ("-T /", "-T cannot write '/': it is a directory."),
    ],
)
def test_a_bad_line_is_refused_in_a_sentence(line, sentence):
    with pytest.raises(NbprofError) as refused:
        parse_line("tfprof", line)

    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("-account_displayed_op_only", True),
        ("-account_displayed_op_only -max_depth 3", True),
        ("-account_displayed_op_only no -max_depth 3", False),
        ("-account_displayed_op_only=YES", True),
    ],
)
def test_account_displayed_op_only_needs_no_value(line, expected):
    assert parse_line("tfprof", line).options.account_displayed_op_only is expected


def test_options_beside_a_preset_override_it():
    options = parse_line("tfprof", "scope -preset float_operation -max_depth 3").options

    assert options.select == ("float_ops",)
    assert options.minimum == {"float_ops": 1}
    assert options.max_depth == 3


def test_set_keeps_options_for_later_lines_until_reset(shell, capsys):
    shell.run_line_magic("load_ext", "nbprof")
    tfprof = shell.magics_manager.registry["NbprofMagics"]

    shell.run_line_magic("tfprof", "set -order_by name -max_depth 3")
    shell.run_line_magic("tfprof", "set -max_depth 4")
    kept = parse_line("tfprof", "scope -select micros", tfprof._kept_options("tfprof")).options
    shell.run_line_magic("tfprof", "set reset")

    assert (kept.order_by, kept.max_depth, kept.select) == ("name", 4, ("micros",))
    assert not tfprof._kept_options("tfprof")
    assert "%tfprof will use -order_by name -max_depth 4." in capsys.readouterr().out


def test_a_preset_on_the_line_overrides_kept_options():
    options = parse_line(
        "tfprof", "scope -preset float_operation", {"select": "bytes", "max_depth": "7"}
    )

    assert options.options.select == ("float_ops",)
    assert options.options.max_depth == 10000


def test_from_is_refused_for_a_cell(shell):
    shell.run_line_magic("load_ext", "nbprof")

    with pytest.raises(UsageError, match="-from runs no cell: use %tfprof -from"):
        shell.run_cell_magic("tfprof", "-from x.nbprof", "ran = True")
    assert "ran" not in shell.user_ns


@pytest.mark.parametrize("line", ["-light", "-limit 3", "-steps 3", "-steps 2:4"])
def test_recording_flags_are_refused_where_nothing_is_recorded(shell, line):
    shell.run_line_magic("load_ext", "nbprof")

    with pytest.raises(UsageError, match="is for profiling a cell: use %%tfprof"):
        shell.run_line_magic("tfprof", line)


def test_the_word_help_prints_the_help(shell, capsys):
    shell.run_line_magic("load_ext", "nbprof")

    shell.run_line_magic("tfprof", "help")

    assert capsys.readouterr().out.strip() == help_text(TFPROF)


def test_from_views_a_saved_profile(shell, tmp_path):
    shell.run_line_magic("load_ext", "nbprof")
    profile(node("a/b", "MatMul", micros=7)).save(tmp_path / "x.nbprof")

    shell.run_line_magic("tfprof", f"op -q -o bound -from {tmp_path / 'x.nbprof'}")

    assert list(shell.user_ns["bound"].frame["micros"]) == [7]


def test_from_views_a_logdir_a_run_or_a_pattern(shell, tmp_path):
    shell.run_line_magic("load_ext", "nbprof")
    folder = tmp_path / "plugins" / "profile" / "run"
    folder.mkdir(parents=True)
    for host in ("a", "b"):
        (folder / f"{host}.xplane.pb").write_bytes(host_trace())

    for source in (tmp_path, folder, folder / "*.xplane.pb"):
        shell.run_line_magic("tfprof", f"op -q -o bound -from {source}")
        assert list(shell.user_ns["bound"].frame["run_count"]) == [6, 6]


def test_from_refuses_a_missing_file_with_its_name(shell, tmp_path):
    shell.run_line_magic("load_ext", "nbprof")

    with pytest.raises(UsageError, match=r"nothing\.nbprof"):
        shell.run_line_magic("tfprof", f"-from {tmp_path / 'nothing.nbprof'}")


def test_the_magic_has_all_views():
    assert MAGICS[TFPROF].words[: len(VIEWS)] == tuple(VIEWS)


def test_loading_registers_the_magics_and_unloading_removes_them(shell):
    assert registered(shell) == {"line": None, "cell": None}

    shell.run_line_magic("load_ext", "nbprof")
    assert all(registered(shell).values())

    shell.run_line_magic("unload_ext", "nbprof")
    assert registered(shell) == {"line": None, "cell": None}


def test_unloading_restores_a_magic_that_was_replaced(shell):
    def older(line):
        return "older"

    shell.register_magic_function(older, "line", TFPROF)
    shell.run_line_magic("load_ext", "nbprof")
    shell.run_line_magic("reload_ext", "nbprof")

    shell.run_line_magic("unload_ext", "nbprof")

    assert shell.run_line_magic(TFPROF, "") == "older"
    assert registered(shell)["cell"] is None


def test_reloading_is_harmless(shell):
    shell.run_line_magic("load_ext", "nbprof")
    for _ in range(3):
        shell.run_line_magic("reload_ext", "nbprof")

    assert all(registered(shell).values())
    shell.run_line_magic("unload_ext", "nbprof")
    assert registered(shell) == {"line": None, "cell": None}


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("%%tfprof ", "scope"),
        ("%%tfprof -ord", "-order_by"),
        ("%tfprof scope -max", "-max_depth"),
        ("%%tfprof op -order_by cpu", "cpu_micros"),
        ("%%tfprof op -select micros,occ", "occurrence"),
        ("%%tfprof op -select ", "accelerator_micros"),
        ("%%tfprof op -select=mic", "micros"),
        ("%tfprof -preset float", "float_operation"),
        ("%tfprof -account_displayed_op_only ", "false"),
    ],
)
def test_views_options_and_their_values_are_completed(shell, typed, offered):
    shell.run_line_magic("load_ext", "nbprof")

    _, found = shell.complete("", typed, len(typed))

    assert offered in found


def test_unloading_ends_completion(shell):
    shell.run_line_magic("load_ext", "nbprof")
    shell.run_line_magic("unload_ext", "nbprof")

    _, found = shell.complete("", "%%tfprof -ord", 13)

    assert "-order_by" not in found


def test_viewing_before_profiling_says_what_to_do(shell, monkeypatch, capsys):
    monkeypatch.setattr("nbprof.run._last", None)
    shell.run_line_magic("load_ext", "nbprof")

    shell.run_cell("%tfprof")

    assert "nothing has been profiled yet" in "".join(capsys.readouterr())


def test_pandas_is_not_imported_while_the_block_is_timed():
    script = (
        "import sys, nbprof\nfrom nbprof.capture.recorder import Recorder\n"
        "stop = Recorder.stop\n"
        "Recorder.stop = lambda self: (print('pandas' in sys.modules), stop(self))[1]\n"
        "with nbprof.profile():\n    pass\n"
    )
    hidden = "import sys\nsys.modules['tensorflow'] = None\n"

    done = subprocess.run(
        [sys.executable, "-c", hidden + script], capture_output=True, text=True, check=True
    )

    assert done.stdout.split() == ["False"]


def test_a_block_has_no_profile_before_it_ends():
    with pytest.raises(NbprofError, match="the profiled block has not ended"):
        _ = nbprof.profile().profile

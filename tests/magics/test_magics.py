import subprocess
import sys

import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from support.by_hand import node, profile
from support.trace_files import host_trace

import nbprof
from nbprof import views
from nbprof.errors import NbprofError
from nbprof.magics.tfprof_line import MAGIC, VIEWS, help_text, parse_line
from nbprof.magics.tfprof_magic import NbprofMagics
from nbprof.options import OPTIONS, ViewOptions


@pytest.fixture
def shell():
    InteractiveShell.clear_instance()
    yield InteractiveShell.instance()
    InteractiveShell.clear_instance()


def magics(shell):
    return {kind: shell.magics_manager.magics[kind].get(MAGIC) for kind in ("line", "cell")}


@pytest.mark.parametrize(
    "line",
    [
        "scope -max_depth 3 -order_by name -select micros",
        "scope --max_depth 3 --order_by name --select micros",
        "scope -max_depth=3 -order_by=name -select='micros'",
        'scope  -select "micros"   -order_by name -max_depth 3',
    ],
)
def test_a_line_may_be_spelled_as_tfprof_does_or_with_two_dashes(line):
    request = parse_line(line)

    assert request.word == "scope"
    assert request.options == ViewOptions(3, "name", ("micros",))


def test_an_empty_line_asks_for_the_op_view_with_defaults():
    request = parse_line("")

    assert (request.word, request.options) == ("op", ViewOptions())
    assert (request.name, request.quiet, request.text_file) == (None, False, None)


def test_own_flags_stand_among_the_options_in_any_order(tmp_path):
    request = parse_line(f"-q -o kept -max_depth 2 -T {tmp_path / 'r.txt'}")

    assert (request.name, request.quiet, request.text_file) == ("kept", True, tmp_path / "r.txt")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("-orderby micros", "there is no option -orderby; did you mean -order_by?"),
        ("ops", "there is no view 'ops'; there is op, scope, graph, code, layer, advise, set"),
        ("advise -explore", "advise has no options of views, so no -explore."),
        ("set -q", "-q is for one line, and set keeps options of views."),
        ("advise -max_depth 3", "advise has no options of views, so no -max_depth."),
        ("-preset fast", "-preset takes one of trainable_variables_parameter"),
        ("-limit soon", "-limit takes a number of seconds above 0, not 'soon'."),
        ("-trim_name_regexes (", "no regular expression of RE2: missing )"),
        ("-max_depth", "-max_depth needs a value behind it."),
        ("-max_depth 1 -max_depth 2", "-max_depth is given twice."),
        ("-o two-words", "-o takes a Python name of your own, not 'two-words'."),
        ("-o class", "-o takes a Python name of your own, not 'class'."),
        ("-o __builtins__", "-o takes a Python name of your own"),
        ("-q scope", "a view comes before the options: %%tfprof scope"),
        ("--help", "%tfprof help prints the help."),
        ("-q=1", "-q takes no value."),
        ("-light=1", "-light takes no value."),
        ("-explore=1", "-explore takes no value."),
        ("op extra", "'extra' stands where an option was expected"),
        ("-x", "there is no option -x"),
        ("-", "'-' stands where an option was expected"),
        ("-select 'micros", "the line cannot be read: No closing quotation."),
        ("-T /no/such/folder/r.txt", "-T cannot write '/no/such/folder/r.txt'"),
    ],
)
def test_a_line_that_cannot_be_read_is_refused_in_a_sentence(line, sentence):
    with pytest.raises(NbprofError) as refused:
        parse_line(line)

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
def test_a_switch_of_tfprofs_stands_for_itself_or_with_a_word(line, expected):
    assert parse_line(line).options.account_displayed_op_only is expected


def test_a_preset_is_where_the_other_options_start_from():
    options = parse_line("scope -preset float_operation -max_depth 3").options

    assert options.select == ("float_ops",)
    assert options.minimum == {"float_ops": 1}
    assert options.max_depth == 3


def test_options_that_were_set_hold_for_later_lines_until_they_are_reset(shell, capsys):
    shell.run_line_magic("load_ext", "nbprof")
    tfprof = shell.magics_manager.registry["NbprofMagics"]

    shell.run_line_magic("tfprof", "set -order_by name -max_depth 3")
    shell.run_line_magic("tfprof", "set -max_depth 4")
    kept = parse_line("scope -select micros", tfprof._kept()).options
    shell.run_line_magic("tfprof", "set reset")

    assert (kept.order_by, kept.max_depth, kept.select) == ("name", 4, ("micros",))
    assert not tfprof._kept()
    assert "%tfprof will use -order_by name -max_depth 4." in capsys.readouterr().out


def test_a_preset_of_the_line_counts_more_than_what_was_set():
    options = parse_line("scope -preset float_operation", {"select": "bytes", "max_depth": "7"})

    assert options.options.select == ("float_ops",)
    assert options.options.max_depth == 10000


def test_a_file_is_not_viewed_by_running_a_cell(shell):
    shell.run_line_magic("load_ext", "nbprof")

    with pytest.raises(UsageError, match="-from views a file and runs no cell"):
        shell.run_cell_magic("tfprof", "-from x.nbprof", "ran = True")
    assert "ran" not in shell.user_ns


def test_flags_of_recording_are_refused_where_nothing_is_recorded(shell):
    shell.run_line_magic("load_ext", "nbprof")

    with pytest.raises(UsageError, match="-light and -limit are for cells"):
        shell.run_line_magic("tfprof", "-light")


def test_the_word_help_prints_the_table_of_options(shell, capsys):
    shell.run_line_magic("load_ext", "nbprof")

    shell.run_line_magic("tfprof", "help")

    assert capsys.readouterr().out.strip() == help_text()


def test_a_line_can_be_about_a_file(shell, tmp_path):
    shell.run_line_magic("load_ext", "nbprof")
    profile(node("a/b", "MatMul", micros=7)).save(tmp_path / "x.nbprof")

    shell.run_line_magic("tfprof", f"op -q -o bound -from {tmp_path / 'x.nbprof'}")

    assert list(shell.user_ns["bound"].frame["micros"]) == [7]


def test_a_line_can_be_about_a_logdir_or_a_pattern(shell, tmp_path):
    shell.run_line_magic("load_ext", "nbprof")
    folder = tmp_path / "plugins" / "profile" / "run"
    folder.mkdir(parents=True)
    for host in ("a", "b"):
        (folder / f"{host}.xplane.pb").write_bytes(host_trace())

    for source in (tmp_path, folder, folder / "*.xplane.pb"):
        shell.run_line_magic("tfprof", f"op -q -o bound -from {source}")
        assert list(shell.user_ns["bound"].frame["run_count"]) == [6, 6]


def test_a_file_that_is_not_there_is_refused_in_a_sentence(shell, tmp_path):
    shell.run_line_magic("load_ext", "nbprof")

    with pytest.raises(UsageError, match=r"nothing\.nbprof"):
        shell.run_line_magic("tfprof", f"-from {tmp_path / 'nothing.nbprof'}")


def test_the_magic_offers_the_views_there_are():
    assert tuple(views.VIEWS) == VIEWS


def test_the_help_is_made_from_the_table_of_options():
    for name, option in OPTIONS.items():
        assert f"-{name} {option.value}" in NbprofMagics.tfprof.__doc__
        assert option.help in NbprofMagics.tfprof.__doc__


def test_loading_registers_the_magics_and_unloading_removes_them(shell):
    assert magics(shell) == {"line": None, "cell": None}

    shell.run_line_magic("load_ext", "nbprof")
    assert all(magics(shell).values())

    shell.run_line_magic("unload_ext", "nbprof")
    assert magics(shell) == {"line": None, "cell": None}


def test_unloading_puts_back_a_magic_that_was_there_before(shell):
    def older(line):
        return "older"

    shell.register_magic_function(older, "line", MAGIC)
    shell.run_line_magic("load_ext", "nbprof")
    shell.run_line_magic("reload_ext", "nbprof")

    shell.run_line_magic("unload_ext", "nbprof")

    assert shell.run_line_magic(MAGIC, "") == "older"
    assert magics(shell)["cell"] is None


def test_reloading_is_harmless(shell):
    shell.run_line_magic("load_ext", "nbprof")
    for _ in range(3):
        shell.run_line_magic("reload_ext", "nbprof")

    assert all(magics(shell).values())
    shell.run_line_magic("unload_ext", "nbprof")
    assert magics(shell) == {"line": None, "cell": None}


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("%%tfprof ", "scope"),
        ("%%tfprof -ord", "-order_by"),
        ("%tfprof scope -max", "-max_depth"),
        ("%%tfprof op -order_by cpu", "cpu_micros"),
        ("%%tfprof op -select micros,occ", "occurrence"),
        ("%%tfprof op -select ", "accelerator_micros"),
    ],
)
def test_views_options_and_their_values_are_completed(shell, typed, offered):
    shell.run_line_magic("load_ext", "nbprof")

    _, found = shell.complete("", typed, len(typed))

    assert offered in found


def test_completion_ends_with_unloading(shell):
    shell.run_line_magic("load_ext", "nbprof")
    shell.run_line_magic("unload_ext", "nbprof")

    _, found = shell.complete("", "%%tfprof -ord", 13)

    assert "-order_by" not in found


def test_looking_again_before_anything_was_profiled_says_what_to_do(shell, monkeypatch, capsys):
    monkeypatch.setattr("nbprof.run._last", None)
    shell.run_line_magic("load_ext", "nbprof")

    shell.run_cell("%tfprof")

    assert "nothing has been profiled yet" in "".join(capsys.readouterr())


def test_what_the_report_imports_is_not_in_the_time_of_the_block():
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


def test_there_is_no_profile_before_the_block_has_ended():
    with pytest.raises(NbprofError, match="the profiled block has not ended"):
        _ = nbprof.profile().profile

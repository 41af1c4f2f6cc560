"""A flag is one entry in FLAGS; everything else is read from there."""

import runpy

import pytest
from IPython.core.interactiveshell import InteractiveShell
from support.paths import TOP

from nbprof import flag_values
from nbprof.errors import NbprofError
from nbprof.flags import FLAGS, MEMIT, MEMOBJ, MPRUN, TFPROF, Flag, flags_of
from nbprof.magics.flag_parser import parse
from nbprof.magics.help_and_completion import completions, help_text
from nbprof.magics.magic_table import MAGICS
from nbprof.magics.profiling_line import parse_line

pytestmark = pytest.mark.core("magics")

ALL = (TFPROF, MEMIT, MPRUN, MEMOBJ)


@pytest.fixture
def dummy(monkeypatch):
    """Add a flag to every magic by one entry in FLAGS."""
    flag = Flag(
        name="dummy",
        value="COUNT",
        help="a flag that only this test has",
        magics=ALL,
        parser=flag_values.parse_count,
        choices=lambda: ("10", "20"),
    )
    monkeypatch.setitem(FLAGS, "dummy", flag)
    return flag


def flatten(text):
    """Undo the wrapping of help texts."""
    return " ".join(text.split())


def test_a_new_flag_is_parsed_and_reaches_the_request(dummy):
    assert parse_line("tfprof", "scope -dummy 3 -max_depth 2").get("dummy") == 3
    for magic in (MEMIT, MPRUN, MEMOBJ):
        parsed = parse(magic, "-dummy=3 f(x)")
        assert (parsed.get("dummy"), parsed.rest) == (3, "f(x)")
    with pytest.raises(NbprofError, match="-dummy takes a whole number of at least 1, not '0'"):
        parse_line("tfprof", "-dummy 0")


@pytest.mark.parametrize("magic", ALL)
def test_a_new_flag_and_its_values_are_completed(dummy, magic):
    assert "-dummy" in completions(f"%{magic} -du", "-du")
    assert completions(f"%%{magic} -dummy 1", "1") == ["10"]


@pytest.mark.parametrize("magic", ALL)
def test_a_new_flag_is_in_the_help_of_a_loaded_magic(dummy, magic):
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "nbprof")
    shown = shell.find_magic(magic).__doc__
    InteractiveShell.clear_instance()

    assert "-dummy COUNT a flag that only this test has" in flatten(shown)


def test_a_new_flag_is_in_the_generated_reference(dummy):
    page = runpy.run_path(str(TOP / "docs" / "make_reference.py"))["reference_page"]()

    assert page.count("| `-dummy COUNT` | a flag that only this test has |") == len(ALL)


def test_a_mistyped_new_flag_is_suggested(dummy):
    with pytest.raises(NbprofError, match=r"there is no option -dumy; did you mean -dummy\?"):
        parse_line("tfprof", "-dumy 3")


@pytest.mark.parametrize("magic", ALL)
def test_the_help_has_every_flag_of_the_magic_and_no_other(magic):
    text = flatten(help_text(magic))

    for flag in flags_of(magic).values():
        assert flatten(f"{flag.usage} {flag.help}") in text
    for flag in FLAGS.values():
        if magic not in flag.magics:
            assert flag.help not in text


def test_every_flag_belongs_to_magics_that_exist():
    assert {magic for flag in FLAGS.values() for magic in flag.magics} == set(MAGICS)

"""What making a report freed goes back to the system, after the report."""

import sys

import pytest
from IPython.core.interactiveshell import InteractiveShell
from support.by_hand import profile

from nbprof import display
from nbprof.magics.profiling_line import parse_line
from nbprof.memory import malloc_stats


@pytest.fixture
def happened(monkeypatch):
    """List when reports are made and when memory is given back."""
    events, bundle = [], display.bundle

    def note_and_bundle(report):
        events.append("report")
        return bundle(report)

    monkeypatch.setattr(display, "bundle", note_and_bundle)
    monkeypatch.setattr(malloc_stats, "trim", lambda: events.append("given back"))
    return events


@pytest.fixture
def magics():
    from nbprof.magics.profiling_magics import NbprofMagics

    InteractiveShell.clear_instance()
    yield NbprofMagics(InteractiveShell.instance())
    InteractiveShell.clear_instance()


class Run:
    """A run of a cell whose profile was made by hand."""

    def __init__(self):
        self.profile = profile()

    def finish(self, raised):
        if raised:
            raise raised


def test_a_view_gives_memory_back_after_it_was_shown(happened):
    profile().op()._repr_mimebundle_()

    assert happened == ["report", "given back"]


def test_a_view_gives_memory_back_after_it_was_written(happened, tmp_path):
    profile().op().to_html(tmp_path / "op.html")

    assert happened == ["given back"]


@pytest.mark.parametrize("line", ["", "-q", "advise", "code"])
def test_the_magic_gives_memory_back_last(happened, magics, line, capsys):
    magics._report(Run(), parse_line("tfprof", line), None)

    assert happened[-1] == "given back"
    assert happened.count("report") == (line in ("", "code"))


def test_the_magic_gives_memory_back_even_if_there_is_no_report(happened, magics):
    with pytest.raises(ZeroDivisionError):
        magics._report(Run(), parse_line("tfprof", ""), ZeroDivisionError())

    assert happened == ["given back"]


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc can be asked for it")
def test_giving_memory_back_is_possible_here():
    assert malloc_stats.trim()

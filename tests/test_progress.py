"""The bar: none for quick work, one after a second, none left behind."""

import io
from types import SimpleNamespace

import pytest

from nbprof import progress as module
from nbprof.progress import progress


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand."""
    now = [0.0]
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


@pytest.fixture
def terminal(monkeypatch):
    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setattr(module, "sys", SimpleNamespace(stderr=stream, modules={}))
    return stream


def test_quick_work_shows_nothing(clock, terminal):
    with progress("reading", 3) as done:
        for _ in range(3):
            clock[0] += 0.3
            done(1)

    assert terminal.getvalue() == ""


def test_work_over_a_second_shows_a_bar_that_goes_away(clock, terminal):
    with progress("reading x", 4, "file") as done:
        done(1)
        clock[0] += 1.5
        done(1)
        shown = terminal.getvalue()

    assert "reading x" in shown
    assert "2/4" in shown
    assert terminal.getvalue().endswith("\r")


def test_an_interrupt_leaves_no_bar_behind(clock, terminal):
    def work():
        with progress("reading x", 4) as done:
            clock[0] += 1.5
            done(1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert terminal.getvalue().endswith("\r")


def test_nothing_is_drawn_into_files(clock, monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(module, "sys", SimpleNamespace(stderr=stream, modules={}))
    with progress("reading x", 4) as done:
        clock[0] += 1.5
        done(1)

    assert stream.getvalue() == ""

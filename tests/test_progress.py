"""The progress bar: none for quick work, one after a second, never left behind."""

import io
import os
from types import SimpleNamespace

import pytest

import nbprof
from nbprof import progress as module
from nbprof.errors import NbprofError
from nbprof.progress import progress


@pytest.fixture
def clock(monkeypatch):
    """Replace the clock with one that the test advances."""
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


def test_work_over_a_second_shows_a_bar_and_removes_it(clock, terminal):
    with progress("reading x", 4, "file") as done:
        done(1)
        clock[0] += 1.5
        done(1)
        shown = terminal.getvalue()

    assert "reading x" in shown
    assert "2/4" in shown
    assert terminal.getvalue().endswith("\r")


def test_work_of_unknown_length_shows_how_much_is_done(clock, terminal):
    with progress("looking for traces in x", None, " folders") as done:
        done(7)
        clock[0] += 1.5
        done(1)
        shown = terminal.getvalue()

    assert "looking for traces in x" in shown
    assert "8 folders" in shown


def test_a_slow_folder_search_shows_a_bar(clock, terminal, tmp_path, monkeypatch):
    (tmp_path / "a" / "b").mkdir(parents=True)
    walk = os.walk

    def slow_walk(path, **options):
        for found in walk(path, **options):
            clock[0] += 1.5
            yield found

    monkeypatch.setattr(os, "walk", slow_walk)

    with pytest.raises(NbprofError, match="no trace"):
        nbprof.load(tmp_path)

    assert f"looking for traces in {tmp_path}" in terminal.getvalue()
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


def test_nothing_is_drawn_when_stderr_is_a_file(clock, monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(module, "sys", SimpleNamespace(stderr=stream, modules={}))
    with progress("reading x", 4) as done:
        clock[0] += 1.5
        done(1)

    assert stream.getvalue() == ""

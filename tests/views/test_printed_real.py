"""Reports of TensorFlow's own engine are read and printed again byte for byte."""

import re

import pytest
from support.tfprof_engine import Engine

import nbprof

pytestmark = pytest.mark.tensorflow

pytest.importorskip("tensorflow")

from support import tfprof_cases as cases  # noqa: E402

SEEDS = range(300)


@pytest.fixture(scope="module")
def engine():
    with Engine() as engine:
        yield engine


def is_lost(text):
    """Return whether a text has numbers that overflowed 64 bits, which a double cannot hold."""
    return re.search(r"-[0-9]{16,}", text)


@pytest.mark.parametrize("view", cases.VIEWS)
def test_reports_of_random_graphs_print_the_same_after_parsing(view, engine):
    read = 0
    for seed in SEEDS:
        answer = engine.ask(cases.case(seed, view=view))
        if not answer.text or is_lost(answer.text):
            continue
        again = nbprof.parse_text(answer.head + answer.text)
        if view != "graph":  # tfprof calls it scope, and a flat one looks like scope
            assert again.name == view, seed
        assert again.text.partition("Profile:\n")[2] == answer.text, seed
        read += 1
    assert read > len(SEEDS) / 2


@pytest.mark.parametrize("view", cases.VIEWS)
def test_frames_have_the_engines_numbers(view, engine):
    for seed in SEEDS[:100]:
        answer = engine.ask(cases.case(seed, view=view))
        if not answer.text or is_lost(answer.text):
            continue
        frame = nbprof.parse_text(answer.head + answer.text).frame
        messages = [row for _, row in answer.rows]
        if view == "op" and frame["name"].tolist() != ["_TFProfRoot"]:
            messages = messages[1:]  # the root is not printed
        assert len(frame) == len(messages), seed
        assert frame["name"].tolist() == [message.name for message in messages], seed
        if "micros" in frame and view == "op":
            exact = [message.exec_micros for message in messages]
            assert frame["micros"].tolist() == pytest.approx(exact, rel=0.0051), seed
        elif "total_micros" in frame:
            exact = [message.total_exec_micros for message in messages]
            assert frame["total_micros"].tolist() == pytest.approx(exact, rel=0.0051), seed


def test_the_engines_whole_output_is_read(engine):
    case = cases.case(1, view="scope")

    printed = engine.ask(case, output="stdout").stdout
    alone = engine.ask(case).text

    assert nbprof.parse_text(printed).text.partition("Profile:\n")[2] == alone

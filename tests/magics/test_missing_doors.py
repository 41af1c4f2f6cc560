"""Cells in a kernel whose TensorFlow lacks something run like bare cells, without a traceback."""

import os
from unittest.mock import patch

import pytest
from support.front_ends import Kernel

pytestmark = [pytest.mark.tensorflow, pytest.mark.notebook]

SET_UP = """
import dataclasses, os, subprocess
import tensorflow as tf, nbprof, nbprof.ingest
from nbprof.capture.compat import doors
v1, originals = tf.compat.v1, dict(vars(doors))

def close(name):
    setattr(doors, name, dataclasses.replace(originals[name], name="no_such_name"))

def open_all():
    vars(doors).update(originals)

with tf.Graph().as_default() as graph:
    never_fed = v1.placeholder(tf.float32, [])

def fail():
    with v1.Session(graph=graph) as session:
        session.run(never_fed)

x = tf.ones([2])
"""


@pytest.fixture(scope="module")
def kernel():
    with patch.dict(os.environ, {"TF_CPP_MIN_LOG_LEVEL": "0"}):
        opened = Kernel()
    opened.run("%load_ext nbprof")
    assert not opened.run(SET_UP).error
    yield opened
    opened.close()


@pytest.fixture
def run(kernel):
    yield kernel.run
    kernel.run("open_all()")


def test_a_cell_without_a_profiler_has_its_value_and_a_report_that_says_why_it_is_empty(run):
    run("close('PROFILER_SESSION')")

    outcome = run("%%tfprof\nfloat(tf.reduce_sum(x))")

    assert (outcome.value, outcome.error, outcome.printed) == ("2.0", None, "")
    assert "this TensorFlow was built without its profiler" in outcome.report


def test_an_error_in_a_session_that_is_watched_from_outside_shows_no_frame_of_nbprof(run):
    bare = run("fail()")
    run("close('V1_EXTEND')")

    outcome = run("%%tfprof -q\nfail()")

    assert outcome.error == bare.error == "InvalidArgumentError"
    assert not outcome.of_nbprof
    assert "report_and_run" not in outcome.traceback


def test_a_tensorflow_that_is_too_old_is_named_and_the_cell_runs(run):
    run("version, tf.__version__ = tf.__version__, '2.14.1'")

    outcome = run("%%tfprof\nfloat(tf.reduce_sum(x))")

    run("tf.__version__ = version")
    assert (outcome.value, outcome.error, outcome.printed) == ("2.0", None, "")
    assert "nbprof needs TensorFlow 2.15 or newer and this is 2.14.1" in outcome.report


def test_after_a_report_that_failed_there_is_no_last_profile_to_view(run):
    run("%%tfprof -q\ntf.ones([2])")
    run("read, nbprof.ingest.read = nbprof.ingest.read, lambda _: 1 / 0")

    outcome = run("%%tfprof\n'value'")

    run("nbprof.ingest.read = read")
    assert outcome.value == "'value'"
    assert outcome.printed.startswith("%tfprof could not report (ZeroDivisionError")
    assert run("nbprof.last() is None").value == "True"
    assert "the last cell's profile could not be made" in run("%tfprof").printed


@pytest.fixture
def written(run, tmp_path):
    """Return the file that holds what the kernel's process writes to standard error."""
    path = tmp_path / "stderr.txt"
    run(f"os.dup2(os.open({str(path)!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)")
    return path


def test_the_profilers_log_lines_do_not_come_and_what_the_cell_writes_does(run, written):
    run("%%tfprof -q\nos.write(2, b'cell ')\nsubprocess.run('echo child >&2', shell=True)\n")

    assert written.read_text() == "cell child\n"


def test_log_lines_of_a_profiler_that_the_cell_starts_come_as_in_a_bare_cell(
    run, written, tmp_path
):
    run(
        f"%%tfprof -q\ntf.profiler.experimental.start({str(tmp_path)!r})\n"
        "tf.profiler.experimental.stop()"
    )

    assert written.read_text().count("profiler_session.cc") == 4

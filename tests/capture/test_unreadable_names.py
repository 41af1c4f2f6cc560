"""Code from a file whose name is not UTF-8: its ops are counted, and nothing crashes."""

import sys

import pytest
from support.captured import node_runs, printed_by, profiled, runs_from

from nbprof.capture import compat
from nbprof.capture.compat import stacks

pytestmark = pytest.mark.tensorflow

tf = pytest.importorskip("tensorflow")

BAD = "/tmp/\udcff.py"
ASKING_RAISES = sys.platform == "linux" and compat.release() >= stacks.FIRST_SAFE_RELEASE


def written_in(file):
    """Return a tf.function from a file of this name."""
    space = {"tf": tf}
    exec(compile("def sine(x): return tf.sin(x)", file, "exec"), space)
    return tf.function(space["sine"], autograph=False)


@tf.function
def cosine(x):
    return tf.cos(x)


RUN = "return lambda: (sine(tf.ones(3)), cosine(tf.ones(3)))"
"""The line that runs the functions, which is known in any case."""


def body():
    """Run a function from such a file and one from this file."""
    sine = written_in(BAD)
    return lambda: (sine(tf.ones(3)), cosine(tf.ones(3)))


@pytest.mark.skipif(not ASKING_RAISES, reason="this TensorFlow crashes if asked")
def test_where_tensorflow_can_be_asked_only_these_lines_are_lost():
    profile = profiled(body())

    assert node_runs(profile)["Sin"] == node_runs(profile)["Cos"] == 1
    assert runs_from(profile, "Sin") == {RUN: 1}
    assert runs_from(profile, "Cos") == {"return tf.cos(x)": 1}
    assert profile.notes.count(stacks.UNREADABLE) == 1


def test_where_tensorflow_would_crash_it_is_not_asked(monkeypatch):
    monkeypatch.setattr(stacks, "FIRST_SAFE_RELEASE", (99, 0))
    monkeypatch.setattr(stacks, "_answered", set())

    profile = profiled(body())

    assert node_runs(profile)["Sin"] == node_runs(profile)["Cos"] == 1
    assert runs_from(profile, "Cos") == {RUN: 1}
    assert profile.notes.count(stacks.FATAL.format(file=BAD)) == 1


def test_names_that_are_utf8_are_no_obstacle_and_searched_for_once(monkeypatch):
    monkeypatch.setattr(stacks, "FIRST_SAFE_RELEASE", (99, 0))
    monkeypatch.setattr(stacks, "_answered", set())
    searched = []
    monkeypatch.setattr(
        stacks, "_files_of_functions", lambda: searched.append(1) or ["/tmp/größer.py"]
    )

    for _ in range(3):
        profile = profiled(lambda: cosine(tf.ones(3)))

        assert runs_from(profile, "Cos") == {"return tf.cos(x)": 1}
        assert not profile.notes
    assert len(searched) == 1


def refusal(files=()):
    """Return what a reader says that must not ask."""
    said = []
    reader = stacks.StackReader(files, said.append)
    assert reader.of_function("any") is reader.of_graph(tf.Graph()) is None
    return said


def test_the_name_is_found_of_a_cell_a_module_and_a_function(monkeypatch):
    monkeypatch.setattr(stacks, "FIRST_SAFE_RELEASE", (99, 0))
    crash = [stacks.FATAL.format(file=BAD)]
    with monkeypatch.context() as without_functions:
        without_functions.setattr(stacks, "_files_of_functions", list)

        assert refusal([BAD]) == crash
        without_functions.setattr(sys.modules[__name__], "__file__", BAD)
        assert refusal() == crash
    kept = written_in(BAD)
    assert refusal() == crash
    del kept


IN_A_PROCESS = """
import json
import tensorflow as tf, nbprof
space = {"tf": tf}
exec(compile("def sine(x): return tf.sin(x)", "/tmp/\\udcff.py", "exec"), space)
sine = tf.function(space["sine"], autograph=False)
with nbprof.profile() as run:
    sine(tf.ones(3))
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        session.run(space["sine"](tf.compat.v1.random.uniform([3])))
print()
print(json.dumps({"counted": run.profile.op().text.count("Sin"), "notes": run.profile.notes}))
"""


def test_no_process_ends_because_of_a_file_name():
    seen = printed_by(IN_A_PROCESS)

    assert seen["counted"]
    assert any("is not UTF-8" in note for note in seen["notes"])

"""The RAM of the process while TensorFlow works: steps, ops and memory on one clock."""

import subprocess
import sys

import numpy as np
import pytest

import nbprof
from nbprof.capture.step_watch import watch_steps
from nbprof.errors import NbprofError
from nbprof.memory import measure
from nbprof.memory.backends import backend

pytestmark = pytest.mark.tensorflow
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the watermark")

tf = pytest.importorskip("tensorflow")

MIB = 2**20


@tf.function
def inner(x):
    return x * 2


@tf.function
def outer(x):
    return inner(x) + 1


@tf.function
def fill(count):
    return tf.reduce_sum(tf.fill([count, 2**18], 1.0))


def steps_of(code):
    """Run code; return the names of the steps that began, and how many ended."""
    names, ended = [], []

    def begin(name):
        names.append(name)
        return lambda: ended.append(name)

    with watch_steps(begin):
        code()
    return names, len(ended)


def test_outermost_function_calls_and_numbered_trace_blocks_are_steps():
    def code():
        outer(tf.constant(1.0))
        outer.get_concrete_function(tf.TensorSpec([], tf.float32))(tf.constant(2.0))
        with tf.profiler.experimental.Trace("mine", step_num=1):
            outer(tf.constant(3.0))
        with tf.profiler.experimental.Trace("no step"):
            tf.constant(1.0) + 1.0

    names, ended = steps_of(code)

    assert names[0] == "outer"
    assert names[2:] == ["mine"]
    assert ended == 3


def test_a_call_that_raises_ends_its_step_and_session_steps_have_no_end():
    @tf.function
    def bad():
        raise ValueError("bad")

    def code():
        with pytest.raises(ValueError, match="bad"):
            bad()
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            session.run(tf.constant(1.0))
        outer(tf.constant(1.0))

    names, ended = steps_of(code)

    assert names == ["bad", "session", "outer"]
    assert ended == 2


def test_watching_steps_leaves_tensorflow_unpatched():
    from tensorflow.python.client import session
    from tensorflow.python.profiler.trace import Trace

    before = dict(vars(Trace)), session.tf_session
    steps_of(lambda: outer(tf.constant(1.0)))

    assert (dict(vars(Trace)), session.tf_session) == before


def test_memit_marks_the_steps():
    meter = backend({}, watch_steps)

    meter.run(lambda before: (before(1), [outer(tf.constant(1.0)) for _ in range(3)])[0])

    marks = meter.result(thorough=False).marks
    assert list(marks["label"]) == ["line 1", *(f"step {n}: outer" for n in range(3))]
    assert (marks["end_seconds"][1:] > marks["seconds"][1:]).all()


@pytest.fixture(scope="module")
def profile():
    """Profile a large op after small work, and an op whose output is kept."""
    fill(tf.constant(1))
    with nbprof.profile() as run:
        np.ones(10).sum()
        large = fill(tf.constant(100))
        kept = tf.fill([50, 2**18], 2.0)
    del large
    yield run.profile
    del kept


@on_linux
def test_the_memory_curve_rises_while_an_op_holds_memory(profile):
    result = profile.process_memory()
    samples, marks = result.samples, result.marks
    ops = marks[marks["kind"] == "op"].sort_values("bytes", ascending=False)

    assert result.increment == pytest.approx(100, abs=20)
    assert list(ops["bytes"][:2] / MIB) == pytest.approx([100, 50], rel=0.05)
    op = next(ops.itertuples())
    earlier = samples[samples["seconds"] <= op.seconds]
    until = samples[samples["seconds"] >= op.end_seconds]["seconds"].iloc[0]
    during = samples[samples["seconds"].between(op.seconds, until)]
    rise = during["peak_bytes"].max() - earlier["resident_bytes"].iloc[-1]
    assert rise == pytest.approx(op.bytes, abs=10 * MIB)
    assert earlier["peak_bytes"].max() - earlier["resident_bytes"].iloc[0] < 20 * MIB


def test_step_marks_begin_where_the_steps_do(profile):
    marks = profile.process_memory().marks
    steps = marks[marks["kind"] == "step"]

    assert list(steps["seconds"] * 1e6) == pytest.approx(list(profile.steps["start_micros"]))
    assert steps["label"].str.endswith("fill").any()


def test_the_memory_curve_is_saved_even_for_a_process_with_children(tmp_path):
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        with nbprof.profile() as run:
            outer(tf.constant(1.0))
        child.stdin.close()
    run.profile.save(tmp_path / "saved.nbprof")

    loaded = nbprof.load(tmp_path / "saved.nbprof").process_memory()

    result = run.profile.process_memory()
    assert "child processes at least" in result.text
    assert loaded.text == result.text
    assert loaded.samples.equals(result.samples)
    assert loaded.marks.equals(result.marks)


def test_a_profile_without_memory_samples_says_so(profile):
    with pytest.raises(NbprofError, match="was not measured for this profile"):
        profile.with_values(samples=profile.samples[:0]).process_memory()


@on_linux
def test_nested_memory_measurements_are_each_right():
    with measure() as around:
        np.ones(25 * 2**17).sum()
        with nbprof.profile() as run:
            np.ones(100 * 2**17).sum()
            with measure() as inside:
                np.ones(50 * 2**17).sum()
        with measure() as last:
            np.ones(200 * 2**17).sum()

    assert inside.result.increment == pytest.approx(50, abs=3)
    assert run.profile.process_memory().increment == pytest.approx(100, abs=5)
    assert last.result.increment == pytest.approx(200, abs=3)
    # Not 200 MiB above its own baseline, as profiling has left some memory behind by then.
    assert around.result.peak == pytest.approx(last.result.peak, abs=3)

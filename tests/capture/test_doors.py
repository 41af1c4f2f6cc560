"""Each private part of TensorFlow may be missing: the block runs as if bare, and a note says so."""

import os
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.captured import node_runs, profiled, runs, runs_from

import nbprof
from nbprof.capture.compat import doors, switches
from nbprof.capture.step_watch import watch_steps
from nbprof.memory.backends import Meter

pytestmark = pytest.mark.tensorflow

tf = pytest.importorskip("tensorflow")
v1 = tf.compat.v1

DOORS = {name: door for name, door in vars(doors).items() if isinstance(door, doors.Door)}
OF_STEPS = [name for name, door in DOORS.items() if door.used_by == doors.STEPS]
OF_TRACES = [name for name in DOORS if name not in OF_STEPS]
SENTENCES = {door.without for door in DOORS.values()} - {""}
SESSION_ON = doors.Door(place="tensorflow.python.profiler.trace", name="enabled")

WEIGHTS = tf.Variable(tf.ones([4, 2]))


@tf.function
def dense(x):
    return tf.matmul(x, WEIGHTS) + 1.0


def work():
    """Return the results of eager ops, a function, a pipeline and a session with its own trace."""
    x = tf.ones([3, 4])
    found = [
        tf.matmul(x, tf.ones([4, 5])).numpy().tolist(),
        dense(x).numpy().tolist(),
        [int(value) for value in tf.data.Dataset.range(3).map(lambda value: value + 1)],
    ]
    with tf.Graph().as_default(), v1.Session() as session:
        full, metadata = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE), v1.RunMetadata()
        found.append(session.run(tf.constant(2.0) * 3.0, options=full, run_metadata=metadata))
        found.append(len(metadata.step_stats.dev_stats) > 0)
    return found


def close(monkeypatch, name):
    """Make nbprof look for a door where there is none; TensorFlow itself needs most of them."""
    monkeypatch.setattr(doors, name, replace(DOORS[name], name="no_such_name"))


def state():
    """Return all that a recording changes for a while."""
    enabled = SESSION_ON.open()  # a function since TensorFlow 2.18 or so
    return {
        "a profiler runs": enabled() if callable(enabled) else enabled,
        "the allocator is watched": switches.allocator_statistics_on(),
        "standard error": os.fstat(2).st_ino,
        "threads": [thread for thread in threading.enumerate() if "nbprof" in thread.name],
        "sessions": v1.Session.run,
        **{name: door.open() for name, door in DOORS.items() if door.place != doors.LIBRARY},
    }


@pytest.fixture(scope="module")
def bare():
    """Return what the block returns, and what it finds in the process, without nbprof."""
    return work(), state()


@pytest.mark.parametrize("name", OF_TRACES)
def test_without_a_door_the_block_runs_as_if_bare_and_one_note_says_what_is_lost(
    name, bare, monkeypatch
):
    results = []
    close(monkeypatch, name)

    profile = profiled(lambda: results.append(work()))

    monkeypatch.undo()
    assert (results[0], state()) == bare
    lost = [note for note in profile.notes if note in SENTENCES]
    assert lost == [DOORS[name].without] * bool(DOORS[name].without)


def test_with_all_doors_there_is_no_note_about_one():
    assert not SENTENCES & set(profiled(work).notes)


def test_without_any_door_the_block_runs_as_if_bare(bare, monkeypatch):
    results = []
    for name in OF_TRACES:
        close(monkeypatch, name)

    profile = profiled(lambda: results.append(work()))

    monkeypatch.undo()
    assert (results[0], state()) == bare
    assert profile.notes == (doors.NO_PROFILER,)
    assert "nothing recorded" in profile.headline


def test_without_the_shared_library_only_memory_is_lost(bare, monkeypatch):
    monkeypatch.setattr(doors, "LIBRARY", "no such library")
    doors.library.cache_clear()
    monkeypatch.setattr(doors, "library", doors.library.__wrapped__)

    profile = profiled(lambda: dense(tf.ones([3, 4])))

    monkeypatch.undo()
    assert state() == bare[1]
    assert [note for note in profile.notes if note in SENTENCES] == [doors.NO_MEMORY]
    assert runs(profile)["MatMul"] == 1
    assert profile.op(select="bytes").frame["bytes"].isna().all()


def flops(profile):
    return profile.op(select="float_ops").frame.set_index("name")["float_ops"]


@pytest.mark.parametrize("name", ["EXECUTE", "FAST_EXECUTE", "EAGER_SHAPE", "EAGER_ELEMENTS"])
def test_if_eager_calls_cannot_be_watched_their_numbers_are_unknown_not_zero(name, monkeypatch):
    close(monkeypatch, name)

    profile = profiled(lambda: tf.matmul(tf.ones([2, 3]), tf.ones([3, 4])))

    assert runs(profile)["MatMul"] == 1
    if name != "EXECUTE":  # MatMul takes the fast path
        assert np.isnan(flops(profile)["MatMul"])
        assert runs_from(profile, "MatMul") == {"no line": 1}


@pytest.mark.parametrize("name", ["CONTEXT", "CONTEXT_HANDLE", "FUNCTION_DEF", "FUNCTION_STACKS"])
def test_if_functions_cannot_be_looked_up_their_ops_are_still_counted(name, monkeypatch):
    dense(tf.ones([3, 4]))
    close(monkeypatch, name)

    profile = profiled(lambda: [dense(tf.ones([3, 4])) for _ in range(5)])

    assert runs(profile)["MatMul"] == 5
    if name != "FUNCTION_DEF":
        (line,) = runs_from(profile, "MatMul")
        assert line.startswith("profile = profiled(lambda: [dense(")
    assert 5 in node_runs(profile).values()


@pytest.mark.parametrize("name", ["V1_BUFFER", "V1_EXTEND"])
def test_graphs_of_sessions_are_known_even_if_their_calls_are_hidden(name, monkeypatch):
    close(monkeypatch, name)

    def body():
        with tf.Graph().as_default(), v1.Session() as session:
            x = v1.placeholder(tf.float32, [2, 3])
            session.run(tf.matmul(x, tf.ones([3, 4])), {x: [[1.0] * 3] * 2})

    profile = profiled(body)

    (line,) = runs_from(profile, "MatMul")
    assert line.startswith("session.run(tf.matmul(")
    assert flops(profile)["MatMul"] == 2 * 2 * 3 * 4


@pytest.mark.parametrize("name", OF_STEPS)
def test_without_its_door_no_step_is_seen_and_the_result_says_so(name, bare, monkeypatch):
    close(monkeypatch, name)

    meter = Meter({}, watch_steps)
    value = meter.run(lambda _mark: dense(tf.ones([3, 4])).numpy().tolist())

    monkeypatch.undo()
    assert (value, state()) == (bare[0][1], bare[1])
    result = meter.result(thorough=False)
    assert doors.NO_STEPS in result.notes
    assert not result.runs[0].marks


def test_with_its_doors_steps_are_seen_and_no_note_is_needed():
    meter = Meter({}, watch_steps)
    meter.run(lambda _mark: dense(tf.ones([3, 4])))

    result = meter.result(thorough=False)
    assert doors.NO_STEPS not in result.notes
    assert len(result.runs[0].marks) == 1


class Session:
    """A profiler session as TensorFlow's binding has it, which writes an empty trace."""

    def start(self, folder, _options):
        self.folder = folder

    def export_to_tb(self):
        Path(self.folder, "host.xplane.pb").write_bytes(b"")

    def stop(self):
        return b""


class NeverStarts(Session):
    def start(self, folder, _options):
        raise tf.errors.UnimplementedError(None, None, "built without a profiler")


class WritesNothing(Session):
    def export_to_tb(self):
        pass


class CannotWrite(Session):
    def export_to_tb(self):
        raise tf.errors.ResourceExhaustedError(None, None, "no space left")


class Stricter(doors.PROFILER_SESSION.open()):
    """TensorFlow's own session, but for options that are not plain ints."""

    def start(self, folder, options):
        if not all(type(value) is int for value in options.values()):
            raise TypeError("incompatible function arguments")
        super().start(folder, options)


@pytest.mark.parametrize(
    ("kind", "note"),
    [
        (NeverStarts, "TensorFlow's profiler did not start (UnimplementedError: built without"),
        (Session, "TensorFlow's profiler recorded nothing at all"),
        (WritesNothing, "TensorFlow wrote no trace for this cell"),
        (CannotWrite, "TensorFlow could not write its trace (ResourceExhaustedError: no space"),
    ],
)
def test_a_profiler_that_does_not_work_costs_the_report_and_nothing_else(
    kind, note, bare, monkeypatch
):
    monkeypatch.setattr(doors.PROFILER_SESSION.owner(), "ProfilerSession", kind)
    results = []

    profile = profiled(lambda: results.append(dense(tf.ones([3, 4])).numpy().tolist()))

    monkeypatch.undo()
    assert (results, state()) == ([bare[0][1]], bare[1])
    assert profile.notes[0].startswith(note)
    assert "nothing recorded" in profile.headline
    assert nbprof.last() is profile


def test_a_profiler_that_refuses_the_trace_level_records_what_it_does_by_default(monkeypatch):
    double = tf.function(lambda x: x + x)
    double(tf.ones([2]))
    monkeypatch.setattr(doors.PROFILER_SESSION.owner(), "ProfilerSession", Stricter)

    profile = profiled(lambda: double(tf.ones([2])))

    assert any("run counts and times are lower bounds" in note for note in profile.notes)
    assert "cheap ops not counted" in profile.headline


@pytest.mark.parametrize("version", ["2.14.1", "1.15.5", "2.9.0rc1"])
def test_a_tensorflow_that_is_too_old_is_named_and_the_block_runs_as_if_bare(
    version, bare, monkeypatch
):
    monkeypatch.setattr(tf, "__version__", version)
    results = []

    profile = profiled(lambda: results.append(work()))

    monkeypatch.undo()
    assert (results[0], state()) == bare
    (note,) = profile.notes
    assert note.startswith(f"nbprof needs TensorFlow 2.15 or newer and this is {version}, so the")


@pytest.mark.parametrize("version", ["2.15.0", "2.16.0-rc0", "2.23.0-dev20270101", "3.0", "git"])
def test_any_other_version_is_tried(version, monkeypatch):
    monkeypatch.setattr(tf, "__version__", version)

    assert runs(profiled(lambda: tf.ones([2])))["Fill"] == 1


def test_objects_that_cannot_be_read_cost_the_layers_and_not_the_report(monkeypatch):
    def broken(*_):
        raise AttributeError("no such attribute")

    monkeypatch.setattr("nbprof.capture.recorder.find_model", broken)

    profile = profiled(lambda: dense(tf.ones([3, 4])))

    assert runs(profile)["MatMul"] == 1
    assert any("(AttributeError: no such attribute)" in note for note in profile.notes)


@pytest.mark.parametrize(
    "place",
    [
        "compat.hooks.watch_sessions",
        "compat.hooks.keep_functions",
        "compat.switches.allocations_recorded",
        "compat.profiler_session.mark_thread",
        "recorder.DispatchWatch.watched",
        "tracing.Monitor",
        "tracing.StepClock.running",
    ],
)
def test_a_recording_that_cannot_be_set_up_costs_the_report_and_nothing_else(
    place, bare, monkeypatch
):
    def broken(*_, **__):
        raise AttributeError("it has moved")

    results = []
    monkeypatch.setattr(f"nbprof.capture.{place}", broken)

    profile = profiled(lambda: results.append(work()))

    monkeypatch.undo()
    assert (results[0], state()) == bare
    assert profile.notes == (
        "nbprof could not start recording with this TensorFlow (AttributeError: it has moved), so "
        "the cell ran unprofiled",
    )
    assert runs(profiled(lambda: tf.ones([2])))["Fill"] == 1


def test_after_a_session_that_cannot_be_stopped_nbprof_is_still_usable(monkeypatch):
    class NeverStops(Session):
        def stop(self):
            raise tf.errors.InternalError(None, None, "stuck")

    with monkeypatch.context() as broken:
        broken.setattr(doors.PROFILER_SESSION.owner(), "ProfilerSession", NeverStops)
        run = nbprof.profile().__enter__()
        with pytest.raises(tf.errors.InternalError):
            run._recorder.abandon()

    assert runs(profiled(lambda: tf.ones([2])))["Fill"] == 1

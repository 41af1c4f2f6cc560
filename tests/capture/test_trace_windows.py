"""Which part of a cell is traced in detail, with real TensorFlow."""

import re
import time

import numpy as np
import pytest
from support.captured import batches, mlp, model_runs, profiled, runs
from support.xspace_bytes import line, plane, space

import nbprof
from nbprof.capture import budget
from nbprof.capture.compat.profiler_session import event_bytes
from nbprof.capture.recorder import Recorder
from nbprof.errors import NbprofError

pytestmark = pytest.mark.tensorflow

tf = pytest.importorskip("tensorflow")
pywrap_tfe = pytest.importorskip("tensorflow.python.pywrap_tfe")


def fit(model, count, **options):
    """Profile a fit of so many steps."""
    with nbprof.profile(**options) as run:
        model.fit(*batches(count), batch_size=32, verbose=0)
    return run.profile


def in_detail(profile):
    return profile.steps.loc[profile.steps["in_detail"], "step"].tolist()


@pytest.mark.core("fit")
def test_some_warm_steps_in_detail_and_all_in_the_table():
    profile = fit(mlp(), 60, steps=5)

    steps = profile.steps
    assert len(steps) == 60
    assert steps["traced"].tolist()[0]
    first = in_detail(profile)[0]
    assert in_detail(profile) == list(range(first, first + 5))
    assert not steps["traced"][steps["in_detail"]].any()
    assert set(model_runs(profile).values()) == {5}
    assert set(profile.events["step"]) <= {*range(first, first + 6)}
    assert (steps["micros"] > 0).all()
    assert f"60 steps · steps {first}-{first + 4} in detail" in profile.headline
    assert any("cover 5 of 60 steps" in note for note in profile.notes)


def test_a_range_of_steps_in_detail():
    profile = fit(mlp(), 20, steps="7:9")

    assert in_detail(profile) == [7, 8]
    assert set(model_runs(profile).values()) == {2}


def test_steps_that_never_come_are_said_not_to_have_been_traced():
    profile = fit(mlp(), 3, steps="10:20")

    assert len(profile.steps) == 3
    assert "nothing recorded" in profile.headline
    assert not len(profile.events)
    assert any(
        "-steps 10:20 was never reached: the cell ran 3 steps" in note for note in profile.notes
    )


def test_a_bad_range_of_steps_is_refused_before_anything_runs():
    with pytest.raises(NbprofError, match="-steps takes a number of warm steps"):
        nbprof.profile(steps="9:3")


def test_nothing_is_hooked_into_bare_steps_but_their_clock():
    seen = []
    step = tf.function(lambda x: x + 1)
    with nbprof.profile(steps="3:5") as run:
        for _ in range(8):
            step(tf.ones([2]))
            seen.append(is_bare())

    assert seen == [True, True, False, False, True, True, True, True]
    assert in_detail(run.profile) == [3, 4]


@pytest.fixture
def small_budget(monkeypatch):
    monkeypatch.setattr(budget, "BUDGET", 600_000)
    monkeypatch.setattr(budget, "WINDOW", 300_000)
    monkeypatch.setattr(budget, "FIRST_LOOK", 0.0)


def test_the_trace_ends_at_the_end_of_a_step_and_the_fit_goes_on(small_budget):
    model = mlp()
    profile = fit(model, 300)

    traced = in_detail(profile)
    assert traced == list(range(len(traced)))
    assert 2 < len(traced) < 290
    assert len(profile.steps) == 300
    assert int(model.optimizer.iterations) == 300
    assert set(model_runs(profile).values()) == {len(traced)}  # no step was cut
    summary = profile.summary()
    assert summary["micros"].sum() == pytest.approx(summary.attrs["wall_micros"], abs=1000)
    start = profile.steps["start_micros"].to_numpy()
    assert (np.diff(start) > 0).all()
    assert profile.events["start_ns"].max() < profile.recording.wall_ns


def test_a_step_that_runs_a_long_loop_counts_with_its_loop(small_budget):
    @tf.function
    def loop(x):
        for _ in tf.range(500):
            x = tf.tanh(x)
        return x

    loop(tf.ones([2]))
    profile = profiled(lambda: [loop(tf.ones([2])) for _ in range(20)])

    assert runs(profile)["Tanh"] == 500 * len(in_detail(profile))
    assert 1 <= len(in_detail(profile)) < 10
    assert len(profile.steps) == 20


def until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        yield


def is_bare():
    """Return whether calls are not watched, as outside of windows."""
    return "record" not in pywrap_tfe.TFE_Py_FastPathExecute.__name__


def test_an_eager_loop_is_traced_in_stretches_and_no_op_is_lost_between_them(small_budget):
    x, count = tf.ones([2]), 0
    with nbprof.profile() as run:
        for _ in until(is_bare):
            tf.tanh(x)
            count += 1
        tf.sin(x)

    profile = run.profile
    assert "Sin" not in runs(profile)
    assert runs(profile)["Tanh"] in (count - 1, count)  # the trace ends before a call
    assert 0 < profile.recording.traced_ns < profile.recording.wall_ns
    assert any("-limit SECONDS traces longer" in note for note in profile.notes)


def test_an_eager_loop_after_a_single_step_is_traced_in_stretches_too(small_budget):
    step = tf.function(lambda x: tf.sinh(x))
    x = tf.ones([2])
    step(x)
    with nbprof.profile() as run:
        step(x)
        for _ in until(is_bare):
            tf.tanh(x)

    assert run.profile.recording.left_out_bytes < 20 * budget.BUDGET
    assert runs(run.profile)["Sinh"] == 1


def test_a_trace_that_grows_too_large_says_so_and_recommends_nothing_in_vain(monkeypatch):
    monkeypatch.setattr(budget, "CEILING", 600_000)
    monkeypatch.setattr(budget, "WINDOW", 300_000)
    monkeypatch.setattr(budget, "FIRST_LOOK", 0.0)
    profile = fit(mlp(), 300, steps=250)

    assert 2 < len(in_detail(profile)) < 250
    (note,) = (note for note in profile.notes if "records at most 0.6 MB" in note)
    assert note.endswith("ask for fewer steps, or for later ones with -steps A:B")
    assert not any("-steps N" in note for note in profile.notes)


def test_every_eager_op_of_every_window_has_its_line(small_budget):
    x = tf.ones([2])
    with nbprof.profile() as run:
        for _ in until(is_bare):
            tf.tanh(x)

    profile = run.profile
    events = profile.events[profile.events["is_run"]]
    tanh = profile.nodes["op_type"].to_numpy()[events["node"]] == "Tanh"
    assert (events["stack"][tanh] >= 0).mean() > 0.99


def test_tracing_resumes_after_a_profiler_that_the_cell_started(tmp_path):
    step = tf.function(lambda x: tf.tanh(x))
    x = tf.ones([2])
    step(x)
    with nbprof.profile() as run:
        for number in range(9):
            if number == 3:
                tf.profiler.experimental.start(str(tmp_path))
            step(x)
            if number == 5:
                tf.profiler.experimental.stop()

    profile = run.profile
    assert in_detail(profile) == [0, 1, 2, 7, 8]  # step 6 ends before tracing resumes
    assert runs(profile)["Tanh"] == 5
    assert len(profile.steps) == 9
    assert list(tmp_path.glob("**/*.xplane.pb"))
    note = next(note for note in profile.notes if "gave way to it until" in note)
    assert f"%tfprof -from {str(tmp_path)!r}" in note


def notes_on_profilers(profile):
    return [note for note in profile.notes if "a profiler of its own" in note]


def test_a_profiler_that_starts_after_the_budget_has_ended_is_offered(small_budget, tmp_path):
    step = tf.function(lambda x: tf.tanh(x))
    x = tf.ones([2])
    with nbprof.profile() as run:
        for _ in until(is_bare):
            step(x)
        with tf.profiler.experimental.Profile(str(tmp_path)):
            step(x)

    (note,) = notes_on_profilers(run.profile)
    assert "when nbprof was not tracing" in note
    assert f"%tfprof -from {str(tmp_path)!r}" in note


@pytest.mark.parametrize("steps", ["3:5", "4:9"])
def test_a_profiler_that_ran_during_the_steps_asked_for_is_the_reason(steps, tmp_path):
    step = tf.function(lambda x: tf.tanh(x))
    x = tf.ones([2])
    with nbprof.profile(steps=steps) as run:
        for number in range(10):
            if number == 2:
                tf.profiler.experimental.start(str(tmp_path))
            step(x)
            if number == 6:
                tf.profiler.experimental.stop()

    profile = run.profile
    assert in_detail(profile) == ([8] if steps == "4:9" else [])
    (note,) = notes_on_profilers(profile)
    some = "some of " if steps == "4:9" else ""
    assert f"kept nbprof from tracing {some}the steps that -steps asks for" in note
    assert not any("was never reached" in note for note in profile.notes)


def test_after_giving_way_a_budget_that_is_used_up_opens_no_window(monkeypatch, tmp_path):
    monkeypatch.setattr(budget, "BUDGET", 1)
    monkeypatch.setattr(budget, "FIRST_LOOK", 1000.0)
    step = tf.function(lambda x: tf.tanh(x))
    x = tf.ones([2])
    with nbprof.profile() as run:
        for number in range(6):
            if number == 3:
                tf.profiler.experimental.start(str(tmp_path))
            step(x)
            if number == 3:
                tf.profiler.experimental.stop()

    assert in_detail(run.profile) == [0, 1, 2]


def test_an_eager_loop_after_a_step_is_traced_again_after_a_profiler_of_the_cell(tmp_path):
    step = tf.function(lambda x: tf.tanh(x))
    x = tf.ones([2])
    with nbprof.profile() as run:
        step(x)
        with tf.profiler.experimental.Profile(str(tmp_path)):
            step(x)
        for _ in until(lambda: not is_bare()):
            tf.sin(x)
        tf.cos(x)

    assert runs(run.profile)["Cos"] == 1


def test_a_fit_is_traced_again_after_the_profiler_of_a_tensorboard_callback(tmp_path):
    pytest.importorskip("tensorboard", reason="TensorBoard is not installed")
    model = mlp()
    board = tf.keras.callbacks.TensorBoard(str(tmp_path), profile_batch=(5, 8))
    with nbprof.profile() as run:
        model.fit(*batches(30), batch_size=32, verbose=0, callbacks=[board])

    profile = run.profile
    before, after = set(range(4)), set(range(10, 30))
    assert before | after <= set(in_detail(profile)) | {0}
    assert len(profile.steps) == 30
    (note,) = (note for note in notes_on_profilers(profile) if "-from" in note)
    logdir = re.search(r"-from '(.+)' shows", note)[1]
    recorded = nbprof.load(logdir)
    assert runs(recorded)["MatMul"] > 0


def test_pauses_are_not_the_cell_s_time(small_budget, monkeypatch):
    from nbprof.capture.compat import profiler_session

    export, waits = profiler_session.export_session, []

    def slow_export(*arguments):
        waits.append(0.3)
        time.sleep(0.3)
        return export(*arguments)

    monkeypatch.setattr(profiler_session, "export_session", slow_export)
    step = tf.function(lambda x: x + 1)
    began = time.perf_counter()
    with nbprof.profile(steps="0:2") as run:
        for _ in range(5):
            step(tf.ones([2]))
        took = time.perf_counter() - began

    assert waits
    assert run.profile.recording.wall_ns / 1e9 < took - 0.29
    assert profile_ends(run.profile) <= run.profile.recording.wall_ns / 1e3


def profile_ends(profile):
    """Return when the last step ended, in µs."""
    return (profile.steps["start_micros"] + profile.steps["micros"]).max()


def test_programs_compiled_before_the_cell_are_no_part_of_its_events():
    @tf.function(jit_compile=True)
    def compiled(x):
        for _ in range(200):
            x = tf.sin(x) @ x
        return x

    compiled(tf.ones([8, 8]))
    profiled(lambda: compiled(tf.ones([8, 8])))  # only now do all traces have the program
    recorder = Recorder("a block")
    recorder.start()
    tf.ones([2])
    (window,) = recorder.stop().windows

    assert len(window.trace) > 100_000
    assert window.event_bytes < 20_000
    assert profiled(lambda: tf.ones([2])).recording.left_out_bytes < 1_000_000


def test_the_events_of_a_trace_are_all_of_it_but_the_compiled_programs():
    events = plane("/host:CPU", lines=[line(1, "thread", 0, [])])
    programs = plane("/host:metadata", lines=[line(1, "x" * 300, 0, [])])

    assert event_bytes(space(events)) == len(space(events))
    assert event_bytes(space(programs, events)) == len(space(events))
    assert event_bytes(space(events, programs)) == len(space(events))
    assert event_bytes(b"") == 0

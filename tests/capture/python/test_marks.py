"""The user's own marks: spans nest, end whatever happens, and cost nothing while nothing runs."""

import asyncio
import threading

import pytest

import nbprof
from nbprof.capture.python import marks
from nbprof.capture.python.mark_log import read_marks
from nbprof.capture.python.marks import start_marks, stop_marks
from nbprof.errors import NbprofError


def recorded(body):
    """Return the profile of a function."""
    with nbprof.profile(tensorflow=False) as run:
        body()
    return run.profile


def nested(profile):
    """Return each span with the one around it."""
    names = [*profile.spans["name"], ""]
    parents = profile.spans["parent"].tolist()
    return [(name, names[parent]) for name, parent in zip(names, parents, strict=False)]


def named(profile, name):
    return profile.spans[profile.spans["name"] == name].iloc[0]


@nbprof.span("work")
def work():
    return "done"


def test_spans_have_names_times_and_the_span_around_them():
    def body():
        with nbprof.span("outer"):
            assert work() == "done"
            with nbprof.span("inner"):
                pass
        work()

    profile = recorded(body)

    assert nested(profile) == [("outer", ""), ("work", "outer"), ("inner", "outer"), ("work", "")]
    ends = profile.spans["start_ns"] + profile.spans["duration_ns"]
    assert profile.spans["start_ns"].is_monotonic_increasing
    assert ends[0] >= ends[2] >= profile.spans["start_ns"][2]
    assert ends.max() <= profile.recording.wall_ns
    assert profile.spans["thread"].tolist() == [0, 0, 0, 0]
    assert profile.notes == ()


def test_a_mark_does_nothing_while_nothing_is_profiled():
    with nbprof.span("early"):
        work()
        nbprof.count("early")

    profile = recorded(lambda: None)

    assert profile.spans.empty
    assert profile.counters.empty


def test_an_exception_ends_its_spans_and_goes_on():
    def body():
        with pytest.raises(ZeroDivisionError), nbprof.span("outer"), nbprof.span("inner"):
            raise ZeroDivisionError
        work()

    assert nested(recorded(body)) == [("outer", ""), ("inner", "outer"), ("work", "")]


def test_a_span_that_is_open_at_the_end_ends_with_the_cell_and_is_noted():
    left = nbprof.span("left open")

    profile = recorded(left.__enter__)
    left.__exit__(None, None, None)

    span = named(profile, "left open")
    assert span["start_ns"] + span["duration_ns"] == profile.recording.wall_ns
    assert profile.notes == (
        "a span was still open when the cell ended, and ends there: left open",
    )


def test_a_span_from_before_the_recording_is_not_part_of_it():
    early = nbprof.span("early")
    early.__enter__()

    def body():
        work()
        early.__exit__(None, None, None)
        work()

    assert nested(recorded(body)) == [("work", ""), ("work", "")]


def test_a_span_left_open_in_one_recording_is_not_around_those_of_the_next():
    left = nbprof.span("left open")
    recorded(left.__enter__)

    assert nested(recorded(work)) == [("work", "")]

    left.__exit__(None, None, None)


def test_spans_of_threads_are_told_apart():
    both_run = threading.Barrier(2, timeout=30)

    def on_thread():
        with nbprof.span("thread"):
            both_run.wait()
            work()
            both_run.wait()

    def body():
        thread = threading.Thread(target=on_thread, name="worker")
        with nbprof.span("cell"):
            thread.start()
            both_run.wait()
            both_run.wait()
        thread.join()

    profile = recorded(body)

    assert set(nested(profile)) == {("cell", ""), ("thread", ""), ("work", "thread")}
    assert (named(profile, "cell")["thread"], named(profile, "thread")["thread"]) == (0, 1)
    assert named(profile, "thread")["thread_name"] == "worker"


def test_one_span_object_may_be_open_in_many_places():
    shared, both_run = nbprof.span("shared"), threading.Barrier(2, timeout=30)

    def on_thread():
        with shared:
            both_run.wait()

    def body():
        thread = threading.Thread(target=on_thread)
        with shared, shared:
            thread.start()
            both_run.wait()
            thread.join()

    profile = recorded(body)

    assert sorted(nested(profile)) == [("shared", ""), ("shared", ""), ("shared", "shared")]
    assert profile.notes == ()


def test_spans_of_tasks_nest_within_their_task():
    @nbprof.span("task")
    async def task():
        await asyncio.sleep(0)
        with nbprof.span("step"):
            await asyncio.sleep(0)
        return 7

    async def main():
        return await asyncio.gather(task(), task())

    results = []
    profile = recorded(lambda: results.extend(asyncio.run(main())))

    assert results == [7, 7]
    assert nested(profile) == [("task", ""), ("task", ""), ("step", "task"), ("step", "task")]
    assert profile.spans["parent"].tolist() == [-1, -1, 0, 1]
    assert profile.notes == ()


def test_a_generator_is_marked_from_its_first_value_to_its_last():
    @nbprof.span("numbers")
    def numbers():
        sent = yield 1
        yield sent

    def body():
        generator = numbers()
        with nbprof.span("use"):
            assert next(generator) == 1
            assert generator.send(5) == 5
        assert list(generator) == []
        work()

    assert nested(recorded(body)) == [("use", ""), ("numbers", "use"), ("work", "")]


def test_an_async_generator_cannot_be_decorated():
    async def numbers():
        yield 1

    with pytest.raises(NbprofError, match=r"put `with nbprof\.span\(…\):` inside it"):
        nbprof.span("numbers")(numbers)


def test_a_decorated_function_keeps_its_name():
    assert work.__name__ == "work"


def test_counters_are_summed_up():
    def body():
        for size in (1, 5, 3):
            nbprof.count("batch", size)
        nbprof.count("errors")

    profile = recorded(body)

    assert profile.counters.to_dict("records") == [
        {"name": "batch", "count": 3, "total": 9, "min": 1, "max": 5, "mean": 3},
        {"name": "errors", "count": 1, "total": 1, "min": 1, "max": 1, "mean": 1},
    ]
    assert profile.counts["start_ns"].is_monotonic_increasing
    assert profile.counts["value"].tolist() == [1, 5, 3, 1]


def test_a_count_that_is_no_number_does_not_fail_the_code():
    profile = recorded(lambda: nbprof.count("batch", "many"))

    assert profile.counters.empty
    assert profile.notes == (
        "nbprof.count was given values that are no numbers, which do not count: batch",
    )


def test_marks_survive_saving_and_loading(tmp_path):
    def body():
        with nbprof.span("outer"):
            work()
        nbprof.count("batch", 2)

    profile = recorded(body)
    profile.save(tmp_path / "x.nbprof")

    loaded = nbprof.load(tmp_path / "x.nbprof")

    assert loaded.spans.equals(profile.spans)
    assert loaded.counters.equals(profile.counters)


def test_marks_of_many_threads_are_not_mixed_up():
    recording = start_marks()
    begin = threading.Barrier(4, timeout=30)

    def marks_much(name):
        begin.wait()
        for number in range(500):
            with nbprof.span(name):
                nbprof.count(name, number)

    threads = [threading.Thread(target=marks_much, args=(f"{n}",)) for n in range(4)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        stop_marks()

    log = read_marks(recording)
    of_thread = {number: set() for number in range(len(log.threads))}
    for name, thread in zip(log.name.tolist(), log.thread.tolist(), strict=True):
        of_thread[thread].add(name)
    assert len(log.name) == 2000
    assert (log.end_ns >= log.start_ns).all()
    assert (log.parent == -1).all()
    for name in range(4):
        assert sorted(log.value[log.counter == name].tolist()) == [*range(500)]


def test_an_interrupt_while_a_mark_is_made_costs_only_that_mark():
    recording = start_marks()
    stop_marks()
    recording._next_span()
    number = recording.begin("kept", marks.NO_SPAN)
    recording.begin("inner", number)
    recording.end(number)
    recording._next_count()
    recording.count("x", 3)

    log = read_marks(recording)

    assert log.parent.tolist() == [-1, 0]
    assert (log.end_ns == -1).tolist() == [False, True]
    assert log.value.tolist() == [3]


def test_nothing_is_recorded_after_a_recording():
    recorded(work)

    assert marks._recording is None

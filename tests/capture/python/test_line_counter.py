"""Counting lines: exact hits, times that add up, and other tracers keep working."""

import sys
import threading

import pytest

import nbprof
from nbprof.errors import NbprofError

MONITORED = sys.version_info >= (3, 12)
"""Whether Python reports lines to several tools at once."""


def fibonacci(n):
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


def countdown(n):
    while n:
        yield n
        n -= 1


def failing(n):
    if n:
        failing(n - 1)
    raise ValueError(n)


def looping():
    total = 0
    for number in range(10):
        total += number
    return total


def catching():
    try:
        failing(2)
    except ValueError:
        return sum(countdown(3))


def profiled(run, **options):
    with nbprof.profile(tensorflow=False, python="line", **options) as recorded:
        run()
    return recorded.profile


def hits(profile, function):
    """Return the hits of a function's lines, in order, by their place in the function."""
    lines = profile.lines
    here = lines[(lines["function"] == function.__name__) & (lines["called"] == "")]
    first = function.__code__.co_firstlineno
    return {line - first: count for line, count in zip(here["line"], here["hits"], strict=True)}


def calls(profile, called):
    lines = profile.lines
    found = lines[lines["called"].str.endswith(f"({called})")]
    return dict(zip(found["function"], found["calls"], strict=True))


def test_hits_of_recursion_are_exact():
    profile = profiled(lambda: fibonacci(10))

    assert hits(profile, fibonacci) == {0: 0, 1: 177, 2: 89, 3: 88}
    assert calls(profile, "fibonacci")["fibonacci"] == 176


def test_hits_of_loops_are_exact():
    assert hits(profiled(looping), looping) == {0: 0, 1: 1, 2: 11, 3: 10, 4: 1}


def test_hits_of_generators_and_exceptions_are_exact():
    profile = profiled(catching)

    assert hits(profile, countdown) == {0: 0, 1: 4, 2: 3, 3: 3}
    assert hits(profile, failing) == {0: 0, 1: 3, 2: 2, 3: 1}
    assert hits(profile, catching) == {0: 0, 1: 1, 2: 1, 3: 1, 4: 1}
    assert calls(profile, "countdown") == {"catching": 1}


def test_a_generator_left_in_the_middle_does_not_disturb_its_caller():
    def leave_early():
        for number in countdown(5):
            if number:
                break
        return number

    profile = profiled(leave_early)

    assert hits(profile, countdown)[2] == 1
    assert hits(profile, leave_early) == {0: 0, 1: 1, 2: 1, 3: 1, 4: 1}


def test_own_times_add_up_within_the_wall_time():
    profile = profiled(lambda: fibonacci(12))

    own = profile.lines.loc[profile.lines["called"] == "", "self_ns"].sum()
    assert 0 < own <= profile.recording.wall_ns
    assert profile.line().frame["wall_micros"].sum() == pytest.approx(
        profile.recording.wall_ns / 1e3
    )


def test_lines_of_another_thread_are_not_counted():
    def on_another_thread():
        thread = threading.Thread(target=looping)
        thread.start()
        thread.join()

    assert set(hits(profiled(on_another_thread), looping).values()) <= {0}


def test_functions_of_files_are_watched_if_named():
    import textwrap

    plain = profiled(lambda: textwrap.fill("abc " * 20))
    watched = profiled(lambda: textwrap.fill("abc " * 20), functions=[textwrap.TextWrapper.wrap])
    module = profiled(lambda: textwrap.fill("abc " * 20), modules=[textwrap])

    assert "wrap" not in set(plain.lines["function"])
    assert hits(watched, textwrap.TextWrapper.wrap).get(0) == 0
    assert sum(calls(watched, "wrap").values()) == 1
    assert {"wrap", "_wrap_chunks", "_split"} <= set(module.lines["function"])


def test_code_that_was_not_watched_before_is_watched_later():
    import textwrap

    profiled(lambda: textwrap.fill("abc " * 20))
    module = profiled(lambda: textwrap.fill("abc " * 20), modules=[textwrap])

    counted = module.lines[module.lines["function"] == "_wrap_chunks"]
    assert counted["hits"].sum() > 0


def test_a_trace_function_that_is_there_goes_on_beside_and_is_put_back():
    seen = []

    def trace(frame, event, argument):
        if frame.f_code is looping.__code__:
            seen.append(event)
        return trace

    sys.settrace(trace)
    try:
        profile = profiled(looping)
        still = sys.gettrace()
    finally:
        sys.settrace(None)

    assert still is trace
    assert seen.count("line") == 23
    assert sum(hits(profile, looping).values()) == 23


class Tracer:
    """Traces as a tracer in C does: as an object that Python calls."""

    def __call__(self, frame, event, argument):
        return self


@pytest.mark.skipif(MONITORED, reason="sys.monitoring has room for several tools")
def test_a_tracer_that_is_no_function_is_named_and_goes_on():
    tracer = Tracer()
    sys.settrace(tracer)
    try:
        profile = profiled(looping)
        still = sys.gettrace()
    finally:
        sys.settrace(None)

    assert still is tracer
    with pytest.raises(NbprofError, match=r"^Tracer is tracing Python"):
        profile.line()


def test_a_trace_function_that_the_code_sets_stays():
    def trace(frame, event, argument):
        return None

    def sets_its_own():
        looping()
        sys.settrace(trace)

    try:
        profile = profiled(sets_its_own)
        left = sys.gettrace()
    finally:
        sys.settrace(None)

    assert left is trace
    assert sum(hits(profile, looping).values()) == 23
    assert any("gave way" in note for note in profile.notes) is not MONITORED


@pytest.mark.skipif(not MONITORED, reason="sys.monitoring came with Python 3.12")
def test_without_a_free_tool_the_code_runs_uncounted_and_the_view_says_why():
    taken = [tool for tool in range(6) if sys.monitoring.get_tool(tool) is None]
    for tool in taken:
        sys.monitoring.use_tool_id(tool, "theirs")
    try:
        profile = profiled(looping)
    finally:
        for tool in taken:
            sys.monitoring.free_tool_id(tool)

    with pytest.raises(NbprofError, match="other tools have taken all six places"):
        profile.line()


@pytest.mark.skipif(not MONITORED, reason="sys.monitoring came with Python 3.12")
def test_tools_are_given_back():
    before = [sys.monitoring.get_tool(tool) for tool in range(6)]

    profiled(looping)

    assert [sys.monitoring.get_tool(tool) for tool in range(6)] == before


def test_nothing_is_left_on():
    profiled(looping)

    assert sys.gettrace() is None
    assert sys._getframe().f_trace is None

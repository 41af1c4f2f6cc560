"""Counting calls: the same numbers as cProfile's, none of our own, and others keep working."""

import cProfile
import sys

import pytest

import nbprof
from nbprof.capture.python.call_counter import MIXES_THREADS, running_profiler
from nbprof.errors import NbprofError


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def countdown(n):
    while n:
        yield n
        n -= 1


def is_even(n):
    return n == 0 or is_odd(n - 1)


def is_odd(n):
    return n != 0 and is_even(n - 1)


class Failing:
    def method(self):
        raise ValueError(sorted([3, 1, 2], key=lambda x: -x))


def work():
    fibonacci(12)
    sum(countdown(50))
    is_even(9)
    for _ in range(4):
        try:
            Failing().method()
        except ValueError as error:
            str(error)
    exec("len('abc')")
    eval("max(1, 2)")
    [abs(x) for x in range(5)]


def counted(stats):
    """Return calls, primitive calls by function, and calls by pair, as cProfile has them."""

    def label(code):
        if isinstance(code, str):
            return "~", 0, code
        return code.co_filename, code.co_firstlineno, code.co_name

    functions, pairs = {}, {}
    for entry in stats:
        calls, primitive = functions.get(label(entry.code), (0, 0))
        functions[label(entry.code)] = (
            calls + entry.callcount,
            primitive + entry.callcount - entry.reccallcount,
        )
        for called in entry.calls or ():
            pair = label(entry.code), label(called.code)
            pairs[pair] = pairs.get(pair, 0) + called.callcount
    functions.pop(("~", 0, "<method 'disable' of '_lsprof.Profiler' objects>"), None)
    return functions, pairs


def tables(profile):
    functions = profile.functions
    places = list(zip(functions["file"], functions["line"], functions["function"], strict=True))
    numbers = zip(functions["calls"], functions["primitive_calls"], strict=True)
    calls = profile.calls
    pairs = zip(calls["caller"], calls["function"], calls["calls"], strict=True)
    return (
        dict(zip(places, numbers, strict=True)),
        {(places[caller], places[callee]): count for caller, callee, count in pairs},
    )


def profiled(run):
    with nbprof.profile(tensorflow=False, python="function") as recorded:
        run()
    return recorded.profile


def test_counts_equal_those_of_cprofile_exactly():
    work()
    alone = cProfile.Profile()
    alone.enable()
    work()
    alone.disable()

    assert tables(profiled(work)) == counted(alone.getstats())


def test_nothing_of_ours_is_counted():
    profile = profiled(work)

    files = profile.functions["file"]
    assert not files.str.contains("nbprof/", regex=False).any() or all(
        "/tests/" in file for file in files if "nbprof/" in file
    )
    assert not profile.functions["function"].str.contains("_lsprof").any()


def test_own_times_stay_within_the_wall_time_and_totals_within_it_too():
    profile = profiled(work)

    wall = profile.recording.wall_ns
    assert 0 < profile.functions["self_ns"].sum() <= wall
    assert profile.functions["total_ns"].max() <= wall


def test_an_exception_ends_the_counting_and_leaves_nothing_on():
    recorded = nbprof.profile(tensorflow=False, python="function")
    with pytest.raises(ValueError, match=r"\[3, 2, 1\]"), recorded:
        Failing().method()

    assert sys.getprofile() is None
    assert running_profiler() == ""
    assert "method" in set(recorded.profile.functions["function"])


def test_a_profiler_that_is_there_is_named_and_goes_on():
    theirs = cProfile.Profile()
    theirs.enable()
    try:
        profile = profiled(lambda: fibonacci(5))
        still = running_profiler()
    finally:
        theirs.disable()

    assert still == "cProfile"
    assert "calls" not in profile.recording.watched
    with pytest.raises(NbprofError, match=r"^cProfile is already profiling Python") as refused:
        profile.function()
    assert str(refused.value) in profile.notes


def test_a_profile_function_that_is_there_is_named_and_goes_on():
    def note(frame, event, argument):
        pass

    sys.setprofile(note)
    try:
        profile = profiled(lambda: fibonacci(5))
        still = sys.getprofile()
    finally:
        sys.setprofile(None)

    assert still is note
    with pytest.raises(NbprofError, match=r"a profile function \(.*note\) is already profiling"):
        profile.function()


def test_a_profiler_that_the_code_starts_works_and_the_report_says_so():
    theirs = cProfile.Profile()

    def starts_its_own():
        is_even(4)
        theirs.enable()
        fibonacci(5)
        theirs.disable()
        fibonacci(5)

    profile = profiled(starts_its_own)

    counts, _ = counted(theirs.getstats())
    (found,) = [number for (_, _, name), number in counts.items() if name == "fibonacci"]
    assert found == (15, 1)
    assert "fibonacci" not in set(profile.functions["function"])
    assert "is_even" in set(profile.functions["function"])
    (note,) = [note for note in profile.notes if "gave way" in note]
    assert note.startswith(("cProfile, which", "another profiler, which"))  # 3.11 cannot tell
    assert " was started in the block, " in note


def test_a_profiler_that_the_code_leaves_running_goes_on():
    theirs = cProfile.Profile()

    profiled(theirs.enable)
    fibonacci(5)
    theirs.disable()

    counts, _ = counted(theirs.getstats())
    assert any(name == "fibonacci" for _, _, name in counts)


@pytest.mark.skipif(not MIXES_THREADS, reason="one profiler per thread before Python 3.12")
def test_the_function_that_hands_out_tool_ids_is_put_back():
    before = sys.monitoring.use_tool_id

    profiled(work)

    assert sys.monitoring.use_tool_id is before


def test_samples_are_taken_beside_unless_they_would_be_counted():
    profile = profiled(lambda: fibonacci(5))

    assert ("samples" in profile.recording.watched) is not MIXES_THREADS
    assert any("all threads" in note for note in profile.notes) is MIXES_THREADS

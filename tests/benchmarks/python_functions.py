"""Count calls and lines, beside cProfile and line_profiler, which do the same in C.

Only the CPU time of the thread that runs the code counts: counting is done there, and other
programs change wall time by more than the difference. Every way runs by turns with the others.
"""

import cProfile
import statistics
import sys
from time import thread_time

TITLE = "Counting calls and lines"
ITERATIONS = 100_000


def _one_more(number):
    return number + 1


def calls():
    for number in range(ITERATIONS):
        _one_more(number)


def watched_lines():
    total = 0
    for number in range(ITERATIONS):
        doubled = number * 2
        total += doubled
    return total


def unwatched_lines():
    for _ in range(20):
        _unwatched(ITERATIONS // 20)


def _unwatched(iterations):
    total = 0
    for number in range(iterations):
        total += _one_more(number)
    return total


def measure(settings):
    rounds = settings.rounds + 6
    return [
        *_rows("calls of Python functions", calls, _call_ways(), "cProfile", rounds),
        *_rows("a loop of watched lines", watched_lines, _line_ways(), "line_profiler", rounds),
        *_rows("code that is hardly watched", unwatched_lines, _line_ways(), "bare", rounds),
    ]


def _rows(cell, body, ways, peer, rounds):
    found = {way: [] for way in ways}
    body()
    for _ in range(rounds):
        for way, run in ways.items():
            found[way].append(run(body))
    seconds = {way: statistics.median(each) for way, each in found.items()}
    return [
        {
            "cell": cell,
            "way": way,
            "seconds": taken,
            "of_bare": taken / seconds["bare"],
            f"of_{peer}": taken / seconds[peer],
        }
        for way, taken in seconds.items()
    ]


def _call_ways():
    return {"bare": _bare, "cProfile": _cprofile, "%%pyprof function": _counter}


def _line_ways():
    return {"bare": _bare, "line_profiler": _line_profiler, "%%pyprof line": _line_counter}


def _bare(body):
    began = thread_time()
    body()
    return thread_time() - began


def _cprofile(body):
    profiler = cProfile.Profile()
    profiler.enable()
    taken = _bare(body)
    profiler.disable()
    return taken


def _counter(body):
    from nbprof.capture.python.call_counter import CallCounter

    return _counted(CallCounter(), body)


def _line_counter(body):
    from nbprof.capture.python.line_counter import LineCounter

    return _counted(LineCounter((), (body.__code__,)), body)


def _counted(counter, body):
    """Return the time of a body while its calls or lines are counted, but nothing is sampled."""
    counter.start()
    counter.resume(1)
    taken = _bare(body)
    counter.pause()
    counter.stop()
    return taken


def _line_profiler(body):
    from line_profiler import LineProfiler

    code = body.__code__  # line_profiler replaces it
    profiler = LineProfiler()
    profiler.add_function(body)
    profiler.enable()
    taken = _bare(body)
    profiler.disable()
    body.__code__ = code
    return taken


if __name__ == "__main__":
    from types import SimpleNamespace

    for row in measure(SimpleNamespace(rounds=3)):
        print(sys.version_info[:2], row)

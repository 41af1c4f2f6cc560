"""Memory line by line: the time that watching lines adds, by nbprof and by memory_profiler.

memory_profiler reads memory at every line, so a short loop is timed for it and scaled up. What is
timed is the thread that runs the code, which does all of the watching: TensorFlow's other threads,
and other programs, make the time of the wall vary by more than what is to be seen.
"""

from time import thread_time

from ways import medians

TITLE = "Watching the memory of lines"
ITERATIONS, SHORTER = 1_000_000, 50


def loop(iterations):
    total = 0
    for number in range(iterations):
        doubled = number * 2
        total += doubled
    return total


def measure(asked):
    from tensorflow_cells import small_cnn

    rows = _rows(f"loop of {ITERATIONS:,} iterations", _loops(asked.rounds))
    fit = small_cnn()
    fit()
    ways = {
        "bare": fit,
        "memory_profiler": lambda: _memory_profiler(fit),
        "nbprof": lambda: _nbprof(fit),
    }
    return rows + _rows("warm Keras fit", medians(ways, asked.rounds + 2, thread_time))


def _loops(rounds):
    few = ITERATIONS // SHORTER
    ways = {"bare": lambda: loop(ITERATIONS), "nbprof": lambda: _nbprof(loop, ITERATIONS)}
    seconds = medians(ways, rounds, thread_time)
    began = thread_time()
    _memory_profiler(loop, few)
    seconds["memory_profiler"] = SHORTER * (thread_time() - began)
    return seconds


def _rows(cell, seconds):
    added = {way: taken - seconds["bare"] for way, taken in seconds.items()}
    return [
        {
            "cell": cell,
            "way": way,
            "added_seconds": added[way],
            "of_memory_profiler": added[way] / added["memory_profiler"],
            "seconds": taken,
        }
        for way, taken in seconds.items()
    ]


def _nbprof(function, *arguments):
    from nbprof.memory.line_meter import LineTracer
    from nbprof.memory.watched_code import of_function

    with LineTracer([of_function(function, "", {})]):
        function(*arguments)


def _memory_profiler(function, *arguments):
    from memory_profiler import LineProfiler

    profiler = LineProfiler()
    profiler.add_function(function)
    profiler.enable()
    try:
        function(*arguments)
    finally:
        profiler.disable()

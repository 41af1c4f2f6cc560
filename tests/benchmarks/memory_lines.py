"""Memory line by line: the time that nbprof and memory_profiler add.

memory_profiler reads memory at every line, so it runs a shorter loop and its time is scaled up.
Only the CPU time of the thread that runs the code counts, because that thread does the measuring.
TensorFlow's threads and other programs change wall time by more than the difference.
"""

from time import thread_time

from ways import medians

TITLE = "Watching the memory of lines"
ITERATIONS = 1_000_000
SHORTER = 50
"""memory_profiler runs 1 / SHORTER of the iterations."""


def loop(iterations):
    total = 0
    for number in range(iterations):
        doubled = number * 2
        total += doubled
    return total


def measure(settings):
    from tensorflow_cells import small_cnn

    rows = _rows(f"loop of {ITERATIONS:,} iterations", _loops(settings.rounds))
    fit = small_cnn()
    fit()
    ways = {
        "bare": fit,
        "memory_profiler": lambda: _memory_profiler(fit),
        "nbprof": lambda: _nbprof(fit),
    }
    return rows + _rows("warm Keras fit", medians(ways, settings.rounds + 2, thread_time))


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
    from nbprof.memory.watched_code import function_target

    with LineTracer([function_target(function, "", {})]):
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

"""Watch the Python of a cell, beside profilers that do the same: the cost, and how true it is.

Every way is timed right after the bare cell, by turns, so that a ratio is that of neighbours in
time. The error is the total variation from the truth: a program of seven parts of known shape
measures them itself, unprofiled.
"""

import cProfile
import pstats
import statistics
import sys
from pathlib import Path
from time import perf_counter

from tensorflow_cells import small_cnn

sys.path.append(str(Path(__file__).parents[1]))

TITLE = "Watching Python"
TENSORFLOW = ("warm Keras fit", "loop of eager ops")
"""The cells on which the joined tree is compared with the op view."""


def measure(settings):
    rows = []
    for cell, body in _cells().items():
        ways = {**_peers(), **(_joined() if cell in TENSORFLOW else {})}
        ratios = _ratios(body, ways, settings.rounds + 4)
        rows += [
            {"cell": cell, "way": way, "ratio": ratio, "error": None}
            for way, ratio in ratios.items()
        ]
    return rows + _errors(settings.rounds)


def _cells():
    return {
        "calls of Python functions": _calls,
        "warm Keras fit": small_cnn(),
        "loop of eager ops": _eager_loop(),
        "pandas": _pandas(),
    }


def _one_more(number):
    return number + 1


def _calls():
    for number in range(1_000_000):
        _one_more(number)


def _eager_loop():
    import tensorflow as tf

    one, half = tf.random.normal((16, 16)), tf.constant(0.5)

    def body():
        value = one
        for _ in range(5_000):
            value = tf.multiply(tf.add(value, one), half)

    body()
    return body


def _pandas():
    import numpy as np
    import pandas as pd

    table = pd.DataFrame(np.random.default_rng(1).random((4_000, 4)))

    def body():
        table.apply(lambda row: row.max() - row.min(), axis=1)
        table.groupby((table[0] * 50).astype(int)).agg(["mean", "std", "median"])

    body()
    return body


def _ratios(body, ways, rounds):
    """Return how many times as long as bare each way takes; `%%tfprof call`: as `%%tfprof op`."""
    found = {way: [] for way in ways}
    body()
    for _ in range(rounds):
        for way, run in ways.items():
            bare = _seconds(body)
            found[way].append(run(body) / bare)
    medians = {way: statistics.median(each) for way, each in found.items()}
    if JOINED in medians:
        medians[f"{JOINED}, of %%tfprof op"] = medians[JOINED] / medians[OPS]
    return medians


def _seconds(body):
    began = perf_counter()
    body()
    return perf_counter() - began


# Each way returns how long the cell took, without starting, stopping and reading.

SAMPLES, JOINED, OPS = "%%pyprof call", "%%tfprof call", "%%tfprof op"


def _nbprof(**options):
    import nbprof

    def run(body):
        with nbprof.profile(**options) as profiled:
            body()
        return profiled.profile.recording.wall_ns / 1e9

    return run


def _joined():
    return {OPS: _nbprof(), JOINED: _nbprof(python="call")}


def _peers():
    return {
        SAMPLES: _nbprof(tensorflow=False, python="call"),
        "pyinstrument": lambda body: _pyinstrument(body)[0],
        "cProfile": lambda body: _cprofile(body)[0],
        "yappi, wall time": lambda body: _yappi(body)[0],
    }


def _pyinstrument(body):
    from pyinstrument import Profiler

    profiler = Profiler(interval=0.001)
    with profiler:
        taken = _seconds(body)
    times = {}
    waiting = [profiler.last_session.root_frame()]
    while waiting:
        frame = waiting.pop()
        times[frame.function] = times.get(frame.function, 0.0) + frame.time
        waiting += frame.children
    return taken, times


def _cprofile(body):
    with cProfile.Profile() as profiler:
        taken = _seconds(body)
    stats = pstats.Stats(profiler).stats
    return taken, {name: total for (_, _, name), (_, _, _, total, _) in stats.items()}


def _yappi(body):
    import yappi

    yappi.set_clock_type("wall")
    yappi.start(builtins=True)
    taken = _seconds(body)
    yappi.stop()
    times = {function.name: function.ttot for function in yappi.get_func_stats()}
    yappi.clear_stats()
    return taken, times


def _errors(rounds):
    from support.fidelity import distance, profiled, timed
    from support.known_shapes import PARTS

    ways = {
        SAMPLES: lambda: profiled(PARTS, tensorflow=False),
        "pyinstrument": lambda: _pyinstrument(lambda: timed(PARTS))[1],
        "cProfile": lambda: _cprofile(lambda: timed(PARTS))[1],
        "yappi, wall time": lambda: _yappi(lambda: timed(PARTS))[1],
    }
    errors, ratios = {way: [] for way in ways}, {way: [] for way in ways}
    timed(PARTS)
    for _ in range(rounds + 2):
        for way, run in ways.items():
            truth, times = timed(PARTS), run()
            times = {name: times.get(name, 0.0) for name in truth}
            errors[way].append(distance(truth, times))
            ratios[way].append(sum(times.values()) / sum(truth.values()))
    return [
        {
            "cell": "seven known parts",
            "way": way,
            "ratio": statistics.median(ratios[way]),
            "error": float(statistics.median(errors[way])),
        }
        for way in ways
    ]

"""Python's allocations: the time that nbprof and tracemalloc alone add to the code they watch.

tracemalloc alone has as many frames, collects garbage at the end and takes one snapshot, as nbprof
does. Only CPU time counts, of all threads: other programs change wall time by more than the
difference.
"""

import gc
import time
import tracemalloc

from ways import medians

TITLE = "Watching the allocations of Python"


def calls():
    """Make many small calls and numbers."""

    def add(total, number):
        return total + number / 2

    total = 0.0
    for number in range(200_000):
        total = add(total, number)
    return total


def objects():
    """Make objects that stay."""
    return [[number, str(number)] for number in range(100_000)]


def frames():
    """Group and join frames."""
    import numpy as np
    import pandas as pd

    table = pd.DataFrame({"key": np.arange(5000) % 50, "value": np.arange(5000.0)})
    for _ in range(20):
        means = table.groupby("key")["value"].mean().reset_index()
        table.merge(means, on="key")


def cells():
    import tensorflow as tf
    from tensorflow_cells import small_cnn

    def eager():
        number = tf.constant(1.0)
        for _ in range(2000):
            number = tf.add(number, 1.0)

    fit = small_cnn()
    fit()
    return {"calls": calls, "objects": objects, "pandas": frames, "fit": fit, "eager": eager}


def measure(settings):
    rows = []
    for cell, run in cells().items():
        ways = {
            "bare": lambda run=run: _bare(run),
            "tracemalloc": lambda run=run: _tracemalloc(run),
            "nbprof": lambda run=run: _nbprof(run),
        }
        seconds = medians(ways, settings.rounds + 2, time.process_time)
        rows += [
            {
                "cell": cell,
                "way": way,
                "of_bare": taken / seconds["bare"],
                "of_tracemalloc": taken / seconds["tracemalloc"],
                "seconds": taken,
            }
            for way, taken in seconds.items()
        ]
    return rows


# Python frees its spare objects when garbage is collected, and code is slower after it: so it is
# collected before each run.


def _bare(run):
    gc.collect()
    run()


def _tracemalloc(run):
    from nbprof.capture.python.allocation_watch import FRAMES

    gc.collect()
    tracemalloc.start(FRAMES)
    kept = run()
    gc.collect()
    tracemalloc.take_snapshot()
    tracemalloc.stop()
    del kept


def _nbprof(run):
    from nbprof.capture.python.allocation_watch import AllocationWatch

    gc.collect()
    watch = AllocationWatch()
    watch.start()
    kept = run()
    watch.stop()
    del kept

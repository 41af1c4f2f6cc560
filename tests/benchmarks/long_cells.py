"""Profile cells that are too long to trace as a whole: what that costs in time and memory.

The cell's own time is compared with the bare cell's; what comes on top are pauses in which
TensorFlow writes a part of the trace, and the time from the cell's end to its report.
"""

import json
import statistics
import subprocess
import sys
import time

from tensorflow_cells import long_fit, lstm_fit
from ways import TOP, peak, start_of_peak

TITLE = "Profiling a long cell"
CELLS = {"fit of 2,000 steps": long_fit, "LSTM fit of 32 steps": lstm_fit}
WAYS = {"nbprof -steps 20": {"steps": 20}, "nbprof": {}}


def measure(settings):
    """Measure each cell in a process of its own, whose memory nothing else has touched."""
    rows = []
    for cell in CELLS:
        command = [sys.executable, __file__, cell, str(settings.rounds)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=TOP)
        rows += json.loads(done.stdout.splitlines()[-1])
    return rows


def _in_this_process(cell, rounds):
    body = CELLS[cell]()
    bare, found = [], {way: [] for way in WAYS}
    for _ in range(rounds + 2):
        bare.append(_bare(body))
        for way, options in WAYS.items():
            found[way].append(_profiled(body, options))
    return [{"cell": cell, "way": way, **_figures(found[way], bare)} for way in WAYS]


def _bare(body):
    before, began = start_of_peak(), time.perf_counter()
    body()
    return {"cell": time.perf_counter() - began, "peak": peak() - before}


def _profiled(body, options):
    import nbprof
    from nbprof.run import give_back_memory

    before, began = start_of_peak(), time.perf_counter()
    with nbprof.profile(**options) as run:
        body()
        ended = time.perf_counter()
    run.profile.op()._repr_mimebundle_()
    report, steps = time.perf_counter() - ended, run.profile.steps
    give_back_memory()
    return {
        "cell": run.profile.recording.wall_ns / 1e9,
        "elapsed": ended - began,
        "report": report,
        "peak": peak() - before,
        "after": start_of_peak() - before,
        "steps": len(steps),
        "in_detail": int(steps["in_detail"].sum()),
    }


def _figures(found, bare):
    def median(key):
        return statistics.median(each[key] for each in found)

    pairs = list(zip(found, bare, strict=True))  # neighbours in time
    return {
        "ratio": statistics.median(own["cell"] / plain["cell"] for own, plain in pairs),
        "with_pauses": statistics.median(own["elapsed"] / plain["cell"] for own, plain in pairs),
        "seconds_to_report": median("report"),
        "peak_megabytes": max(own["peak"] - plain["peak"] for own, plain in pairs) / 1e6,
        "kept_megabytes": found[0]["after"] / 1e6,
        "steps": median("steps"),
        "in_detail": median("in_detail"),
    }


if __name__ == "__main__":
    _, cell, rounds = sys.argv
    print(json.dumps(_in_this_process(cell, int(rounds))))

"""Profile cells that are too long to trace as a whole: what that costs in time and memory.

Every way runs in a process of its own, whose memory nothing else has touched, beside bare runs of
the same cell: one bare, one profiled, in turns. `ratio` compares the cell's own time with that of
its neighbour in time. `with_pauses` adds the pauses in which TensorFlow writes a part of the trace,
because the user waits for both; `cpu_ratio` compares CPU times, pauses included, which other
processes on the machine hardly change. What comes on top is the time until the report is made.
"""

import json
import statistics
import subprocess
import sys
import time
from typing import NamedTuple

from tables import column, write
from tensorflow_cells import eager_loop, long_fit, lstm_fit, small_cnn
from ways import FAILED, TOP, peak, start_of_peak

TITLE = "Profiling a long cell"
FIT, LSTM = "fit of 2,000 steps", "LSTM fit of 32 steps"
CELLS = {
    FIT: long_fit,
    LSTM: lstm_fit,
    "CNN fit of 400 steps": lambda: small_cnn(steps=400),
    "loop of 30,000 eager ops": lambda: eager_loop(30_000),
}
TWENTY, DEFAULT, ALWAYS_ON = "nbprof -steps 20", "nbprof", "clock of steps and samples alone"
OPTIONS = {TWENTY: {"steps": 20}, DEFAULT: {}, ALWAYS_ON: {"steps": "1000000:1000001"}}
WAYS = {FIT: (TWENTY, DEFAULT, ALWAYS_ON), **{cell: (DEFAULT,) for cell in CELLS if cell != FIT}}
"""The ways to profile each cell."""


class Limit(NamedTuple):
    """What a figure of a way must not exceed."""

    cell: str
    way: str
    figure: str
    most: float
    least: float = 0.0

    def holds(self, value):
        return self.least <= value <= self.most


LIMITS = (
    Limit(LSTM, DEFAULT, "with_pauses", 1.5),
    Limit(LSTM, DEFAULT, "seconds_to_report", 3),
    Limit(LSTM, DEFAULT, "grown_megabytes", 600),
    Limit(LSTM, DEFAULT, "kept_megabytes", 200),
    Limit(FIT, TWENTY, "ratio", 1.03),
    Limit(FIT, TWENTY, "with_pauses", 1.03),
    Limit(FIT, TWENTY, "not_watched_percent", 5),
    Limit(FIT, TWENTY, "steps", 2000, least=2000),
    Limit(FIT, TWENTY, "in_detail", 20, least=20),
    Limit(FIT, DEFAULT, "ratio", 1.15),
    Limit(FIT, DEFAULT, "with_pauses", 1.15),
    Limit(FIT, ALWAYS_ON, "with_pauses", 1.02),
    *(
        Limit(cell, DEFAULT, figure, most)
        for cell in CELLS
        for figure, most in (("peak_megabytes", 400), ("seconds_to_report", 2))
        if (cell, figure) != (LSTM, "seconds_to_report")
    ),
)
"""What must hold; `judge` tells whether it does."""


def measure(settings):
    """Measure each way in a process of its own."""
    rows = []
    for cell, ways in WAYS.items():
        for way in ways:
            command = [sys.executable, __file__, cell, way, str(settings.rounds)]
            done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=TOP)
            rows.append(json.loads(done.stdout.splitlines()[-1]))
    return rows


def judge(rows):
    """Say of each limit whether it holds; one that does not makes the benchmark fail."""
    found = {(row["cell"], row["way"]): row for row in rows}
    judged = []
    for limit in LIMITS:
        value = found[limit.cell, limit.way][limit.figure]
        if not limit.holds(value):
            FAILED.append(f"{limit.figure} of {limit.way}, {limit.cell}")
        judged.append(
            {
                "cell": limit.cell,
                "way": limit.way,
                "limited": column(limit.figure).title,
                "limit": write(limit.figure, limit.most),
                "found": write(limit.figure, value),
                "holds": "yes" if limit.holds(value) else "no",
            }
        )
    return judged


def _in_this_process(cell, way, rounds):
    body = CELLS[cell]()
    body()
    bare, found = [], []
    for number in range(2 * rounds + 3):
        turns = [lambda: bare.append(_bare(body)), lambda: found.append(_profiled(body, way))]
        for turn in reversed(turns) if number % 2 else turns:
            turn()
    return {"cell": cell, "way": way, **_figures(found, bare)}


def _bare(body):
    before, began, began_cpu = start_of_peak(), time.perf_counter(), time.process_time()
    body()
    taken, taken_cpu = time.perf_counter() - began, time.process_time() - began_cpu
    return {"cell": taken, "cpu": taken_cpu, "peak": peak() - before}


def _profiled(body, way):
    import nbprof
    from nbprof.run import give_back_memory

    before = start_of_peak()
    with nbprof.profile(**OPTIONS[way]) as run:
        began, began_cpu = time.perf_counter(), time.process_time()
        body()
        ended, taken_cpu = time.perf_counter(), time.process_time() - began_cpu
    run.profile.op()._repr_mimebundle_()
    report = time.perf_counter() - ended
    give_back_memory()
    steps, summary = run.profile.steps, run.profile.summary()
    assert abs(summary["micros"].sum() - summary.attrs["wall_micros"]) < 1
    shares = dict(zip(summary["category"], summary["percent"], strict=True))
    return {
        "cell": run.profile.recording.wall_ns / 1e9,
        "elapsed": ended - began,
        "cpu": taken_cpu,
        "report": report,
        "peak": peak() - before,
        "after": start_of_peak() - before,
        "not_watched": shares.get("not watched", 0.0),
        "steps": len(steps),
        "in_detail": int(steps["in_detail"].sum()),
    }


def _figures(found, bare):
    def median(key):
        return statistics.median(each[key] for each in found)

    def ratio(key, of="cell"):  # of neighbours in time
        pairs = zip(found, bare, strict=True)
        return statistics.median(own[key] / plain[of] for own, plain in pairs)

    return {
        "ratio": ratio("cell"),
        "with_pauses": ratio("elapsed"),
        "cpu_ratio": ratio("cpu", "cpu"),
        "seconds": statistics.median(plain["cell"] for plain in bare),
        "seconds_to_report": median("report"),
        "grown_megabytes": max(own["peak"] for own in found) / 1e6,
        "peak_megabytes": max(map(_above, found, bare)) / 1e6,
        "kept_megabytes": max(own["after"] for own in found) / 1e6,
        "not_watched_percent": median("not_watched"),
        "steps": median("steps"),
        "in_detail": median("in_detail"),
    }


def _above(own, plain):
    return own["peak"] - plain["peak"]


if __name__ == "__main__":
    _, cell, way, rounds = sys.argv
    print(json.dumps(_in_this_process(cell, way, int(rounds))))

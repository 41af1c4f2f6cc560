"""Measure the time and memory of each way of doing something, every way in its own process.

A benchmark has `WAYS`: for each name, a context manager that takes an argument, prepares (imports,
fresh copies of files) and yields the call to time. `compare` runs this file once per way and round,
interleaved, so that a busy moment of the machine hits all ways alike.
"""

import gc
import importlib
import json
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

TOP = Path(__file__).parents[2]
MAX_CALLS = 5
"""Maximum number of timed calls per process."""
ENOUGH_SECONDS = 0.5
"""Total time of the calls after which a process makes no further one."""

FAILED = []
"""Ways that failed, with the last line of their stderr."""


def compare(module, ways, argument, warm_up, rounds):
    """Return the median figures of each way over the rounds, None for a way that failed."""
    found = {way: [] for way in ways}
    for _ in range(rounds):
        for way in ways:
            found[way].append(in_new_process(module, way, argument, warm_up))
    return {
        way: None if None in each else {key: _median(each, key) for key in each[0]}
        for way, each in found.items()
    }


def _median(figures, key):
    return statistics.median(figure[key] for figure in figures)


def in_new_process(module, way, argument, warm_up):
    command = [sys.executable, __file__, module, way, str(argument), str(warm_up)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [""])[-1]
        FAILED.append(f"{way} on {Path(argument).name} ({done.returncode}: {last})")
        return None
    return json.loads(done.stdout.splitlines()[-1])


def figures(way, argument, warm_up):
    """Time a way in this process; memory is measured on the first call only."""
    with way(warm_up) as call:
        call()
    taken, growth = [], 0.0
    while len(taken) < MAX_CALLS and sum(taken) < ENOUGH_SECONDS:
        with way(argument) as call:
            gc.collect()
            before = start_of_peak()
            began = time.perf_counter()
            kept = call()
            taken.append(time.perf_counter() - began)
            growth = growth or peak() - before
            del kept
    return {"seconds": statistics.median(taken), "megabytes": growth / 1e6}


def start_of_peak():
    """Reset the peak of resident memory where Linux allows it, and return the bytes held now."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return peak()
    return _status("VmRSS")


def peak():
    """Return the peak of resident memory in bytes since the last reset."""
    try:
        return _status("VmHWM")
    except OSError:
        units = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * units


def _status(name):
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    (kilobytes,) = (line.split()[1] for line in lines if line.startswith(f"{name}:"))
    return int(kilobytes) * 1024


def medians(ways, rounds, clock=time.perf_counter):
    """Return the median seconds of calls in this process, after one warm-up round."""
    taken = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, way in ways.items():
            began = clock()
            way()
            if number:
                taken[name].append(clock() - began)
    return {name: statistics.median(times) for name, times in taken.items()}


if __name__ == "__main__":
    _, module, way, argument, warm_up = sys.argv
    ways = importlib.import_module(module).WAYS
    print(json.dumps(figures(ways[way], argument, warm_up)))

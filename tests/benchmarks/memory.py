"""Short peaks of memory after a larger one: which tools find them, and what measuring costs.

A spike holds 200 MiB for 1, 10 or 100 ms while the GIL is free or held.
"""

import json
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

from ways import TOP

TITLE = "Finding a peak of 200 MiB after one of 300 MiB"
MIB = 2**20
SPIKES = [(f"{ms} ms, lock {'held' if held else 'free'}", ms, held)
          for held in (False, True) for ms in (1, 10, 100)]  # fmt: skip
"""Names of the spikes, their milliseconds, and whether they hold the GIL."""


def measure(settings):
    """Measure in a new process, without TensorFlow or memory left by other benchmarks."""
    command = [sys.executable, __file__, str(settings.rounds)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def _in_this_process(rounds):
    from support.memory_spikes import spike

    found = {(way, name): [] for way in WAYS for name, *_ in SPIKES}
    for _ in range(rounds + 2):
        for name, milliseconds, held in SPIKES:
            for way, peak_of in WAYS.items():
                spike(300 * MIB)
                rise = peak_of(lambda ms=milliseconds, held=held: spike(200 * MIB, ms, held))
                found[way, name].append(rise)
    added = _added_milliseconds(rounds)
    return [
        {
            "way": way,
            "spike": name,
            "mebibytes": statistics.median(found[way, name]),
            "least_mebibytes": min(found[way, name]),
            "added_milliseconds": added.get(way),
        }
        for way in WAYS
        for name, *_ in SPIKES
    ]


def _nbprof(code):
    from nbprof.memory import measure

    with measure() as run:
        code()
    return run.result.increment


def _memory_profiler(code):
    from memory_profiler import memory_usage

    before = memory_usage()[0]
    return memory_usage((code, (), {}), max_usage=True, max_iterations=1) - before


def _psutil_thread(code):
    import psutil

    process, over, most = psutil.Process(), threading.Event(), []

    def sample():
        while not over.wait(0.01):
            most.append(process.memory_info().rss)

    before = process.memory_info().rss
    thread = threading.Thread(target=sample)
    thread.start()
    code()
    over.set()
    thread.join()
    return (max(most, default=before) - before) / MIB


WAYS = {
    "nbprof's %memit": _nbprof,
    "memory_profiler's %memit": _memory_profiler,
    "psutil in a thread, every 10 ms": _psutil_thread,
}


def _added_milliseconds(rounds):
    """Time both magics around an empty statement."""
    from IPython.core.interactiveshell import InteractiveShell
    from memory_profiler import MemoryProfilerMagics

    from nbprof.magics.memory_magics import MemoryMagics

    shell = InteractiveShell.instance()
    magics = {
        "nbprof's %memit": MemoryMagics(shell).memit,
        "memory_profiler's %memit": MemoryProfilerMagics(shell).memit,
    }
    taken = {way: [] for way in magics}
    for number in range(3 * rounds + 1):
        for way, magic in magics.items():
            began = time.perf_counter()
            magic("-q pass")
            if number:
                taken[way].append(1000 * (time.perf_counter() - began))
    return {way: statistics.median(times) for way, times in taken.items()}


if __name__ == "__main__":
    sys.path[:0] = [str(TOP), str(Path(__file__).parents[1])]
    print(json.dumps(_in_this_process(int(sys.argv[1]))))

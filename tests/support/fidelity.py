"""Compare where a profile says time went with what a program measured itself, unprofiled."""

import re
import statistics
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

import pytest

import nbprof

BUSY = 0.05
"""Largest share of the time in which a program of the machine waits for a processor."""
ENOUGH = 6
"""Comparisons to take the median of."""
PATIENCE = 90.0
"""Seconds after which the machine is given up on."""
TRIES = 5
"""Comparisons after which it is given up on if it was never quiet."""
PRESSURE = Path("/proc/pressure/cpu")
"""Where Linux counts, among others, the µs in which something waited for a processor."""


def timed(parts, repeats=1):
    """Run all parts by turns, but the last one once; return the seconds that each took."""
    taken = dict.fromkeys(parts, 0.0)
    *by_turns, last = parts.items()
    for name, part in (*by_turns * repeats, last):
        began = perf_counter()
        part()
        taken[name] += perf_counter() - began
    return taken


def profiled(parts, repeats=1, **options):
    """Return the seconds that the call view has for each part, whose function has its name."""
    with nbprof.profile(python="call", **options) as run:
        timed(parts, repeats)
    return by_function(run.profile.call().frame, parts)


def by_function(frame, names):
    """Add up the total wall time of the outermost rows of each function, in seconds."""
    functions = [name.rpartition(":")[2] for name in frame["name"]]
    found = dict.fromkeys(names, 0.0)
    for row, parent in enumerate(frame["parent"]):
        if functions[row] in found and functions[parent] == "timed":
            found[functions[row]] += frame["total_wall_micros"][row] / 1e6
    return found


def distance(one, other):
    """Return the total variation between two shares of time, from 0 to 1."""
    whole, other_whole = sum(one.values()), sum(other.values())
    return sum(abs(one[name] / whole - other[name] / other_whole) for name in one) / 2


def compared(bare, watched):
    """Run both by turns while the machine is quiet, and return the medians of both."""
    before, after = [], []
    began, tries = perf_counter(), 0
    while len(before) < ENOUGH:
        if perf_counter() - began > PATIENCE or (tries >= TRIES and not before):
            pytest.skip("the machine was too busy for comparing times")
        with _waiting() as busy:
            times = bare(), watched()
        tries += 1
        if busy[0] <= BUSY:
            before.append(times[0])
            after.append(times[1])
    return _medians(before), _medians(after)


@contextmanager
def _waiting():
    """Yield a list that then has the share of time in which something waited for a processor."""
    share = []
    began, waited = perf_counter(), _waited()
    yield share
    share.append((_waited() - waited) / (perf_counter() - began))


def _waited():
    """Return for how many seconds something has waited so far; 0 where nobody counts them."""
    found = re.search(r"^some .*total=(\d+)", PRESSURE.read_text() if PRESSURE.exists() else "")
    return int(found[1]) / 1e6 if found else 0.0


def _medians(runs):
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}

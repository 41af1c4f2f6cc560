"""Compare where a profile says time went with what a program measured itself, unprofiled."""

import statistics
from time import perf_counter

import pytest

import nbprof

QUIET = 0.015
"""Largest distance between two halves of the unprofiled runs, if they are to be the truth."""
FEWEST = 6
"""Runs to take medians of, at least."""
PATIENCE = 90.0
"""Seconds after which the machine is given up on."""


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
    return measured_twice(parts, repeats, **options)[1]


def measured_twice(parts, repeats=1, **options):
    """Return the seconds of each part as it measured them, and as the call view has them."""
    with nbprof.profile(python="call", **options) as run:
        own = timed(parts, repeats)
    return own, by_function(run.profile.call().frame, parts)


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
    """Run both by turns until unprofiled runs agree; return the medians of both."""
    before, after = [], []
    began = perf_counter()
    while perf_counter() - began < PATIENCE:
        before.append(bare())
        after.append(watched())
        halves = _medians(before[::2]), _medians(before[1::2] or before)
        if len(before) >= FEWEST and distance(*halves) <= QUIET:
            return _medians(before), _medians(after)
    pytest.skip("the machine was too busy: unprofiled runs differed from each other")


def _medians(runs):
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}

"""Compare where a profile says time went with what a program measured itself, unprofiled."""

from time import perf_counter

import nbprof


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

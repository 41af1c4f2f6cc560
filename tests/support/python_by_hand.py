"""Profiles of Python made by hand: `sampled(("main", "work"), 30, …)` and `counted(…)`."""

import numpy as np
import pandas as pd

from nbprof._profile import Profile
from nbprof.ingest.python.without_ops import tables_without_ops
from nbprof.recording import Recording

FRAME = ("stack", "file", "line", "function", "source", "framework")
COSTS = ("calls", "primitive_calls", "self_ns", "total_ns")


def python_profile(watched, wall_ns, **tables):
    """Make a Profile without ops."""
    return Profile(
        **{
            **tables_without_ops(),
            "frames": frame_table(()),
            "threads": pd.DataFrame({"name": ["main"], "device": [""], "is_cell": [True]}),
            "spent": pd.DataFrame({"category": ["your Python"], "ns": [wall_ns]}),
            **tables,
        },
        recording=Recording("In [3]", "by hand", wall_ns, 0, watched=watched),
    )


def frame_table(stacks):
    rows = [
        (number, file, line, function, "", file == "~")
        for number, stack in enumerate(stacks)
        for file, line, function in stack
    ]
    kinds = {"stack": int, "line": int, "framework": bool}
    return pd.DataFrame(rows, columns=FRAME, dtype=object).astype(kinds)


def sampled(*samples, threads=("main",)):
    """Make a Profile of samples `(stack, ns)` or `(stack, ns, thread)`.

    A stack is a tuple of `(file, line, function)`, outermost first; the empty one is no code.
    """
    stacks = list(dict.fromkeys(stack for stack, *_ in samples if stack))
    ns = np.array([ns for _, ns, *_ in samples], dtype=np.int64)
    thread = np.array([rest[0] if rest else 0 for _, _, *rest in samples], dtype=np.int64)
    start = np.zeros(len(ns), dtype=np.int64)
    for number in range(len(threads)):
        start[thread == number] = np.cumsum(ns[thread == number]) - ns[thread == number]
    table = pd.DataFrame(
        {
            "start_ns": start,
            "duration_ns": ns,
            "thread": thread,
            "stack": np.array(
                [stacks.index(stack) if stack else -1 for stack, *_ in samples], dtype=np.int64
            ),
        }
    )
    return python_profile(
        ("samples",),
        int(ns[thread == 0].sum()),
        frames=frame_table(stacks),
        threads=pd.DataFrame(
            {"name": list(threads), "device": "", "is_cell": [not n for n in range(len(threads))]}
        ),
        samples_of_python=table,
    )


def counted(functions, calls=()):
    """Make a Profile of counted calls.

    A function is `((file, line, function), calls, primitive_calls, self_ns, total_ns)`, a call
    `(caller, function, calls, primitive_calls, self_ns, total_ns)` by their numbers.
    """
    places = [place for place, *_ in functions]
    return python_profile(
        ("calls",),
        sum(costs[2] for _, *costs in functions),
        functions=pd.DataFrame(
            {
                **{
                    name: pd.Series([place[at] for place in places], dtype=kind)
                    for at, (name, kind) in enumerate(
                        {"file": object, "line": "int64", "function": object}.items()
                    )
                },
                "framework": np.array([place[0] == "~" for place in places], dtype=bool),
                **{
                    name: np.array([costs[at] for _, *costs in functions], dtype=np.int64)
                    for at, name in enumerate(COSTS)
                },
            }
        ),
        calls=pd.DataFrame(
            np.array(calls, dtype=np.int64).reshape(-1, 6), columns=["caller", "function", *COSTS]
        ),
    )


def stacks_of(profile):
    """Return `{(thread, stack): ns}`, what the samples of a profile add up to."""
    stacks = {
        number: tuple(zip(rows["file"], rows["line"], rows["function"], strict=True))
        for number, rows in profile.frames.groupby("stack")
    }
    sums = {}
    samples = profile.samples_of_python
    for thread, stack, ns in zip(
        samples["thread"], samples["stack"], samples["duration_ns"], strict=True
    ):
        key = (thread, stacks.get(stack, ()))
        sums[key] = sums.get(key, 0) + ns
    return sums

"""Profiles made by hand for the tests of the explorer."""

from dataclasses import replace

import numpy as np
import pandas as pd
from support.by_hand import node, profile

SMALL = profile(
    node("dense/MatMul", "MatMul", micros=1234.5, runs=3, size=1_048_576),
    node("dense/BiasAdd", "BiasAdd", micros=10.25, runs=3),
    node("head/MatMul", "MatMul", micros=2_000_000, accelerator_micros=1_500_000, runs=1500),
    node("loss", "Sum", micros=0),
)


def every_micro(made):
    """Return the profile with one event beginning every µs."""
    return replace(
        made, events=made.events.assign(start_ns=range(0, 1000 * len(made.events), 1000))
    )


TIMED = every_micro(SMALL)
LINES = ((("In [3]", 4, "<module>"),), (("In [3]", 4, "<module>"), ("In [3]", 2, "step")))
TRAINED = every_micro(
    profile(
        *(
            made
            for step in (0, 1, 2)
            for made in (
                node(
                    "dense/MatMul",
                    *("MatMul", 12),
                    **{"size": 64, "step": step, "stack": LINES[0], "layer": "m/dense"},
                ),
                node(
                    "grad/MatMul",
                    *("MatMul", 20.5, 4, 2),
                    **{"size": 32, "step": step, "stack": LINES[1], "layer": "m/dense"},
                    backward=True,
                ),
                node("loss", "Sum", step + 1, step=step, stack=LINES[step % 2]),
            )
        ),
        node("once", "Sum", 100, runs=2, size=7, step=1),
        steps=3,
    )
)
"""Three steps with lines and layers."""
HOSTILE = profile(
    node("<script>alert(1)</script>", "</style></script><!--<img src=x onerror=alert(1)>", 3),
    notes=("</script><b>&",),
)


def wide(count):
    """Make a profile of many nodes in 40 scopes."""
    return profile(*(node(f"scope{i % 40}/node_of_some_length_{i}", "A", i) for i in range(count)))


def crowded(rounds=600, names=1):
    """Make a lane where every ms begins with a long MatMul and ends with many short ops.

    70 % of the time is matrix work, 20 % elementwise, 10 % reductions. The short ops are runs of
    `names` nodes each.
    """
    shorts = [node(f"{i}/Add", "AddV2") for i in range(names)]
    shorts += [node(f"{i}/Sum", "Sum") for i in range(names)]
    made = profile(node("dense/MatMul", "MatMul"), *shorts)
    micros = np.tile([700] + 30 * [10], rounds)
    turn = np.repeat(np.arange(rounds), 31) % names
    which = np.tile([0] + 20 * [1] + 10 * [1 + names], rounds)
    end = 1000 * np.cumsum(micros)
    events = made.events.iloc[np.where(which, which + turn, 0)].reset_index(drop=True)
    times = {
        "start_ns": end - 1000 * micros,
        "duration_ns": 1000 * micros,
        "self_ns": 1000 * micros,
    }
    return replace(made, events=events.assign(**times))


def with_steps(made, *steps):
    """Return the profile with steps, each given by its start and length in µs and its name."""
    table = pd.DataFrame(steps, columns=["start_micros", "micros", "function"])
    return replace(made, steps=table.assign(step=range(len(steps)), traced=False))

"""Flows: the arrows from a step to its ops on other threads, and from an op to its kernels.

They are few: one to the first op of a step on each thread, and one to the first kernel that a run
of an op put on each stream.
"""

from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from nbprof.export.chrome_trace.times import format_micros
from nbprof.export.chrome_trace.trace_lanes import is_cell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbprof._profile import Profile
    from nbprof.arrays import Rows
    from nbprof.export.chrome_trace.trace_lanes import Layout, Slices

ENCLOSING = '"bp":"e"'
"""Binds the end of a flow to the slice that is open then; otherwise it is the next slice's."""


def flow_lines(profile: "Profile", layout: "Layout") -> "Iterator[str]":
    """Describe the flows; each has an id of its own."""
    launches = _from_launches(profile, layout)
    ids = count(1)
    yield from _lines(layout, "step", layout.steps, _from_steps(profile, layout), ids)
    yield from _lines(layout, "launch", layout.ops, launches, ids)


def _lines(
    layout: "Layout", name: str, sources: "Slices", pairs: "tuple[Rows, Rows]", ids: "Iterator[int]"
) -> "Iterator[str]":
    source, target = pairs
    begins, ends = _places(layout, sources, source), _places(layout, layout.ops, target)
    for begin, end, number in zip(begins, ends, ids, strict=False):
        same = f'"name":"{name}","cat":"flow","id":{number}'
        yield f'{{"ph":"s",{same},{begin}}}'
        yield f'{{"ph":"f",{same},{end},{ENCLOSING}}}'


def _places(layout: "Layout", slices: "Slices", rows: "Rows") -> list[str]:
    """Spell a moment inside each of these slices."""
    moments, lanes = slices.inside[rows].tolist(), slices.lane[rows].tolist()
    return [
        f'"ts":{format_micros(moment)},{layout.lanes[lane].fields}'
        for moment, lane in zip(moments, lanes, strict=True)
    ]


def _from_steps(profile: "Profile", layout: "Layout") -> "tuple[Rows, Rows]":
    """Pair each step with the first op that ran for it, while it lasted, on each other thread.

    Eager ops between steps belong to one too, but no step made them run.
    """
    events = profile.events
    step, thread = (events[name].to_numpy(np.intp) for name in ("step", "thread"))
    steps = profile.steps["step"].to_numpy(np.intp)
    row_of_step = np.full(max(step.max(initial=-1), steps.max(initial=-1)) + 1, -1)
    row_of_step[steps] = np.arange(len(steps))
    row = row_of_step[step]
    begins, ends = np.append(layout.steps.inside, 0)[row], np.append(layout.steps.end, 0)[row]
    during = (row >= 0) & (layout.ops.inside >= begins) & (layout.ops.inside <= ends)
    elsewhere = ~events["accelerator"].to_numpy(bool) & ~is_cell(profile)[thread]
    op = _first(np.flatnonzero(during & elsewhere), layout, step, thread)
    return row[op], op


def _from_launches(profile: "Profile", layout: "Layout") -> "tuple[Rows, Rows]":
    """Pair the op runs that launched kernels with the first of them on each stream.

    Of the runs of a node in one step, the last one that began before the kernel launched it.
    """
    events = profile.events
    node, step, thread = (events[name].to_numpy(np.intp) for name in ("node", "step", "thread"))
    is_kernel = events["accelerator"].to_numpy(bool)
    order = np.lexsort((is_kernel, layout.ops.inside, step, node))
    candidate = np.where(is_kernel[order], -1, np.arange(len(order)))
    last = np.maximum.accumulate(candidate)
    launcher = np.full(len(order), -1)
    launcher[order] = np.where(last >= 0, order[last], -1)
    same = (launcher >= 0) & (node[launcher] == node) & (step[launcher] == step)
    op = _first(np.flatnonzero(is_kernel & same), layout, launcher, thread)
    return launcher[op], op


def _first(rows: "Rows", layout: "Layout", *groups: "Rows") -> "Rows":
    """Keep the first of these op runs to begin, and of those the longest, in each group."""
    keys = [group[rows] for group in groups]
    order = np.lexsort((-layout.ops.duration[rows], layout.ops.start[rows], *keys))
    rows = rows[order]
    new = np.zeros(len(rows), dtype=bool)
    new[:1] = True
    for group in groups:
        new[1:] |= group[rows][1:] != group[rows][:-1]
    return rows[new]

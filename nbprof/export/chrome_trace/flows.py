"""Flows: arrows from a step to its ops on other threads, and from an op to its kernels.

Only two kinds are drawn: to the first op of a step on each thread, and to the first kernel that an
op run launched on each stream.
"""

from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from nbprof.export.chrome_trace.event_lines import format_micros
from nbprof.export.chrome_trace.trace_lanes import is_cell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbprof._profile import Profile
    from nbprof.arrays import Rows
    from nbprof.export.chrome_trace.trace_lanes import Layout, Slices

ENCLOSING = '"bp":"e"'
"""Binds a flow's end to the slice open at that time instead of the next one."""


def flow_lines(profile: "Profile", layout: "Layout") -> "Iterator[str]":
    """Yield the two ends of each flow."""
    arrows = (
        ("step", layout.steps, _from_steps(profile, layout)),
        ("launch", layout.ops, _from_launches(profile, layout)),
    )
    ids = count(1)
    for name, sources, (source, target) in arrows:
        begins, ends = _places(layout, sources, source), _places(layout, layout.ops, target)
        for begin, end in zip(begins, ends, strict=True):
            same = f'"name":"{name}","cat":"flow","id":{next(ids)}'
            yield f'{{"ph":"s",{same},{begin}}}'
            yield f'{{"ph":"f",{same},{end},{ENCLOSING}}}'


def _places(layout: "Layout", slices: "Slices", rows: "Rows") -> list[str]:
    """Format time and lane of a moment inside each of these slices."""
    moments, lanes = slices.inside[rows].tolist(), slices.lane[rows].tolist()
    return [
        f'"ts":{format_micros(moment)},{layout.lanes[lane].fields}'
        for moment, lane in zip(moments, lanes, strict=True)
    ]


def _from_steps(profile: "Profile", layout: "Layout") -> "tuple[Rows, Rows]":
    """Pair each step with the first op that ran for it, while it lasted, on each other thread.

    Eager ops between steps are counted with a step too, but no step launched them.
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
    """Pair op runs with the first kernel they launched on each stream.

    A kernel's launcher is the last run of its node in its step that began before it.
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
    """Return the op run of each group that began first, the longest if several did."""
    keys = [group[rows] for group in groups]
    order = np.lexsort((-layout.ops.duration[rows], layout.ops.start[rows], *keys))
    rows = rows[order]
    new = np.zeros(len(rows), dtype=bool)
    new[:1] = True
    for group in groups:
        new[1:] |= group[rows][1:] != group[rows][:-1]
    return rows[new]

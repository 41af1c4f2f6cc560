"""A cell that ran out of memory: what was asked for, by which op, and what was alive."""

from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING

import numpy as np

from nbprof.units import BYTES, format_short
from nbprof.views.live_memory import (
    alive_at_peak,
    alive_between,
    layer_names,
    source_lines,
    tensors,
)
from nbprof.views.memory_errors import MemoryRequest, read_message
from nbprof.views.outside_ops import OUTSIDE_OPS
from nbprof.views.view import Lead

if TYPE_CHECKING:
    import pandas as pd

    from nbprof._profile import Profile
    from nbprof.arrays import Mask

SHOWN = 10
"""Most tensors that a report lists."""
LEAST_SHARE = 0.001
"""Smallest share of what was alive that is listed."""
UNKNOWN_RUN = -1

THEN = "alive then, of what the cell had made"
AT_PEAK = "the trace does not reach that moment; alive at the peak within it"
NOTHING_ALIVE = "no tensor that the cell had made was alive then"
NO_MEMORY = "what was alive is not known: no allocation was recorded"


@dataclass(frozen=True, eq=False, kw_only=True)
class OutOfMemory:
    """Memory that could not be allocated: what was asked for, by which op, and what was alive."""

    request: MemoryRequest
    op: str
    """The name of the op that asked; empty if it was not an op, as are the next three."""
    op_type: str
    layer: str
    made_at: str
    """The line that made the op or, if it is eager, ran it."""
    raised_at: str
    """The innermost of the user's lines that the exception came through."""
    alive: "pd.DataFrame"
    """The tensors that the cell had made and that were alive, as `live_at_peak` lists them, with
    their `layer`."""
    is_then: bool
    """Whether they were alive at that moment; otherwise at the peak of what was traced."""


def out_of_memory(profile: "Profile") -> OutOfMemory | None:
    """Return what the cell ran out of memory with; None if it did not."""
    recording = profile.recording
    if not recording.ran_out_of_memory:
        return None
    request = read_message(recording.error_message)
    run = _failed_run(profile, request)
    alive, is_then = _alive(profile, run, request)
    return OutOfMemory(
        request=request,
        **_asker(profile, run, request),
        raised_at=recording.error_line,
        alive=tensors(profile, alive & _on_device(profile, request.device)),
        is_then=is_then,
    )


def _failed_run(profile: "Profile", request: MemoryRequest) -> int:
    """Return the event whose request failed: the last run of the op that the message names."""
    nodes, events = profile.nodes, profile.costs
    if request.op:
        wanted = nodes["name"] == request.op
    elif request.op_type:
        wanted = nodes["op_type"] == request.op_type
    else:
        return UNKNOWN_RUN
    runs = np.flatnonzero(wanted.to_numpy(bool)[events["node"].to_numpy()])
    if not len(runs):
        return UNKNOWN_RUN
    return int(runs[np.argmax(events["start_ns"].to_numpy()[runs])])


def _asker(profile: "Profile", run: int, request: MemoryRequest) -> dict[str, str]:
    """Name the op that asked, its layer and the line that made it."""
    if run == UNKNOWN_RUN:
        return {"op": request.op, "op_type": request.op_type, "layer": "", "made_at": ""}
    node = profile.nodes.iloc[int(profile.costs["node"].iloc[run])]
    event = np.array([run])
    return {
        "op": node["name"],
        "op_type": node["op_type"],
        "layer": layer_names(profile, event)[0],
        "made_at": source_lines(profile, event)[0] or "",
    }


def _alive(profile: "Profile", run: int, request: MemoryRequest) -> "tuple[Mask, bool]":
    """Mark what was alive when memory ran out or, if that was not traced, at the peak."""
    recording = profile.recording
    if run != UNKNOWN_RUN:
        start, duration = (
            int(profile.costs[name].iloc[run]) for name in ("start_ns", "duration_ns")
        )
        if not _was_served(profile, run, request):
            return alive_between(profile, start, start + duration), True
    elif recording.traced_ns > 0.99 * recording.wall_ns:
        return alive_between(profile, recording.wall_ns, recording.wall_ns), True
    return alive_at_peak(profile), False


def _on_device(profile: "Profile", device: str) -> "Mask":
    """Mark the allocations of a device; all if none is known to be of it."""
    name = "cpu" if device.startswith("CPU") else device
    same: Mask = (profile.allocations["device"] == name).to_numpy(bool)
    return same if same.any() else ~same


def _was_served(profile: "Profile", run: int, request: MemoryRequest) -> bool:
    """Return whether a run got what the exception says was refused: then it is an earlier one."""
    made = profile.allocations
    same = (made["event"] == run) & (made["shape"] == request.shape)
    return request.shape != "" and bool(same.any())


def lead(profile: "Profile") -> Lead | None:
    """Say what a report on a cell that ran out of memory begins with; None for other cells."""
    found = out_of_memory(profile)
    if found is None:
        return None
    # Not known is NaN in a column of texts.
    texts = {"op": OUTSIDE_OPS, "source": "", "shape": "", "dtype": ""}
    shown = _largest(found.alive).fillna(texts)
    layers = bool(shown["layer"].any())
    rows = tuple(
        (
            format_short(row["bytes"], BYTES),
            f"{row['dtype']} {row['shape']}".strip(),
            row["op"],
            *((row["layer"],) if layers else ()),
            row["source"],
        )
        for row in shown.to_dict("records")
    )
    return Lead(
        title=f"out of memory: {_request(found)}",
        sentences=(*filter(None, (_place(found),)), _amount_alive(profile, found)),
        heading=("bytes", "tensor", "made by", *(("layer",) if layers else ()), "line"),
        rows=rows,
    )


def _largest(alive: "pd.DataFrame") -> "pd.DataFrame":
    """Return the largest tensors, without those that hardly count."""
    return alive[alive["bytes"] >= LEAST_SHARE * alive["bytes"].sum()].head(SHOWN)


def _request(found: OutOfMemory) -> str:
    """Say what was asked for, by what, on which device."""
    request = found.request
    who = found.op_type or found.op
    if isnan(request.asked_bytes):
        return f"{who} asked for more than there was" if who else "the exception names no amount"
    tensor = f" for {request.dtype} {request.shape}" if request.shape else ""
    device = f" on {request.device}" if request.device else ""
    return f"{who or 'Python'} asked for {format_short(request.asked_bytes, BYTES)}{tensor}{device}"


def _place(found: OutOfMemory) -> str:
    """Say where the op that asked belongs, and which line was running."""
    ran_elsewhere = found.raised_at and found.raised_at != found.made_at
    parts = (
        f"op {found.op}" if found.op not in ("", found.op_type) else "",
        f"layer {found.layer}" if found.layer else "",
        f"made at {found.made_at}" if found.made_at and ran_elsewhere else "",
        f"run at {found.raised_at or found.made_at}" if found.raised_at or found.made_at else "",
    )
    return ", ".join(filter(None, parts))


def _amount_alive(profile: "Profile", found: OutOfMemory) -> str:
    """Say how much was alive in how many tensors, and when."""
    count = len(found.alive)
    if not len(profile.allocations):
        return NO_MEMORY
    if not count:
        return NOTHING_ALIVE
    amount = format_short(float(found.alive["bytes"].sum()), BYTES)
    tensors_made = f"{count:,} tensor{'' if count == 1 else 's'}"
    listed = len(_largest(found.alive))
    which = f", the {listed} largest" if listed < count else ""
    return f"{THEN if found.is_then else AT_PEAK}: {amount} in {tensors_made}{which}"

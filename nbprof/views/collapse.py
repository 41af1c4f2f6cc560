"""A smaller Profile with the same views: the runs of a node in a step become one row.

What needs single runs is lost, and says so: timelines, and memory over time. Sums are of whole
numbers, so every view of the collapsed Profile is that of the full one to the last digit.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from nbprof.arrays import Rows
from nbprof.columns import summed_columns
from nbprof.views.live_memory import alive_at_peak

if TYPE_CHECKING:
    from nbprof._profile import Profile


KEYS = (
    *("node", "step", "thread", "stack", "layer", "backward", "input_shapes", "output_shapes"),
    "accelerator",
)
"""What views tell events apart by."""
PLACE = ["device", "is_cell", "host"]


def collapse(profile: "Profile") -> "Profile":
    """Add up the runs of each node in each step, and keep the allocations that make the peaks."""
    threads, thread = _threads(profile)
    whole = profile.events
    events, row = _events(whole.assign(thread=thread[whole["thread"]].astype(np.int32)))
    made = profile.allocations[alive_at_peak(profile)].reset_index(drop=True)
    return replace(
        profile,
        threads=threads,
        events=events,
        allocations=made.assign(event=np.append(row, -1)[made["event"].to_numpy(np.intp)]),
        recording=replace(profile.recording, single_runs=False),
    )


def _threads(profile: "Profile") -> tuple[pd.DataFrame, Rows]:
    """Take the threads of a device of a host as one; give them, and the number of each."""
    threads = profile.threads
    place = [name for name in PLACE if name in threads]
    number: Rows = threads.groupby(place, sort=False).ngroup().to_numpy().astype(np.intp)
    _, first, count = np.unique(number, return_index=True, return_counts=True)
    alike = threads.iloc[first].reset_index(drop=True)
    names = [
        name if runs == 1 else f"{runs} threads"
        for name, runs in zip(alike["name"], count.tolist(), strict=True)
    ]
    return alike.assign(name=pd.Series(names, dtype=object)), number


def _events(events: pd.DataFrame) -> tuple[pd.DataFrame, Rows]:
    """Add up the events that no view tells apart; give them, and the row each has become part of.

    What is known and what is not are never added up.
    """
    summed = [name for name in summed_columns() if name in events]
    unknown = sum(
        (events[name].isna().to_numpy().astype(np.int64) << bit for bit, name in enumerate(summed)),
        start=np.zeros(len(events), dtype=np.int64),
    )
    first, row = _groups([*(events[name].to_numpy() for name in KEYS), unknown])
    count = len(first)
    start_ns = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(start_ns, row, events["start_ns"].to_numpy(np.int64))
    added: dict[str, Any] = {
        name: _sums(row, events[name].to_numpy(np.int64), count)
        for name in ("duration_ns", "self_ns", "is_run")
    }
    for name in summed:
        added[name] = np.bincount(row, events[name].to_numpy(np.float64), minlength=count)
    kept = events.iloc[first].reset_index(drop=True)
    return kept.assign(start_ns=start_ns, **added), row


def _groups(keys: list[npt.NDArray[Any]]) -> tuple[Rows, Rows]:
    """Number the distinct combinations; give where each first stands, and the number of each row.

    They are numbered in the order of the keys.
    """
    number = np.zeros(len(keys[0]), dtype=np.int64)
    for key in keys:
        low = int(key.min(initial=0))
        width = int(key.max(initial=0)) - low + 1
        number = np.unique(number, return_inverse=True)[1] * width + (key.astype(np.int64) - low)
    _, first, row = np.unique(number, return_index=True, return_inverse=True)
    return first, row


def _sums(row: Rows, values: npt.NDArray[np.int64], count: int) -> npt.NDArray[np.int64]:
    total = np.zeros(count, dtype=np.int64)
    np.add.at(total, row, values)
    return total

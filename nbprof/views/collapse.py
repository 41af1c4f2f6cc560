"""A smaller Profile with the same views: the runs of a node in a step become one row.

Timelines and memory over time need single runs, so a collapsed Profile refuses them. All sums are
of whole numbers, so every view of the collapsed Profile equals that of the full one to the last
digit.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from nbprof.arrays import Ints, Rows
from nbprof.columns import summed_columns
from nbprof.views.live_memory import alive_at_peak

if TYPE_CHECKING:
    from nbprof._profile import Profile


KEYS = (
    *("node", "step", "thread", "stack", "layer", "backward", "input_shapes", "output_shapes"),
    "accelerator",
)
"""The columns of events that views group by."""
THREAD_KEYS = ("device", "is_cell", "host")
"""Threads that agree in these columns become one."""


def collapse(profile: "Profile") -> "Profile":
    """Add up the runs of each node in each step, and keep the allocations alive at the peaks."""
    threads, thread = _threads(profile)
    whole = profile.events
    events, row = _events(whole.assign(thread=thread[whole["thread"]].astype(np.int32)))
    alive = profile.allocations[alive_at_peak(profile)].reset_index(drop=True)
    return replace(
        profile,
        threads=threads,
        events=events,
        allocations=alive.assign(event=np.append(row, -1)[alive["event"].to_numpy(np.intp)]),
        recording=replace(profile.recording, single_runs=False),
    )


def _threads(profile: "Profile") -> tuple[pd.DataFrame, Rows]:
    """Merge each device's threads; return the merged ones and the new number of each thread."""
    threads = profile.threads
    keys = [name for name in THREAD_KEYS if name in threads]
    number: Rows = threads.groupby(keys, sort=False).ngroup().to_numpy().astype(np.intp)
    _, first, count = np.unique(number, return_index=True, return_counts=True)
    merged = threads.iloc[first].reset_index(drop=True)
    names = [
        name if merged_count == 1 else f"{merged_count} threads"
        for name, merged_count in zip(merged["name"], count.tolist(), strict=True)
    ]
    return merged.assign(name=pd.Series(names, dtype=object)), number


def _events(events: pd.DataFrame) -> tuple[pd.DataFrame, Rows]:
    """Add up the events that no view keeps apart; return the sums and the new row of each event.

    Known and unknown values are never added up together.
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
    """Number the distinct combinations in the order of the keys.

    Return the first row of each combination and the number of each row.
    """
    number = np.zeros(len(keys[0]), dtype=np.int64)
    for key in keys:
        low = int(key.min(initial=0))
        width = int(key.max(initial=0)) - low + 1
        number = np.unique(number, return_inverse=True)[1] * width + (key.astype(np.int64) - low)
    _, first, row = np.unique(number, return_index=True, return_inverse=True)
    return first, row


def _sums(row: Rows, values: Ints, count: int) -> Ints:
    total = np.zeros(count, dtype=np.int64)
    np.add.at(total, row, values)
    return total

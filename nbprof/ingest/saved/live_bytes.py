"""`live_bytes` of files that are older than that column, from the allocations they store."""

from typing import Any

import numpy as np

from nbprof.arrays import NONE, Mask, Rows
from nbprof.ingest.saved.stored_tables import StoredColumn, StoredTable
from nbprof.lifetimes import Lifetimes

NEEDED = ("event", "device", "start_ns", "end_ns", "bytes")
"""Columns of allocations that must be there."""


def add_live_bytes(tables: dict[str, StoredTable]) -> dict[str, Any]:
    """Add `live_bytes` to events that lack it; return what the recording then lacks.

    A run whose memory is unknown, and of which nothing was alive, stays unknown.
    """
    events, allocations = tables.get("events"), tables.get("allocations")
    if events is None or allocations is None or "live_bytes" in events.columns:
        return {}
    if not {*NEEDED} <= set(allocations.columns) or "bytes" not in events.columns:
        return {}
    alive = _alive_at_peak(allocations)
    size = allocations.columns["bytes"].numbers[alive].astype(np.int64)
    event = allocations.columns["event"].numbers[alive].astype(np.intp)
    made = np.zeros(events.rows, dtype=np.int64)
    np.add.at(made, event[event != NONE], size[event != NONE])
    unknown = np.isnan(events.columns["bytes"].numbers.astype(np.float64)) & (made == 0)
    live_bytes = np.where(unknown, np.nan, made)
    events.columns["live_bytes"] = StoredColumn("float64", live_bytes)
    return {"outside_ops_bytes": float(size[event == NONE].sum())}


def _alive_at_peak(allocations: StoredTable) -> Mask:
    columns = allocations.columns
    return Lifetimes(
        device=_devices(allocations),
        start_ns=columns["start_ns"].numbers.astype(np.int64),
        end_ns=columns["end_ns"].numbers.astype(np.float64),
        size=columns["bytes"].numbers.astype(np.int64),
    ).alive_at_peak()


def _devices(allocations: StoredTable) -> Rows:
    """Number the devices, which hosts do not share."""
    device = allocations.columns["device"].numbers.astype(np.intp)
    if "host" in allocations.columns:
        host = allocations.columns["host"].numbers.astype(np.intp)
        device = device + host * (device.max(initial=0) + 1)
    return np.unique(device, return_inverse=True)[1]

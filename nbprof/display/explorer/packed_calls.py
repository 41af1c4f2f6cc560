"""The functions that were called and their calls of each other, as columns in a `BufferStore`."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from nbprof.display.call_tables import CallTables
    from nbprof.display.explorer.buffer_store import BufferStore

MOST_CALLS = 20_000
"""Most pairs of caller and callee in an explorer: the heaviest."""


def pack_calls(
    tables: "CallTables", store: "BufferStore", most: int = MOST_CALLS
) -> dict[str, Any]:
    """Store all functions and the heaviest pairs of caller and callee, and describe them."""
    functions, calls = tables.functions, tables.calls.head(most)
    return {
        "names": store.texts(tables.names),
        "calls": store.numbers(functions["calls"].to_numpy(np.float64)),
        "micros": store.numbers(functions["total_ns"].to_numpy(np.float64) / 1e3),
        "caller": store.numbers(calls["caller"].to_numpy(np.int64)),
        "callee": store.numbers(calls["function"].to_numpy(np.int64)),
        "edge_calls": store.numbers(calls["calls"].to_numpy(np.float64)),
        "edge_micros": store.numbers(calls["total_ns"].to_numpy(np.float64) / 1e3),
    }

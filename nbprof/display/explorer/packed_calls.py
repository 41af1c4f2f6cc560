"""The functions that were called and their calls of each other, as columns in a `BufferStore`."""

from typing import TYPE_CHECKING, Any

import numpy as np

from nbprof.display.call_tables import Frame, function_names, functions_of

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.display.explorer.buffer_store import BufferStore

MOST_CALLS = 20_000
"""Most pairs of caller and callee in an explorer: the heaviest."""


def pack_calls(
    profile: "Profile", calls: Frame, store: "BufferStore", most: int = MOST_CALLS
) -> dict[str, Any]:
    """Store all functions and the heaviest pairs of caller and callee, and describe them."""
    functions = functions_of(profile)
    order = np.argsort(-calls["total_ns"].to_numpy(np.float64), kind="stable")[:most]
    heaviest = calls.iloc[order]
    return {
        "names": store.texts(function_names(functions)),
        "calls": store.numbers(functions["calls"].to_numpy(np.int64)),
        "micros": store.numbers(functions["total_ns"].to_numpy(np.float64) / 1e3),
        "caller": store.numbers(heaviest["caller"].to_numpy(np.int64)),
        "callee": store.numbers(heaviest["function"].to_numpy(np.int64)),
        "edge_calls": store.numbers(heaviest["calls"].to_numpy(np.int64)),
        "edge_micros": store.numbers(heaviest["total_ns"].to_numpy(np.float64) / 1e3),
    }

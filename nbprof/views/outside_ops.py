"""The row of what was alive at the peak of live memory, but was allocated by no known op.

Tensors made from numpy arrays are an example.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.options import ViewOptions

OUTSIDE_OPS = "outside ops"
"""The name and the type of the node that stands for it; it never runs."""
OUTSIDE_LAYERS = "outside layers"
"""Where the layer view shows it."""


def with_outside_ops(profile: "Profile", options: "ViewOptions") -> "Profile":
    """Add a last node that holds that memory, so that `live_bytes` adds up to the peak.

    Files with a timeline or call stacks have no place for it.
    """
    size = profile.recording.outside_ops_bytes
    if not size or not len(profile.costs) or options.output.kind in ("timeline", "pprof"):
        return profile
    layers, layer = _outside_layers(profile.layers)
    node: dict[str, Any] = {
        **{"name": OUTSIDE_OPS, "op_type": OUTSIDE_OPS, "trainable": False, "types": ()},
        **{"params": 0.0 if profile.recording.has_definitions else np.nan, "layer": layer},
    }
    nodes = profile.nodes
    row = {name: pd.Series([node.get(str(name), "")], dtype=nodes[name].dtype) for name in nodes}
    nodes = pd.concat([nodes, pd.DataFrame(row)], ignore_index=True)
    live_bytes = np.append(np.zeros(len(nodes) - 1), size)
    return profile.with_values(nodes=nodes.assign(live_bytes=live_bytes), layers=layers)


def _outside_layers(layers: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Return the layers with the row of what is in none of them, and its number."""
    found = np.flatnonzero((layers["name"] == OUTSIDE_LAYERS).to_numpy())
    if len(found):
        return layers, int(found[0])
    row = pd.DataFrame({"name": [OUTSIDE_LAYERS], "kind": [""], "parent": [-1]})
    return pd.concat([layers, row], ignore_index=True), len(layers)

"""The layer view: the tree of Keras layers, forward and backward apart, and all other work."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import NONE, Ints, Mask, Rows
from nbprof.views import tree
from nbprof.views.accounting import accounted_rows, weights
from nbprof.views.measure import add_up, measure, members_by, weighted
from nbprof.views.row_labels import Labels
from nbprof.views.tree_nesting import Nesting, visiting_order

if TYPE_CHECKING:
    import pandas as pd

    from nbprof._profile import Profile
    from nbprof.options import ViewOptions
    from nbprof.views.view import View

PASSES = ("forward", "backward")


def view(profile: "Profile", options: "ViewOptions") -> "View":
    """Place every op run in its layer."""
    return tree.view("layer", _layer_tree(profile, options), profile, options)


@dataclass(frozen=True, eq=False)
class Passes:
    """The rows of layers, then two rows for each layer that has a backward pass."""

    names: list[str]
    parent: Rows
    kinds: list[str]
    forward: Rows
    """The row of each layer's forward pass, right before its backward pass; NONE if not split."""

    @classmethod
    def of(cls, layers: "pd.DataFrame", has_backward: Mask) -> "Passes":
        """Append the rows of passes to those of layers."""
        names = layers["name"].tolist()
        split = np.flatnonzero(has_backward)
        forward = np.full(len(layers), NONE, dtype=np.intp)
        forward[split] = len(layers) + 2 * np.arange(len(split))
        return cls(
            names=names + [f"{names[layer]}/{part}" for layer in split for part in PASSES],
            parent=np.concatenate((layers["parent"].to_numpy(np.intp), np.repeat(split, 2))),
            kinds=[*layers["kind"], *([""] * (2 * len(split)))],
            forward=forward,
        )


def _layer_tree(profile: "Profile", options: "ViewOptions") -> tree.Tree:
    layers, costs = profile.layers, profile.costs
    # Layer and pass in one number; forward passes are even.
    key = 2 * costs["layer"].to_numpy(np.int64) + costs["backward"].to_numpy()
    members, key = members_by(profile, key, 2 * profile.nodes["layer"].to_numpy(np.int64))
    ran = np.arange(len(key)) <= members.of_event.max(initial=-1)  # variables come last
    passes = Passes.of(layers, _with_backward_pass(key, len(layers)))
    order, nesting = _in_visiting_order(passes)
    group = np.argsort(order)[_row_of_member(key, ran, passes.forward)]

    patterns = options.account_type_regexes
    weight = weights(profile, patterns)[members.node]
    metrics = weighted(measure(profile, options.step, members, options.uses), weight)
    return tree.Tree(
        names=np.array(passes.names, dtype=object)[order],
        nesting=nesting,
        metrics=add_up(metrics, group, len(order)),
        accounted=accounted_rows(len(order), group[weight > 0], patterns),
        labels=Labels(profile, options.step, members, group, are_nodes=False),
        texts={"kind": [passes.kinds[row] for row in order.tolist()]},
    )


def _with_backward_pass(key: Ints, count: int) -> Mask:
    """Mark the layers whose backward pass ran."""
    has_backward = np.zeros(count, dtype=bool)
    has_backward[key[key % 2 == 1] // 2] = True
    return has_backward


def _row_of_member(key: Ints, ran: Mask, forward: Rows) -> Rows:
    """Return the row of each member: its layer, or the pass that it ran in."""
    layer = key // 2
    rows: Rows = np.where((forward[layer] != NONE) & ran, forward[layer] + key % 2, layer)
    return rows


def _in_visiting_order(passes: Passes) -> tuple[Rows, Nesting]:
    """Bring the rows into visiting order, siblings by name."""
    by_name = np.array(
        sorted(range(len(passes.names)), key=passes.names.__getitem__), dtype=np.intp
    )
    rank = np.append(np.argsort(by_name), NONE)
    order, nesting = visiting_order(rank[passes.parent[by_name]].tolist())
    return by_name[order], nesting
